import java.time.*;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.*;

/** `address topic group` as arguments: reads as a member, commits now and then, tells both. */
public class Member {
    static void tell(String what, int partition, long offset) {
        Instant now = Instant.now();
        System.out.printf("%s %d %d %d%n", what, partition, offset, now.getEpochSecond() * 1_000_000_000L + now.getNano());
    }

    public static void main(String[] given) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", given[0],
            "group.id", given[2], "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "session.timeout.ms", "6000", "heartbeat.interval.ms", "500", "max.poll.records", "50"));
        try (Consumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(given[1]));
            for (int got = 0; ; ) {
                Map<Integer, Long> next = new HashMap<>();
                for (ConsumerRecord<String, String> one : consumer.poll(Duration.ofMillis(100))) {
                    tell("read", one.partition(), one.offset());
                    next.put(one.partition(), one.offset() + 1);
                    got++;
                }
                if (next.isEmpty() || got % 3 == 0) continue; // so that something is read again
                try {
                    consumer.commitSync();
                    next.forEach((partition, offset) -> tell("committed", partition, offset));
                } catch (CommitFailedException | org.apache.kafka.common.errors.RebalanceInProgressException e) {
                    System.err.println(e.getMessage()); // others have its partitions by now
                }
            }
        }
    }
}
