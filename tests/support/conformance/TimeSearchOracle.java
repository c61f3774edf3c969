import java.io.File;
import java.util.Scanner;
import org.apache.kafka.common.record.internal.FileRecords;

/**
 * The search for a timestamp as Kafka's broker does it in one segment.
 *
 * Input, a line each: "FILE TIMESTAMP STARTING-OFFSET". Output: "OFFSET TIMESTAMP", or "none".
 */
public class TimeSearchOracle {
    public static void main(String[] unused) throws Exception {
        Scanner in = new Scanner(System.in);
        StringBuilder out = new StringBuilder();
        while (in.hasNext()) {
            try (FileRecords records = FileRecords.open(new File(in.next()), false)) {
                FileRecords.TimestampAndOffset found = records.searchForTimestamp(in.nextLong(), 0, in.nextLong());
                out.append(found == null ? "none" : found.offset + " " + found.timestamp).append('\n');
            }
        }
        System.out.print(out);
    }
}
