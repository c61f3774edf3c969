"""The report as lines: errors first, one equation, everything beside what it belongs to."""

from kminilog.verification.both_sides import KeyValue, both_sides
from kminilog.verification.coverage import NO_SOURCE, Aspect, Unchecked
from kminilog.verification.findings import Cause, Finding, FindingClass, Tally
from kminilog.verification.report import Report
from kminilog.verification.results import equation

NAME = "0" * 20
NOTHING = "0 partitions, 0 segments, 0 whole messages, 0 bytes"
COUNTS = {"source": 9, "stored": 9, "missing": 2, "extra": 1, "duplicate": 1, "rejected": 0}


def made_of(*kinds: FindingClass, **fields: object) -> list[str]:
    tally = Tally(Finding(kind, "t", 0, "why", NAME, 5, 170) for kind in kinds)
    report = Report({"log_dir": "d"}, tally=tally, **fields)  # type: ignore[arg-type]
    return report.to_text().split("\n")


def test_findings_stand_by_severity_and_allowed_ones_last():
    kinds = (FindingClass.INDEX_SPARSE, FindingClass.OFFSET_GAP, FindingClass.BAD_CRC)
    lines = made_of(*kinds, allowed=frozenset([FindingClass.OFFSET_GAP]))
    heads = [line.split() for line in lines if line.endswith(("1", "allowed"))]
    assert heads == [
        ["bad-crc", "error", "1"],
        ["index-sparse", "warning", "1"],
        ["offset-gap", "error", "1", "allowed"],
    ]


def test_classes_severities_and_counts_are_aligned():
    lines = made_of(*[FindingClass.BAD_CRC] * 12, FindingClass.INDEX_SPARSE)
    heads = [line for line in lines if line and line[0] != " "][:-1]
    assert heads == ["bad-crc       error    12", "index-sparse  warning   1"]


def test_sample_has_its_place_what_is_wrong_and_its_command():
    assert made_of(FindingClass.BAD_CRC)[1:3] == [
        f"    t-0/{NAME}.log, offset 5, byte 170: why",
        f"        kminilog dump d/t-0/{NAME}.log --at 170 --hex",
    ]


def test_sample_has_its_record_beside_its_message():
    sides = both_sides(KeyValue(b"k", b"13"), KeyValue(b"k", b"17"))
    finding = Finding(FindingClass.ALTERED, "t", 0, "why", NAME, 5, 170, "s.txt, line 6")
    tally = Tally([finding._replace(sides=sides)])
    lines = Report({"log_dir": "d"}, tally=tally).to_text().split("\n")
    assert lines[1:7] == [
        f"    s.txt, line 6, t-0/{NAME}.log, offset 5, byte 170: why",
        '        key    both     "k"',
        '        value  source   "13"',
        "                          ^",
        '               message  "17"',
        "                          ^",
    ]


def test_sample_that_comes_from_another_one_stands_below_it():
    damage = Finding(FindingClass.BAD_CRC, "t", 0, "why", NAME, 5, 170)
    records = [
        Finding(
            *(FindingClass.MISSING, "t", 0, "gone"),
            source=f"s.txt, line {line}",
            cause=Cause(damage.kind, damage.place, is_certain),
        )
        for line, is_certain in ((6, True), (7, False))
    ]
    for first in (damage, records[0]):  # whichever class came first
        tally = Tally(sorted([damage, *records], key=lambda found: found.kind != first.kind))
        lines = Report({"log_dir": "d"}, tally=tally).to_text().split("\n")
        at = lines.index(f"    {damage.place}: why")
        assert lines[at + 2 : at + 4] == [
            "        so: missing: s.txt, line 6, t-0: gone",
            "        may be why: missing: s.txt, line 7, t-0: gone",
        ]
        head = lines.index("missing  error  2")
        assert lines[head + 1] == "    2 listed under the findings that caused them"
        assert sum("gone" in line for line in lines) == 2


def test_samples_that_are_not_kept_are_counted():
    lines = made_of(*[FindingClass.BAD_CRC] * 25)
    assert lines[-2:] == ["    and 5 more", f"verdict: findings; 25 errors in {NOTHING}"]


def test_verdict_ends_the_report_and_counts_each_severity_and_what_was_checked():
    kinds = (FindingClass.BAD_CRC, FindingClass.OFFSET_GAP, FindingClass.INDEX_SPARSE)
    held = {"segment_count": 1, "message_count": 2, "size_bytes": 60}
    lines = made_of(*kinds, allowed=frozenset([kinds[1]]), partitions=[held])
    told = "1 error, 1 warning, 1 allowed in 1 partition, 1 segment, 2 whole messages, 60 bytes"
    assert lines[-1] == f"verdict: findings; {told}"


def test_equation_is_one_line_and_says_if_it_does_not_hold():
    line = "source 9 + extra 1 + duplicate 1 = stored 9 + rejected 0 + missing 2"
    assert made_of(conservation={**COUNTS, "altered": 0, "holds": True})[0] == line
    other = equation({**COUNTS, "altered": 3, "holds": False})
    assert other == line.replace("=", "≠") + " (altered 3)"


def test_what_was_not_checked_fits_80_columns():
    why = "the partitioner of its keys is unknown"
    unchecked = [Unchecked(Aspect.PLACEMENT, "orders", why, "--partitioner NAME")]
    assert made_of(unchecked=unchecked)[-3:-1] == [
        f"not checked: placement of orders: {why}; give",
        "    --partitioner NAME",
    ]
    error = Unchecked(Aspect.MESSAGES, "orders-0", "cannot read " + "a/ b/" * 20, asked=True)
    assert made_of(unchecked=[error])[-2] == f"not checked: messages of orders-0: {error.why}"


def test_what_was_not_checked_is_shown_of_three_places_only():
    places = [Unchecked(Aspect.RECORDS, f"t-{n}", "not decoded", "--full") for n in range(60)]
    assert made_of(unchecked=[*places[:1], NO_SOURCE, *places[1:]])[:-1] == [
        "not checked: records of t-0: not decoded; give --full",
        "not checked: records of t-1: not decoded; give --full",
        "not checked: records of t-2: not decoded; give --full",
        "    and 57 more; --json names each",
        "not checked: source: none is named; give --against SOURCE",
    ]


def test_another_reason_is_shown_however_many_places_have_the_first():
    places = [Unchecked(Aspect.JOBS, "t-0", f"{n} messages are damaged") for n in range(9)]
    other = Unchecked(Aspect.JOBS, "t-1", "no job wrote 45 messages")
    assert made_of(unchecked=[*places, other])[-3:-1] == [
        "    and 6 more; --json names each",
        "not checked: jobs of t-1: no job wrote 45 messages",
    ]


def test_what_was_not_checked_stands_in_front_of_the_verdict():
    unchecked = [Unchecked(Aspect.MESSAGES, "t-1", "no directory", asked=True), NO_SOURCE]
    lines = made_of(checked=[Aspect.MESSAGES, Aspect.JOBS], unchecked=unchecked)
    assert lines[-4:] == [
        "checked: messages, jobs",
        "not checked: messages of t-1: no directory",
        "not checked: source: none is named; give --against SOURCE",
        f"verdict: partial; no findings in {NOTHING}",
    ]
