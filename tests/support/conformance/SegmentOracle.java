import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import kafka.log.LogSegment;
import kafka.message.ByteBufferMessageSet;
import kafka.utils.SystemTime$;

/**
 * Writes a segment as Kafka 0.8.2.2's broker does (test_appended_sets.py). The line in is
 *
 *   FILE DIRECTORY INTERVAL_BYTES FIRST_OFFSET:BYTES...
 *
 * FILE holds the messages of all sets, one after the other; each set is appended by one call.
 */
public class SegmentOracle {
    public static void main(String[] args) throws Exception {
        String[] words = new BufferedReader(new InputStreamReader(System.in)).readLine().split(" ");
        ByteBuffer messages = ByteBuffer.wrap(Files.readAllBytes(Path.of(words[0])));
        int intervalBytes = Integer.parseInt(words[2]);
        LogSegment segment = new LogSegment(
            new File(words[1]), 0L, intervalBytes, 10 << 20, 0L, SystemTime$.MODULE$);
        for (int i = 3; i < words.length; i++) {
            String[] set = words[i].split(":");
            byte[] bytes = new byte[Integer.parseInt(set[1])];
            messages.get(bytes);
            segment.append(Long.parseLong(set[0]), new ByteBufferMessageSet(ByteBuffer.wrap(bytes)));
        }
        segment.flush();
        segment.close();
    }
}
