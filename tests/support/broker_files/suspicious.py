"""The directory of docs/suspicious-directory.md: one bit is changed, and one batch is gone."""

from pathlib import Path

from tests.support.broker_files.partition_writer import PartitionWriter, Producer


def suspicious_directory(log_dir: Path) -> PartitionWriter:
    """Write 60 records in 12 batches; then damage offsets 15 to 19, and remove 40 to 44."""
    writer = PartitionWriter(log_dir, segment_bytes=1000)
    producer = Producer(4001)
    for number in range(12):
        producer = writer.append(5, producer=producer, value=b"order %d" % number)
    writer.close()
    file, position, _ = writer.batches[3]
    data = bytearray(file.read_bytes())
    data[position + 100] ^= 1
    file.write_bytes(data)
    file, position, size = writer.batches[8]
    whole = file.read_bytes()
    file.write_bytes(whole[:position] + whole[position + size :])
    return writer
