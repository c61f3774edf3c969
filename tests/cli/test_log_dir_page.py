"""The page about a log dir, from values: hostile text, bounds, size."""

from kminilog.cli.ls.look import (
    FindingLook,
    GroupLook,
    LogDirLook,
    MessageLook,
    PartitionLook,
    SegmentContents,
    SegmentLook,
)
from kminilog.cli.ls.page import render_log_dir
from kminilog.explain.page import BytesTable, FieldRow
from kminilog.pages import LIMITS, PAGE_BYTES
from tests.support.cli.looked_at import (
    lane_words,
    of_class,
    path_numbers,
    section,
    segment_rows,
    shown,
    tree,
)

BAD = "</style><script>document.title='y'</script>\x1b[2J\u202e&<b>\"'"
OFFSET = 368_769_000
FIELD = FieldRow(0, BAD, BAD, BAD, "key")


def partition(name: str, segments: int, **more: object) -> PartitionLook:
    """A partition with segments of 100 messages and ten entries each, some 64 KB large."""
    looks = tuple(
        SegmentLook(f"{start:020d}", start, start + 100, 65_000 + number, 10)
        for number in range(segments)
        for start in [OFFSET + number * 100]
    )
    end = OFFSET + 100 * segments
    return PartitionLook(name, OFFSET, end, 65_000 * segments, looks, end)._replace(**more)


def page_of(
    *partitions: PartitionLook, contents: SegmentContents | None = None, **more: object
) -> str:
    look = LogDirLook(
        "Log dir logs", "kminilog --log-dir logs", "ok", "All is well.", "ok", partitions
    )
    return render_log_dir(look._replace(**more), lambda *asked: contents)


def test_hostile_text_is_text():
    found = FindingLook("bad-crc", "error", BAD, BAD, BAD, BAD, OFFSET, comes_from=BAD)
    look = partition(
        BAD, 1, findings=(found,), finding_count=1, groups=(GroupLook(BAD, OFFSET, 100),)
    )
    more = {"elsewhere": (found,), "not_checked": (BAD,), "not_read": (BAD,), "title": BAD}
    message = MessageLook(0, 9, OFFSET, BAD, BAD, "", [BytesTable(BAD, 0, 9, [FIELD])])
    damage = MessageLook(9, 9, None, "", "", BAD, [])
    contents = SegmentContents(BAD, None, (message, damage), None, 0, 9, BAD)
    looks = (look, PartitionLook("t-0", failure=BAD))
    page = page_of(*looks, contents=contents, counts=((BAD, 2, 1),), **more)
    whole = tree(page)
    assert not whole.findall(".//script")
    assert page.count("<script") == 0
    assert page.count("<style>") == 1
    assert "\x1b" not in page
    assert "\u202e" not in page
    for element in whole.iter():  # in an attribute or outside, it is the text that it was
        for name, value in element.attrib.items():
            assert "document.title" not in value or name in ("id", "href", "aria-label"), name
    assert "document.title='y'" in shown(whole)


def test_more_than_is_shown_is_said_with_the_command_that_shows_it():
    most = LIMITS[-1]
    groups = tuple(GroupLook(f"g{number}", OFFSET, 0) for number in range(most.groups + 2))
    page = tree(page_of(partition("t-0", most.segments + 3, groups=groups)))
    part = section(page, "t-0")
    assert len(segment_rows(part)) == len(path_numbers(part, "bar")) == most.segments
    assert f"only the first {most.segments} are drawn" in lane_words(part)["segments"]
    assert "and 3 more segments: kminilog --log-dir logs ls t" in shown(part)
    assert lane_words(part)["more groups"].startswith("2, ")


def test_page_of_a_large_log_dir_is_bounded_and_says_what_it_leaves_out():
    found = FindingLook("bad-crc", "error", "z-99", "z-99", "", "", OFFSET)
    damaged = {"findings": (found,), "finding_count": 1}
    looks = [
        partition(f"{topic}-{number}", 60, **(damaged if (topic, number) == ("z", 99) else {}))
        for topic in ("a" * 200, "z")
        for number in range(300)
    ]
    page = page_of(*looks)
    assert len(page.encode()) <= PAGE_BYTES
    whole = tree(page)
    drawn = of_class(whole, "partition")
    assert 20 <= len(drawn) < 600
    assert len(path_numbers(drawn[0], "bar")) == 60
    assert section(whole, "z-99") in drawn  # what is damaged is shown first of all
    assert "Findings are in z-99." in shown(of_class(whole, "overview")[0])
    (said,) = of_class(whole, "left-out")
    assert f"{len(drawn)} of 600 partitions are shown" in shown(said)
    assert "of each partition, " in shown(said)
    left = 300 - sum(one.get("id").startswith("z-") for one in drawn)
    assert f"and {left} more partitions of z: kminilog --log-dir logs ls z" in shown(whole)


