import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.common.TopicPartition;

/**
 * Asks the assignors of the official Java client (test_assignors.py). A line in is one question:
 *
 *   STRATEGY<TAB>t0=3,t1=2<TAB>c1@i1:t0,t1:t0-0,t0-1:5;c2::...     member@static id:topics:owned:generation
 *
 * and a line out is its answer: c1:t0-0,t0-1;c2:t1-0
 */
public class AssignorOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine())
            out.append(answer(line)).append('\n');
        new PrintStream(System.out, true, StandardCharsets.UTF_8).print(out);
    }

    static String answer(String line) {
        String[] parts = line.split("\t");
        AbstractPartitionAssignor assignor = switch (parts[0]) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
        Map<String, Integer> counts = new TreeMap<>();
        for (String topic : parts[1].isEmpty() ? new String[0] : parts[1].split(","))
            counts.put(topic.split("=")[0], Integer.valueOf(topic.split("=")[1]));
        Map<String, Subscription> members = new TreeMap<>();
        for (String member : parts[2].split(";"))
            add(members, member.split(":", -1));
        List<String> answers = new ArrayList<>();
        new TreeMap<>(assignor.assign(counts, members)).forEach((member, given) ->
            answers.add(member + ":" + String.join(",", given.stream().map(TopicPartition::toString).toList())));
        return String.join(";", answers);
    }

    static void add(Map<String, Subscription> members, String[] fields) {
        String[] ids = fields[0].split("@");
        List<TopicPartition> owned = new ArrayList<>();
        for (String name : fields[2].isEmpty() ? new String[0] : fields[2].split(",")) {
            int hyphen = name.lastIndexOf('-');
            owned.add(new TopicPartition(name.substring(0, hyphen), Integer.parseInt(name.substring(hyphen + 1))));
        }
        Subscription subscription = new Subscription(
            Arrays.asList(fields[1].split(",")), null, owned, Integer.parseInt(fields[3]), Optional.empty());
        if (ids.length == 2)
            subscription.setGroupInstanceId(Optional.of(ids[1]));
        members.put(ids[0], subscription);
    }
}
