// A line `address topic group count` on stdin: messages out, and back by a group.
const { Kafka, logLevel } = require("kafkajs");
const [address, topic, groupId, text] = require("fs").readFileSync(0, "utf8").split(/\s+/);
const count = Number(text);
const kafka = new Kafka({ brokers: [address], logLevel: logLevel.ERROR });

async function trip() {
  const producer = kafka.producer();
  await producer.connect();
  const messages = [...Array(count).keys()].map((i) => ({ key: `k${i % 97}`, value: `value ${i}` }));
  for (let i = 0; i < count; i += 1000) await producer.send({ topic, messages: messages.slice(i, i + 1000) });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const lines = [];
  await new Promise((done) => consumer.run({
    eachMessage: async ({ partition, message }) => {
      if (lines.push(`${partition}\t${message.key}\t${message.value}`) === count) done();
    },
  }));
  await consumer.disconnect(); // it commits
  console.log(lines.join("\n"));
}
trip().catch((error) => { console.error(error); process.exit(1); });
