"""The page: whole by itself, well-formed, with every finding, and nothing hostile comes through."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.pages import PAGE_BYTES
from kminilog.verification.both_sides import KeyValue, both_sides
from kminilog.verification.coverage import NO_SOURCE, Aspect, Unchecked
from kminilog.verification.findings import Cause, Finding, FindingClass, Tally
from kminilog.verification.html_report import ReportOrigin
from kminilog.verification.report import Report
from tests.support.browser import Page

NAME = "0" * 20
HOSTILE = "\"'><script>alert(1)</script><!-- &amp; \x00\x1b\x85\u2028\udcff ]]>"
CONSERVATION = {
    "source": 1000, "stored": 990, "missing": 11, "extra": 0, "duplicate": 1, "rejected": 0,
    "altered": 2, "holds": True,
}  # fmt: skip
COVERAGE: dict[str, Any] = {
    "checked": [Aspect.MESSAGES, Aspect.JOBS],
    "unchecked": [Unchecked(Aspect.MESSAGES, "orders-2", "something", asked=True), NO_SOURCE],
}


def partition(number: int, size_bytes: int, count: int) -> dict[str, Any]:
    return {
        "topic": "orders",
        "partition": number,
        "log_start_offset": 0,
        "log_end_offset": count,
        "message_count": count,
        "size_bytes": size_bytes,
        "segment_count": 2,
        "finding_count": 0,
    }


def report_with(*findings: Finding, **fields: Any) -> Report:
    partitions = [partition(0, 3000, 100), partition(1, 1000, 40), partition(2, 0, 0)]
    scope = {"log_dir": "logs", "topics": ["orders"], "engine": "spark"}
    return Report(scope, partitions=partitions, tally=Tally(findings), **fields)


@pytest.fixture
def many() -> Report:
    """A report with a finding of each class, and many of one."""
    findings = [Finding(kind, "orders", 0, "why", NAME, 50, 170) for kind in FindingClass]
    findings += [Finding(FindingClass.MISSING, "orders", -1, "gone", source="s.csv, row 7")] * 30
    return report_with(*findings, conservation=CONSERVATION, **COVERAGE)


def tree_of(page: str) -> ElementTree.Element:
    assert page.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(page)


def words_of(page: str) -> str:
    return " ".join("".join(tree_of(page).itertext()).split())


def test_page_names_verdict_equation_findings_samples_and_commands(many):
    words = words_of(many.to_html())
    document = many.to_json()
    assert "source 1000 + extra 0 + duplicate 1 = stored 990 + rejected 0 + missing 11" in words
    assert "Checked messages, jobs" in words
    assert "asked: messages of orders-2: something" in words
    assert "source: none is named; give --against SOURCE" in words
    for found in document["findings"]:
        for sample in found["samples"]:
            for name in ("place", "detail", "command"):
                assert sample[name] in words, (found["class"], name)
        assert re.search(rf"{found['class']} ?{found['severity']} {found['count']}\b", words)
    assert "and 11 more" in words


def test_page_shows_what_comes_from_another_finding_below_it():
    damage = Finding(FindingClass.BAD_CRC, "orders", 0, "why", NAME, 50, 170)
    cause = Cause(damage.kind, damage.place, is_certain=True)
    record = Finding(FindingClass.MISSING, "orders", 0, HOSTILE, source="line 7", cause=cause)
    page = report_with(damage, record).to_html()
    (below,) = tree_of(page).findall(".//details/ol/li/ul/li")
    assert "".join(below.itertext()).startswith("so missing: line 7, orders-0: ")
    assert "1 listed under the finding that caused it" in words_of(page)


def test_page_counts_one_finding_as_one():
    found = Finding(FindingClass.BAD_CRC, "orders", 0, "why", NAME, 50, 170)
    assert "1 finding " in words_of(report_with(found).to_html())
    assert "2 findings " in words_of(report_with(found, found).to_html())


def test_page_with_many_findings_begins_with_its_contents(many):
    tree = tree_of(many.to_html())
    links = [one.get("href", "") for one in tree.findall(".//nav//a")]
    classes = [f"#{found.kind}" for found in many.found()]
    assert links == ["#account", "#partitions", "#findings", *classes, "#checked", "#made"]
    assert [f"#{one.get('id')}" for one in tree.iter() if one.get("id")] == links
    counts = {"".join(one.itertext()) for one in tree.findall(".//nav//li/ul/li")}
    assert counts == {f"{one.kind}{one.rank} {one.total}" for one in many.found()}


def test_page_with_few_findings_has_no_contents():
    assert tree_of(report_with().to_html()).find(".//nav") is None


def test_page_of_an_ok_report_says_so_and_has_no_findings():
    tree = tree_of(report_with().to_html())
    assert tree.find(".//header").get("class") == "ok"
    assert "None." in words_of(report_with().to_html())


def test_page_says_if_only_samples_of_a_class_are_counted_in_the_partitions(many):
    told = "Of the findings against the source, this list counts only the samples."
    assert told in words_of(many.to_html())
    one = report_with(Finding(FindingClass.MISSING, "orders", 0, "gone", source="s.csv, row 7"))
    assert told not in words_of(one.to_html())
    damage = Finding(FindingClass.BAD_CRC, "orders", 0, "why", NAME, 50, 170)
    without_source = report_with(*[damage] * 50)
    assert [found.total > len(found.samples) for found in without_source.found()] == [True]
    assert told not in words_of(without_source.to_html())


def test_page_headline_counts_errors_and_warnings_by_class_but_not_what_is_allowed():
    kinds = [FindingClass.BAD_CRC, FindingClass.BAD_CRC, FindingClass.INDEX_SPARSE]
    kinds += [FindingClass.EXTRA, FindingClass.DUPLICATE]
    findings = [Finding(kind, "orders", 0, "why", NAME, 50, 170) for kind in kinds]
    report = report_with(*findings, allowed=frozenset({FindingClass.DUPLICATE}))
    headline = tree_of(report.to_html()).findall(".//header/p")[-1].text
    assert headline == "3 errors, 1 warning: 2 bad-crc, 1 extra, 1 index-sparse."


@pytest.mark.parametrize(
    ("missing", "said"), [(3, "3 of 1,000 records are"), (1, "1 of 1,000 records is")]
)
def test_page_headline_says_first_how_many_records_are_missing(missing, said):
    gone = Finding(FindingClass.MISSING, "orders", 0, "gone", source="s.csv, row 7")
    report = report_with(gone, conservation={**CONSERVATION, "missing": missing})
    headline = tree_of(report.to_html()).findall(".//header/p")[-1].text
    assert headline == f"{said} missing. 1 error: 1 missing."


def test_page_of_warnings_alone_and_of_what_could_not_be_checked_is_amber_not_red():
    warning = Finding(FindingClass.INDEX_SPARSE, "orders", 0, "why", NAME, 50, 170)
    error = Finding(FindingClass.BAD_CRC, "orders", 0, "why", NAME, 50, 170)
    allowed = frozenset({FindingClass.BAD_CRC})
    for report, severity in (
        (report_with(warning), "warning"),
        (report_with(warning, error), "error"),
        (report_with(warning, error, allowed=allowed), "warning"),
        (report_with(**COVERAGE), "warning"),
    ):
        assert tree_of(report.to_html()).find(".//header").get("class") == severity


def large_report(**fields: Any) -> Report:
    """Many partitions and segments, one of them damaged, and long findings of each class."""
    row = {"first_offset": 0, "last_offset": 9, "message_count": 9, "size_bytes": 9}
    row |= {"index_entry_count": 1, "finding_count": 0}
    partitions = [
        {
            **partition(number, 3000, 100),
            "finding_count": int(number == 650),
            "segments": [
                {"segment": f"{n:020}", **row, "finding_count": int((number, n) == (650, 20))}
                for n in range(30)
            ],
        }
        for number in range(700)
    ]
    findings = [
        Finding(kind, "orders", 650, f"{n} {HOSTILE * 9}", f"{20:020}", 50, 170)
        for kind in FindingClass
        for n in range(20)
    ]
    scope = {"log_dir": "logs", "topics": ["orders"], "engine": "local"}
    return Report(scope, partitions=partitions, tally=Tally(findings), **fields)


def test_page_of_a_large_report_is_bounded_and_says_what_it_leaves_out():
    page = large_report().to_html()
    assert len(page.encode()) <= PAGE_BYTES
    words = words_of(page)
    drawn = tree_of(page).findall(".//div[@class='partition']")
    assert f"and {700 - len(drawn)} more partitions: kminilog ls lists all" in words
    rows = tree_of(page).findall(".//tbody/tr")
    assert f"and {21_000 - len(rows):,} more segments: kminilog ls lists all" in words
    assert "700 partitions, the largest is 1.00 times the mean" in words
    assert "21,000 segments, 1 with findings" in words
    assert "orders-650" in {"".join(div.find("h3").itertext()) for div in drawn}
    assert len([row for row in rows if row.get("class") == "wrong"]) == 1
    shown = len(tree_of(page).findall(".//details/ol")[0].findall("li"))
    assert f"and {20 - shown} more" in words


def test_page_that_is_too_long_even_so_says_it():
    said = "This page is longer than it should be, though it shows the least that it can"
    report = report_with()
    for length, is_said in ((100_000, False), (400_000, True)):
        report.scope["log_dir"] = "n" * length
        assert (said in words_of(report.to_html())) == is_said


def test_page_needs_no_network_and_no_script(many):
    page = many.to_html()
    tags = {element.tag for element in tree_of(page).iter()}
    assert not tags & {"script", "img", "iframe", "object", "embed", "base", "form"}
    attributes = {name for element in tree_of(page).iter() for name in element.attrib}
    assert not attributes & {"src", "srcset", "action", "data"}
    links = [one.get("href") or "#" for one in tree_of(page).iter() if one.tag != "link"]
    assert {link[0] for link in links} == {"#"}  # in the page
    (icon,) = tree_of(page).iterfind(".//link")
    assert icon.get("href").startswith("data:")  # without it, a browser would ask for one
    for words in ("http:", "https:", "url(", "@import", "//"):
        assert words not in page
    assert "default-src 'none'" in page  # and a browser would not let it


def test_page_draws_sizes_beside_the_largest_and_marks_at_their_offsets(many):
    tree = tree_of(many.to_html())
    drawn = tree.findall(".//div[@class='partition']")
    assert [div.find("./div[@class='size']/span").get("style") for div in drawn] == [
        "width:100.00%",
        "width:33.33%",
        "width:0.00%",
    ]
    marks = [div.findall("./div[@class='offsets']/i") for div in drawn]
    assert [len(found) for found in marks] == [len(FindingClass), 0, 0]
    assert {mark.get("style") for mark in marks[0]} == {"left:50.00%"}
    assert "2.25 times the mean" in words_of(many.to_html())


def test_page_shows_small_parts_of_the_account_too(many):
    bars = tree_of(many.to_html()).findall(".//div[@class='bar']")
    parts = [[(span.get("class"), span.get("style")) for span in bar] for bar in bars]
    assert parts == [
        [("source", "flex-grow:1000"), ("duplicate", "flex-grow:1")],
        [("stored", "flex-grow:990"), ("missing", "flex-grow:11")],
    ]


def test_page_escapes_whatever_names_and_keys_hold():
    found = Finding(FindingClass.MISSING, "orders", 0, HOSTILE, source=HOSTILE)
    report = report_with(
        found, unchecked=[Unchecked(Aspect.MESSAGES, HOSTILE, HOSTILE)], conservation=CONSERVATION
    )
    report.scope.update(
        {
            "log_dir": HOSTILE,
            "job": HOSTILE,
            "against": {"paths": [HOSTILE], "format": "csv", "key": HOSTILE},
            "quarantine": [HOSTILE],
        }
    )
    page = report.to_html()
    assert "<script" not in page
    page.encode()
    assert words_of(page).count("><script>alert(1)</script>") >= 7
    assert r"\x00\x1b" in page


@given(st.text())
def test_page_is_well_formed_with_any_text(words):
    found = Finding(FindingClass.MISSING, "orders", 0, words, source=words)
    report = report_with(found)
    report.scope["topics"] = [words]
    tree_of(report.to_html())


def test_page_says_what_each_class_means_in_plain_words(many):
    words = words_of(many.to_html())
    for kind in FindingClass:
        for sentence in (kind.meaning, kind.advice):
            assert sentence.endswith(".")
            assert sentence.count("`") % 2 == 0
            assert sentence.replace("`", "") in words, kind


def test_page_says_when_by_which_version_and_by_which_command_it_was_made():
    made = ReportOrigin("2026-11-24 03:20:35 UTC", "1.2.3", HOSTILE, "kminilog verify 'a b'")
    page = report_with(seconds=1.25).to_html(made=made)
    words = words_of(page)
    assert "made 2026-11-24 03:20:35 UTC, by kminilog 1.2.3" in " ".join(
        "".join(pair.itertext()) if pair.tag != "div" else f"{pair[0].text} {pair[1].text}"
        for pair in tree_of(page).findall(".//dl/div")
    )
    assert "kminilog verify 'a b'" in words
    assert "1.2 s" in words
    assert "<script" not in page


def test_page_has_a_row_for_each_segment_and_marks_those_with_findings():
    report = report_with()
    row = {
        "segment": NAME, "first_offset": 0, "last_offset": 1234, "message_count": 1235,
        "size_bytes": 99999, "index_entry_count": 7, "finding_count": 2,
    }  # fmt: skip
    empty = {**row, "first_offset": None, "last_offset": None, "finding_count": 0}
    report.partitions[0]["segments"] = [row, empty]
    report.partitions[1]["segments"] = [empty] * 9
    tree = tree_of(report.to_html())
    rows = tree.findall(".//details[@class='segments']//tbody/tr")
    texts = [[cell.text for cell in one] for one in rows]
    assert len(rows) == 11
    assert texts[0] == [f"orders-0/{NAME}", "0", "1,234", "1,235", "99,999", "7", "2"]
    assert texts[1][:3] == [f"orders-0/{NAME}", "-", "-"]
    assert texts[2][0] == f"orders-1/{NAME}"
    assert [one.get("class") for one in rows].count("wrong") == 1
    assert "11 segments, 1 with findings" in words_of(report.to_html())


def test_page_shows_the_record_beside_the_message_and_marks_what_differs():
    sides = both_sides(KeyValue(b"k", b"order 13"), KeyValue(b"k", b"order <17>" + b"x" * 5000))
    found = Finding(FindingClass.ALTERED, "orders", 0, "why", sides=sides)
    cause = Cause(found.kind, found.place, is_certain=True)
    lost = both_sides(None, KeyValue(None, HOSTILE.encode(errors="surrogateescape")), HOSTILE)
    other = Finding(FindingClass.EXTRA, "orders", 0, "why", cause=cause, sides=lost)
    page = report_with(found, other).to_html()
    assert "<script" not in page
    first, second = tree_of(page).findall(".//table[@class='sides']")
    rows = [["".join(cell.itertext()) for cell in row] for row in first]
    assert [row[:2] for row in rows] == [["key", "both"], ["value", "source"], ["value", "message"]]
    assert rows[1][2] == "order 13"
    assert rows[2][2].startswith("order <17>xxx")
    assert rows[2][2].endswith("… (5,010 bytes)")
    marked = [mark.text for mark in first.findall(".//mark")]
    assert marked[0] == "13"
    assert marked[1].startswith("<17>x")
    assert second.find("./tr/td").text == "null"  # below the sample that it comes from
    assert HOSTILE[:20] in words_of(page)


# ---- in a browser


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("width", [1280, 500])
def test_page_fits_the_window_of_a_browser(browser, many, tmp_path, width):
    many.scope["log_dir"] = "/a/very/long/path" * 30
    path = tmp_path / "page.html"
    path.write_text(many.to_html())
    with Page(browser, path) as page:
        page.page.set_viewport_size({"width": width, "height": 900})
        assert page.overflow() <= 0
        assert page.page.locator(".partition").count() == 3


@pytest.mark.xdist_group("browser")
def test_page_policy_forbids_what_hostile_text_could_do(browser, many, tmp_path):
    path = tmp_path / "page.html"
    script = "<script>document.title = 'x'</script><img src='http://localhost:1/x.png'/>"
    path.write_text(many.to_html().replace("</main>", f"{script}</main>"))
    with Page(browser, path) as page:
        assert page.page.title() == "verify orders: findings"
        assert sum("Content Security Policy" in said for said in page.complaints) == 2
