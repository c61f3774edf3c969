import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Random;
import java.util.Scanner;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * Random batches that Kafka's client writes, and what it reads in them.
 *
 * Input: "write SEED COUNT", or "read" and then lines of bytes as hex.
 * Output, for each: "bytes HEX", unless they were given; for each batch in them "batch MAGIC BASE LAST
 * CODEC TIMESTAMP-TYPE MAX-TIMESTAMP PRODUCER-ID EPOCH SEQUENCE TRANSACTIONAL CONTROL", for each
 * record "record OFFSET TIMESTAMP SEQUENCE KEY VALUE NAME=VALUE...". If Kafka refuses: "refused".
 */
public class BatchOracle {
    static final HexFormat HEX = HexFormat.of();
    static final StringBuilder out = new StringBuilder();

    public static void main(String[] unused) {
        Scanner in = new Scanner(System.in);
        if (in.next().equals("write")) {
            Random random = new Random(in.nextLong());
            for (int left = in.nextInt(); left > 0; left--) {
                ByteBuffer written = write(random);
                out.append("bytes ").append(hex(written)).append('\n');
                read(written);
            }
        } else {
            while (in.hasNext()) {
                ByteBuffer given = ByteBuffer.wrap(HEX.parseHex(in.next()));
                int start = out.append("bytes\n").length();
                try {
                    read(given);
                } catch (RuntimeException | Error error) {
                    out.setLength(start);
                    out.append("refused ").append(error.toString().replace('\n', ' ')).append('\n');
                }
            }
        }
        System.out.print(out);
    }

    static ByteBuffer write(Random random) {
        long base = random.nextLong(1L << 1 + random.nextInt(60));
        if (random.nextInt(12) == 0) {
            ControlRecordType type = random.nextBoolean() ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
            EndTransactionMarker marker = new EndTransactionMarker(type, random.nextInt(99));
            return MemoryRecords.withEndTransactionMarker(
                base, random.nextLong(1L << 45), 7, random.nextLong(1L << 50), (short) 3, marker).buffer();
        }
        byte magic = (byte) random.nextInt(3);
        CompressionType[] codecs = CompressionType.values();
        CompressionType codec = codecs[random.nextInt(magic == 2 ? 5 : 4)];
        boolean broker = random.nextInt(4) == 0;
        TimestampType time = magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE
            : broker ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
        boolean idempotent = magic == 2 && random.nextBoolean();
        boolean transactional = idempotent && random.nextBoolean();
        int sequence = idempotent ? random.nextInt(Integer.MAX_VALUE) : -1;
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            ByteBuffer.allocate(1 << 16), magic, Compression.of(codec).build(), time, base,
            1_700_000_000_000L, idempotent ? random.nextLong(1L << 50) : -1L,
            (short) (idempotent ? random.nextInt(1 << 15) : -1), sequence, transactional, false, 3, 1 << 16);
        long offset = base;
        for (int left = 1 + random.nextInt(12); left > 0; left--) {
            long timestamp = magic == 0 ? -1 : random.nextLong(1L << 1 + random.nextInt(45));
            builder.appendWithOffset(offset, timestamp, bytes(random), bytes(random), headers(random, magic));
            offset += magic > 0 && random.nextInt(5) == 0 ? 1 + random.nextInt(1000) : 1;
        }
        MemoryRecords records = builder.build();
        return random.nextInt(4) == 0 ? compacted(records, random) : records.buffer();
    }

    static ByteBuffer compacted(MemoryRecords records, Random random) {
        MemoryRecords.RecordFilter filter = new MemoryRecords.RecordFilter(1_700_000_000_000L, 1000) {
            @Override
            public BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                return new BatchRetentionResult(
                    batch.magic() == 2 ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY, false);
            }

            @Override
            public boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return random.nextInt(3) == 0;
            }
        };
        ByteBuffer result = ByteBuffer.allocate(1 << 17);
        records.filterTo(filter, result, BufferSupplier.NO_CACHING);
        result.flip();
        return result;
    }

    static byte[] bytes(Random random) {
        if (random.nextInt(5) == 0) return null;
        byte[] result = new byte[random.nextInt(random.nextInt(20) == 0 ? 2000 : 60)];
        if (random.nextBoolean()) random.nextBytes(result);
        return result;
    }

    static Header[] headers(Random random, byte magic) {
        int many = random.nextInt(10) == 0 ? 100 : random.nextInt(9);
        Header[] result = new Header[magic < 2 || random.nextInt(3) > 0 ? 0 : many];
        for (int n = 0; n < result.length; n++) result[n] = new RecordHeader("h" + random.nextInt(300), bytes(random));
        return result;
    }

    static void read(ByteBuffer data) {
        for (RecordBatch batch : MemoryRecords.readableRecords(data.duplicate()).batches()) {
            batch.ensureValid();
            line("batch", batch.magic(), batch.baseOffset(), batch.lastOffset(), batch.compressionType().name,
                batch.timestampType().name, batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(),
                batch.baseSequence(), batch.isTransactional(), batch.isControlBatch());
            for (Record record : batch) {
                record.ensureValid();
                StringBuilder headers = new StringBuilder();
                for (Header header : record.headers())
                    headers.append(' ').append(header.key()).append('=').append(hex(header.value() == null ? null : ByteBuffer.wrap(header.value())));
                line("record", record.offset(), record.timestamp(), record.sequence(), hex(record.key()),
                    hex(record.value()) + headers);
            }
        }
    }

    static void line(Object... words) {
        String space = "";
        for (Object word : words) {
            out.append(space).append(word);
            space = " ";
        }
        out.append('\n');
    }

    static String hex(ByteBuffer buffer) {
        if (buffer == null) return "null";
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return "x" + HEX.formatHex(bytes);
    }
}