def test_page_of_a_log_dir_with_long_names_and_many_findings_is_bounded():
    rows = [FieldRow(number, BAD, BAD, BAD, "key") for number in range(10)]
    table = BytesTable("0" * 20, 0, 80, rows)
    found = FindingLook("bad-crc", "error", "", "p" * 300, "d" * 500, "c" * 500, tables=[table])
    groups = tuple(GroupLook(f"{number}<" * 40, OFFSET, 5) for number in range(60))
    damaged = {"findings": (found,) * 40, "finding_count": 40, "groups": groups}
    looks = [partition(f"{number:0240}-0", 30, **damaged) for number in range(800)]
    message = MessageLook(0, 9, OFFSET, BAD, BAD, "", [table])
    contents = SegmentContents("0" * 20, None, (message,) * 2, table, 0, 9, "c" * 300)
    page = page_of(
        *looks, contents=contents, elsewhere=(found,) * 400, not_checked=("n" * 300,) * 900
    )
    assert len(page.encode()) <= PAGE_BYTES
    words = shown(tree(page))
    assert "and 780 more topics: kminilog --log-dir logs topic list" in words
    assert "and 399 more findings: kminilog --log-dir logs verify" in words
    assert "and 899 more: kminilog --log-dir logs verify" in words


def test_page_that_is_too_long_even_so_says_it():
    said = "This page is longer than it should be, though it shows the least that it can"
    assert said not in page_of(partition("t-0", 1), not_checked=("n" * 300_000,))
    page = page_of(partition("t-0", 1), not_checked=("n" * 400_000,))
    assert said in shown(of_class(tree(page), "left-out")[-1])


def test_findings_that_verify_did_not_keep_are_said():
    found = FindingLook("bad-crc", "error", "t-0", "t-0", "", "", OFFSET)
    look = partition("t-0", 1, findings=(found,), finding_count=30)
    page = tree(page_of(look, counts=(("bad-crc", 30, 1),)))
    assert lane_words(section(page, "t-0"))["findings of verify"] == "30, see below for 1 of them"
    assert "bad-crc: 30 findings, 1 shown" in shown(page)


def test_partition_is_red_if_an_error_may_be_among_findings_that_are_not_kept():
    mild = FindingLook("index-sparse", "warning", "t-0", "t-0", "", "", OFFSET)
    look = partition("t-0", 1, findings=(mild,), finding_count=30)
    assert look.severity == "warning"
    assert look._replace(has_unkept_errors=True).severity == "error"
    assert look._replace(has_unkept_errors=True, finding_count=1).severity == "warning"
    assert look._replace(findings=()).severity == "warning"


def test_recovery_point_above_the_log_end_is_said():
    look = partition("t-0", 1, recovery_point=OFFSET + 101)
    words = lane_words(section(tree(page_of(look)), "t-0"))["recovery point"]
    assert words.startswith(f"{OFFSET + 101}, above the log end {OFFSET + 100}")


def test_lag_of_a_group_in_a_topic_says_where_it_is_not_known():
    lags = [5, 2, None]
    looks = [
        partition(
            f"t-{number}",
            1,
            groups=(GroupLook("g", lag, lag), GroupLook("h", lag, 0), GroupLook("i", lag, None)),
        )
        for number, lag in enumerate(lags)
    ]
    (groups,) = of_class(tree(page_of(*looks)), "groups")
    assert list(map(shown, groups)) == [
        "group g: lag 7, 5 of it in t-0; not known in 1 partition",
        "group h: lag 0",
        "group i: lag not known in 3 partitions",
    ]


def test_largest_lag_of_a_topic_is_not_known_if_that_of_no_group_is():
    look = partition("t-0", 1, groups=(GroupLook("g", None, None),))
    rows = of_class(tree(page_of(look, partition("u-0", 1))), "overview")[0].findall(".//tr")[1:]
    assert [shown(row[-1]) for row in rows] == ["not known", "-"]


def test_bars_tile_the_axis_and_are_as_high_as_segments_are_large():
    sizes = (1000, 500, 10)
    segments = tuple(
        SegmentLook(f"{10 * number:020d}", 10 * number, 10 * number + 10, size, 0)
        for number, size in enumerate(sizes)
    )
    part = section(tree(page_of(PartitionLook("t-0", 0, 30, sum(sizes), segments))), "t-0")
    assert (
        "".join(path.get("d") for path in of_class(part, "bar"))
        == "M0 34V0H3333V34ZM3333 34V17H6667V34ZM6667 34V31H10000V34Z"
    )


def test_page_of_twenty_partitions_with_fifty_segments_is_small():
    looks = []
    for number in range(20):
        look = partition(f"page-views-{number}", 50)
        segments = [s._replace(entry_offsets=(s.first_offset,) * 4) for s in look.segments]
        groups = tuple(GroupLook(f"readers-{n}", OFFSET + 77, 4923) for n in range(3))
        looks.append(look._replace(segments=tuple(segments), groups=groups))
    assert len(page_of(*looks).encode()) <= PAGE_BYTES
