import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Kafka's own reader over the .log files that stdin names, a line each. For each it prints the number
 * of batches and of bytes that it read as valid, the size of the file, and what it threw, or "-".
 * With the argument "dump" it reads no records, and prints of each batch what DumpLogSegments prints.
 */
public class FileRecordsOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        boolean dumps = args.length > 0;
        for (String name = in.readLine(); name != null; name = in.readLine()) {
            File file = new File(name);
            int batches = 0;
            long validBytes = 0;
            String thrown = "-";
            try (FileRecords records = FileRecords.open(file, false)) {
                for (RecordBatch batch : records.batches()) {
                    if (dumps) {
                        System.out.println(line(batch, validBytes));
                    } else {
                        batch.ensureValid();
                        for (Record record : batch) {
                            record.ensureValid();
                        }
                    }
                    batches++;
                    validBytes += batch.sizeInBytes();
                }
            } catch (Exception error) {
                thrown = error.getClass().getSimpleName();
            }
            System.out.println(batches + " " + validBytes + " " + file.length() + " " + thrown);
        }
    }

    private static String line(RecordBatch batch, long position) {
        return "baseOffset: " + batch.baseOffset() + " lastOffset: " + batch.lastOffset()
            + " count: " + batch.countOrNull() + " baseSequence: " + batch.baseSequence()
            + " lastSequence: " + batch.lastSequence() + " producerId: " + batch.producerId()
            + " producerEpoch: " + batch.producerEpoch()
            + " partitionLeaderEpoch: " + batch.partitionLeaderEpoch()
            + " isTransactional: " + batch.isTransactional() + " isControl: " + batch.isControlBatch()
            + " deleteHorizonMs: " + batch.deleteHorizonMs() + " position: " + position + " "
            + batch.timestampType() + ": " + batch.maxTimestamp() + " size: " + batch.sizeInBytes()
            + " magic: " + batch.magic() + " compresscodec: " + batch.compressionType().name
            + " crc: " + batch.checksum() + " isvalid: " + batch.isValid();
    }
}
