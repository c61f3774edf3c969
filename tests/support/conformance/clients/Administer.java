import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** A line `address group` on stdin: what Admin can do, each step as a line. */
public class Administer {
    public static void main(String[] unused) throws Exception {
        Scanner asked = new Scanner(System.in);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", asked.next()))) {
            String group = asked.next();
            admin.createTopics(List.of(new NewTopic("made", 3, (short) 1))).all().get();
            System.out.println("list " + new TreeSet<>(admin.listTopics().names().get()));
            var made = admin.describeTopics(List.of("made")).allTopicNames().get().get("made");
            System.out.println("describe " + made.partitions().size() + " " + made.partitions().get(0).leader().id());
            admin.createPartitions(Map.of("made", NewPartitions.increaseTo(5))).all().get();
            made = admin.describeTopics(List.of("made")).allTopicNames().get().get("made");
            System.out.println("enlarged " + made.partitions().size());
            System.out.println("groups " + admin.listGroups().all().get().stream().map(GroupListing::groupId).sorted().toList());
            var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            offsets.forEach((partition, at) -> System.out.println("offset " + partition + " " + at.offset()));
            for (TopicPartition one : offsets.keySet())
                admin.alterConsumerGroupOffsets(group, Map.of(one, new OffsetAndMetadata(7))).all().get();
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
                .forEach((partition, at) -> System.out.println("altered " + partition + " " + at.offset()));
            var told = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            System.out.println("group " + told.groupState() + " " + told.members().size());
            admin.deleteTopics(List.of("made")).all().get();
            System.out.println("list " + new TreeSet<>(admin.listTopics().names().get()));
        }
    }
}
