"""A report as JUnit XML: which cases pass, fail, are skipped, and that any text can stand in it."""

from xml.etree.ElementTree import Element, fromstring

from kminilog.verification.coverage import NO_SOURCE, Aspect, Unchecked
from kminilog.verification.findings import Finding, FindingClass, Tally
from kminilog.verification.junit_report import render_junit
from kminilog.verification.results import Results

ALL = [aspect for aspect in Aspect if aspect != Aspect.SOURCE]


def suite_of(results: Results) -> Element:
    (suite,) = fromstring(render_junit(results))
    return suite


def outcomes(suite: Element) -> dict[str, str]:
    return {
        case.get("name") or "": case[0].tag if len(case) else "passed"
        for case in suite.findall("testcase")
    }


def test_junit_has_a_case_for_each_class_and_skips_what_nobody_looked_for():
    scope = {"topics": ["orders"]}
    suite = suite_of(Results(scope, checked=ALL, unchecked=[NO_SOURCE], seconds=1.25))
    found = outcomes(suite)
    assert set(found) == {kind.value for kind in FindingClass}
    skipped = {name for name, outcome in found.items() if outcome == "skipped"}
    assert skipped == {"missing", "extra", "duplicate", "key-order"}
    assert {found[name] for name in found.keys() - skipped} == {"passed"}
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("25", "0", "4")
    assert (suite.get("name"), suite.get("time")) == ("orders", "1.250")
    case = suite.find("testcase[@name='missing']/skipped")
    assert case is not None
    assert case.get("message") == "source: none is named; give --against SOURCE"


def test_junit_failure_has_the_number_the_meaning_and_the_places():
    findings = [
        Finding(FindingClass.BAD_CRC, "orders", 0, "wrong", "0" * 20, offset=n, position=n)
        for n in range(25)
    ]
    sparse = Finding(FindingClass.INDEX_SPARSE, "orders", 0, "none")
    results = Results({"topics": ["orders"]}, tally=Tally([*findings, sparse]), checked=ALL)
    suite = suite_of(results)
    failure = suite.find("testcase[@name='bad-crc']/failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("25 bad-crc: The bytes of a message")
    lines = (failure.text or "").splitlines()
    assert lines[0] == "orders-0/00000000000000000000.log, offset 0, byte 0: wrong"
    assert "and 5 more" in lines
    warning = suite.find("testcase[@name='index-sparse']/failure")
    assert warning is not None
    assert warning.get("type") == "warning"
    assert suite.get("failures") == "2"


def test_junit_skips_allowed_classes_and_calls_what_was_asked_and_not_done_an_error():
    tally = Tally([Finding(FindingClass.OFFSET_GAP, "orders", 0, "gap")])
    unread = Unchecked(Aspect.MESSAGES, "orders-1", "Permission denied", asked=True)
    results = Results(
        {}, tally=tally, allowed=frozenset({FindingClass.OFFSET_GAP}), unchecked=[unread]
    )
    suite = suite_of(results)
    found = outcomes(suite)
    assert found["offset-gap"] == "skipped"
    assert found["not checked: messages"] == "error"
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")


def test_junit_can_hold_any_text():
    odd = "a\x00\x1b[2J\udcff<&>\"'\ufffe"
    tally = Tally([Finding(FindingClass.MISSING, "orders", 0, odd, source=odd)])
    suite = suite_of(Results({"topics": [odd]}, tally=tally, checked=[*Aspect]))
    failure = suite.find("testcase[@name='missing']/failure")
    assert failure is not None
    assert "a\\x00\\x1b[2J" in (failure.text or "")
