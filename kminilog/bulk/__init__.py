"""Many messages at once, as columns: fast twins of plain code, with the same bytes and answers.

In reading order:

    columns          Arrow columns as numpy sees them, cut into common blocks
    crc              the CRC-32 of many messages
    boundaries       where messages begin, by their size fields alone
    encoding         columns of keys and values become the bytes of messages
    layout           the segment of each message, and which messages get an index entry
    unnumbered       messages without offsets, to be sorted first
    writing          columns into the segments of a partition
    mixing           mix the bits of numbers, so that they spread evenly
    murmur2          the partition of many keys
    partitioning     the partition of many records, by key and place
    fingerprints     fingerprints of many messages
    structure        the fields of many messages, as far as they agree with each other
    decoding         messages become Arrow columns; CRCs are not checked
    checking         are these bytes valid messages?
    windows          a `.log` in windows of whole messages
    staged_logs      what tasks stage: runs, several runs joined into one, and sealed logs
    segment_scan     how far a segment is valid
    segment_checks   the checks of one segment, fast if it is valid
    twins            the fast checks if numpy and pyarrow are installed, else the plain ones
    message_batches  from the bytes of a `.log` to Arrow record batches
"""
