import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

/** A line `address topic group count` on stdin: messages out, and back by a group. */
public class Trip {
    public static void main(String[] unused) throws Exception {
        Scanner asked = new Scanner(System.in);
        String address = asked.next(), topic = asked.next(), group = asked.next();
        int count = asked.nextInt();
        Map<String, Object> settings = Map.of("bootstrap.servers", address);
        try (Producer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            List<java.util.concurrent.Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++)
                sent.add(producer.send(new ProducerRecord<>(topic, "k" + i % 97, "value " + i)));
            producer.flush();
            for (var one : sent) one.get();
        }
        Map<String, Object> of = new HashMap<>(settings);
        of.put("group.id", group);
        of.put("auto.offset.reset", "earliest");
        StringBuilder told = new StringBuilder();
        try (Consumer<String, String> consumer =
                new KafkaConsumer<>(of, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (int got = 0; got < count; )
                for (ConsumerRecord<String, String> one : consumer.poll(Duration.ofSeconds(1))) {
                    told.append(one.partition() + "\t" + one.key() + "\t" + one.value() + "\n");
                    got++;
                }
            consumer.commitSync();
        }
        System.out.print(told);
    }
}
