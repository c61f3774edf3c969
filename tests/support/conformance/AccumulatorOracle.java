import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Sends records by the accumulator of the official Java client (test_built_in.py). A line in is one producer:
 *
 *   BATCH_SIZE LINGER_MS PARTITIONS EVENT...      events: nSIZE without key, kSIZE:PARTITION with, wMS wait, r round
 *
 * and a line out has a word for each event: for a record its partition, with a + if the partitioner has drawn
 * one while it was appended; for a round what was sent, as |PARTITION:RECORDS,... ; for a wait a hyphen
 */
public class AccumulatorOracle {
    static final String TOPIC = "orders";

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine())
            out.append(new AccumulatorOracle(line.split(" ")).play()).append('\n');
        System.out.print(out);
    }

    final String[] words;
    final ManualTime time = new ManualTime();
    final MetadataSnapshot metadata;
    final RecordAccumulator accumulator;
    int appendedTo;

    AccumulatorOracle(String[] words) {
        this.words = words;
        int batchSize = Integer.parseInt(words[0]);
        Map<Integer, Node> nodes = new HashMap<>();
        List<PartitionMetadata> partitions = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(words[2]); i++) {
            nodes.put(i, new Node(i, "localhost", 9092 + i));  // one each: a node is sent all it can have
            partitions.add(new PartitionMetadata(Errors.NONE, new TopicPartition(TOPIC, i), Optional.of(i),
                Optional.of(0), List.of(i), List.of(i), List.of()));
        }
        metadata = new MetadataSnapshot("cluster", nodes, partitions, Set.of(), Set.of(), Set.of(), null, Map.of());
        Metrics metrics = new Metrics();
        accumulator = new RecordAccumulator(new LogContext(), batchSize, Compression.NONE,
            Integer.parseInt(words[1]), 100L, 1000L, 1 << 30, new RecordAccumulator.PartitionerConfig(false, 0),
            metrics, "test", time, null, new BufferPool(1 << 28, batchSize, metrics, time, "test"));
    }

    String play() throws Exception {
        List<String> said = new ArrayList<>();
        for (int i = 3; i < words.length; i++) {
            String[] numbers = words[i].substring(1).split(":");
            switch (words[i].charAt(0)) {
                case 'n' -> said.add(append(Integer.parseInt(numbers[0]), -1));
                case 'k' -> said.add(append(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1])));
                case 'w' -> {
                    time.now += Long.parseLong(numbers[0]);
                    said.add("-");
                }
                default -> said.add(round());
            }
        }
        return String.join(" ", said);
    }

    String append(int valueSize, int partition) throws Exception {
        Object before = stickyPartition();
        RecordAccumulator.AppendCallbacks callbacks = new RecordAccumulator.AppendCallbacks() {
            public void setPartition(int partition) { appendedTo = partition; }
            public void onCompletion(RecordMetadata place, Exception error) { }
        };
        accumulator.append(TOPIC, partition, time.now, null, new byte[valueSize], null, callbacks, 0, time.now,
            metadata.cluster());
        return appendedTo + (stickyPartition() == before ? "" : "+");
    }

    String round() throws Exception {
        RecordAccumulator.ReadyCheckResult ready = accumulator.ready(metadata, time.now);
        List<String> sent = new ArrayList<>();
        for (List<ProducerBatch> batches : accumulator.drain(metadata, ready.readyNodes, 1 << 30, time.now).values())
            for (ProducerBatch batch : batches) {
                TopicPartition place = (TopicPartition) field(ProducerBatch.class, "topicPartition", batch);
                sent.add(place.partition() + ":" + field(ProducerBatch.class, "recordCount", batch));
                batch.complete(0, 0);
                accumulator.deallocate(batch);
            }
        sent.sort(null);
        return "|" + String.join(",", sent);
    }

    Object stickyPartition() throws Exception {
        Object topic = ((Map<?, ?>) field(RecordAccumulator.class, "topicInfoMap", accumulator)).get(TOPIC);
        if (topic == null)
            return null;
        Object partitioner = field(topic.getClass(), "builtInPartitioner", topic);
        return ((AtomicReference<?>) field(partitioner.getClass(), "stickyPartitionInfo", partitioner)).get();
    }

    static Object field(Class<?> type, String name, Object owner) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    static class ManualTime implements Time {
        long now = 1_000_000;

        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
    }
}
