"""A report as JUnit XML, as a CI server shows it: one test case for each class of findings.

    passed     looked for, and not there
    failure    findings, with the places of samples and with what to do
    skipped    nobody has looked for it, and why; or findings that are allowed
    error      asked, but not checked: the verdict is partial

So a build shows which kind of fault is new and which is gone. A case for each partition would only
repeat where. Source: ours; the schema of Jenkins' xUnit plugin.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from kminilog.text import printable
from kminilog.verification.findings import FindingKind
from kminilog.verification.results import ClassFindings, Results
from kminilog.verification.text_report import report_lines

_SUITE = "kminilog verify"


def render_junit(results: Results) -> bytes:
    """Return the report as one document of XML, in UTF-8. O(samples)."""
    suites = Element("testsuites", name=_SUITE)
    name = ", ".join(results.scope.get("topics") or ()) or _SUITE
    suite = SubElement(suites, "testsuite", name=printable(name))
    found = {one.kind: one for one in results.found()}
    for kind in results.classes:
        _add_class(suite, name, kind, found.get(kind), results)
    for one in results.unchecked:
        if one.asked:
            case = _case(suite, name, f"not checked: {one.what}")
            _add(case, "error", "partial", printable(one.in_words()), "")
    SubElement(suite, "system-out").text = "\n".join(map(printable, report_lines(results)))
    for element in (suites, suite):
        element.set("tests", str(len(suite.findall("testcase"))))
        for outcome in ("failure", "error", "skipped"):
            plural = outcome if outcome == "skipped" else f"{outcome}s"
            element.set(plural, str(len(suite.findall(f"testcase/{outcome}"))))
        element.set("time", f"{results.seconds or 0:.3f}")
    indent(suites)
    head = b'<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + tostring(suites, "unicode").encode("utf-8", "backslashreplace") + b"\n"


def _add_class(
    suite: Element, name: str, kind: FindingKind, found: ClassFindings | None, results: Results
) -> None:
    case = _case(suite, name, kind.value)
    if found is None:
        if kind.aspect not in results.checked:
            whys = (one.in_words() for one in results.unchecked if one.what == kind.aspect)
            why = next(whys, f"{kind.aspect}: not checked")
            _add(case, "skipped", "unchecked", printable(why), "")
    elif found.is_allowed:
        _add(case, "skipped", "allowed", f"allowed: {found.total} {kind}", "")
    else:
        words = f"{found.total} {kind}: {kind.meaning}"
        text = "\n".join([*_places(found), kind.advice])
        _add(case, "failure", found.rank, words, text)


def _places(found: ClassFindings) -> Iterator[str]:
    for sample in found.samples:
        yield f"{printable(sample.place)}: {printable(sample.detail)}"
    if found.total > len(found.samples):
        yield f"and {found.total - len(found.samples)} more"


def _case(suite: Element, topics: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=printable(f"{_SUITE}.{topics}"), name=name)


def _add(case: Element, outcome: str, kind: str, message: str, text: str) -> None:
    SubElement(case, outcome, type=kind, message=message).text = text or None
