"""Templates: whatever a value holds, and wherever a template puts it, it stays text."""

import ast
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateAssertionError, UndefinedError

import kminilog
from kminilog.pages import _environment, framed, render
from kminilog.text import printable
from tests.support.browser import Page

PACKAGE = Path(kminilog.__file__).parent
TEMPLATES = sorted((PACKAGE / "templates").glob("*.html"))
HOSTILE = "\"'><script>alert(1)</script>\x00\x1b[2J\x85\u2028\u202e\udcff\n&amp;"
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # half characters too


def made_of(template: str, **values: object) -> str:
    return _environment().from_string(template).render(values)


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_is_shown_as_text_without_tricks(name, value):
    page = render("facts.html", facts=[(name, value)])
    pair = ElementTree.fromstring(page)[0]
    assert ["".join(one.itertext()) for one in pair] == [printable(name), printable(value)]
    assert page == printable(page.rstrip("\n")) + "\n"


@pytest.mark.parametrize(
    "template",
    [
        "{{ bad }}",
        '<a title="{{ bad }}"></a>',
        "{{ bad ~ bad }}",
        "{{ [bad, bad]|join(' ') }}",
        "{{ bad|code }}",
        "{{ ('`' ~ bad ~ '`')|code }}",
        "{{ bad|words }}",
        "{% macro of(words) %}<b>{{ words }}</b>{% endmacro %}{{ of(bad) }}",
        "{% macro of(words) %}<b>{{ words }}</b>{% endmacro %}{{ of(bad) ~ bad }}",
        "{% set part %}<b>{{ bad }}</b>{% endset %}{{ part }}",
    ],
)
def test_hostile_text_is_text_wherever_a_template_puts_it(template):
    page = made_of(template, bad=HOSTILE)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search("[\x00\x1b\x85\u2028\u202e\udcff]", page)


def test_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError):
        made_of("{{ nothing }}")


def test_template_cannot_call_a_value_safe():
    with pytest.raises(TemplateAssertionError, match="safe"):
        made_of("{{ bad|safe }}", bad=HOSTILE)


def test_json_with_markup_is_refused_in_a_script():
    with pytest.raises(AssertionError):
        made_of("<script>{{ bad|script }}</script>", bad='"</script>"')


# Only in quotes is text kept in its attribute.
UNSAFE = re.compile(r"=\s*\{\{|autoescape|\bon[a-z]+=|javascript:")


def test_template_quotes_attributes_and_escapes_everything():
    unsafe = {path.name: UNSAFE.findall(path.read_text()) for path in TEMPLATES}
    assert unsafe
    assert {name: found for name, found in unsafe.items() if found} == {}


def test_frame_holds_the_page_and_nothing_reaches_out_of_it():
    page = f"<p>{render('facts.html', facts=[('a', HOSTILE)])}</p>\n"
    found = re.fullmatch(
        "<iframe srcdoc='([^']*)' sandbox='allow-scripts' [^<>]*></iframe>", framed(page)
    )
    assert found
    assert unescape(found[1]) == page


def test_question_in_markdown_opens_and_other_html_is_text():
    markdown = _environment().filters["markdown"]
    text = "<details><summary>Why `x`?</summary>\n\nSo.\n\n</details>\n\n"
    made = "<details><summary>Why <code>x</code>?</summary>\n<p>So.</p>\n</details>\n"
    assert markdown(text * 2) == made * 2
    assert "<script" not in markdown(text.replace("So.", "<script>1</script>"))
    assert "<details" not in markdown("<details open><summary>Why?</summary>")


def test_only_pages_loads_what_could_make_markup():
    users = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if {name.split(".")[0] for name in names} & {"jinja2", "markupsafe", "html"}:
                users.append(path.relative_to(PACKAGE).as_posix())
    assert set(users) == {
        "pages.py",
        "explain/script.py",
    }  # a script becomes text, which is escaped


@pytest.mark.xdist_group("browser")
def test_marks_keep_their_headings_in_a_narrow_window(browser, tmp_path):
    path = tmp_path / "marks.html"
    path.write_text(render("marks.html", rows=[("ada", 3, 5, ["late"])]))
    size = {"width": 390, "height": 844}
    with Page(browser, path, viewport=size) as page:
        assert page.text("table") == "student points of look at ada 3 5 late"
        after = "getComputedStyle(document.querySelector('td.number'), '::after').content"
        assert page.page.evaluate(after) == "none"
