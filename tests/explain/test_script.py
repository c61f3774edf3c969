"""Scripts: what a lecturer writes is told, what does not fit is refused, and languages agree."""

import re
from pathlib import Path

import pytest
from jinja2 import nodes
from jinja2.meta import find_undeclared_variables

from kminilog.cli.step.command import SCENES, scene_command
from kminilog.course.catalogue import languages
from kminilog.explain import state_words
from kminilog.explain.document import (
    DEFAULT_LANGUAGE,
    Ask,
    Cost,
    Document,
    State,
    Step,
    Table,
)
from kminilog.explain.script import OWN_SCRIPTS, Script, _read, _template, language
from tests.support.cli.command_line import CommandLine, Run, assert_one_line

PACKAGE = Path(__file__).parents[2] / "kminilog"
ENGLISH = sorted(PACKAGE.rglob(f"scripts/{DEFAULT_LANGUAGE}/*.md"))
OTHERS = sorted({*languages()} - {DEFAULT_LANGUAGE})
TORN_TAIL = next(path for path in ENGLISH if path.stem == "torn_tail").read_text()
SCENARIO = Path("torn_tail.py")
CHINESE = re.compile("[\u4e00-\u9fff]")
SENTENCE = re.compile(r"[a-z]{2} (to|of|the|at|by|in|has|which|left|bytes|reads|returns|dies)\b")


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """The place of a script of one's own, of the step-through torn-tail."""
    path = tmp_path / "own" / DEFAULT_LANGUAGE / "torn_tail.md"
    path.parent.mkdir(parents=True)
    path.write_text(TORN_TAIL)
    monkeypatch.setenv(OWN_SCRIPTS, str(tmp_path / "own"))
    return path


def torn_tail(*arguments: str | Path) -> Run:
    return CommandLine(Path("unused"))("step", "torn-tail", *arguments)


def in_language(name: str, wanted: str) -> Document:
    token = language.set(wanted)
    try:
        return scene_command(name).document()
    finally:
        language.reset(token)


def told(
    monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, **facts: object
) -> tuple[str, Ask | None]:
    """Return what a script with one step says and asks about these facts."""
    path = folder / DEFAULT_LANGUAGE / "torn_tail.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# Title\n\n## A step\n{text}\n", encoding="utf-8")
    monkeypatch.setenv(OWN_SCRIPTS, str(folder))
    script = Script(str(SCENARIO), "name", ("A step",))
    script.tell("A step", **facts)
    (step,) = script.document().steps
    return step.say, step.ask


def answers_of(ask: Ask | None) -> list[str]:
    return [choice.answer for choice in ask.choices] if ask else []


THREE_ANSWERS = "+ b :: Right.\n- a :: Wrong.\n- c :: Wrong."


# ------------------------------------------------------------------------ what a lecturer writes


def test_a_script_of_ones_own_is_told_in_page_and_json(own, tmp_path):
    changed = TORN_TAIL.replace("The writer appends message", "My broker appends message")
    own.write_text(
        f"{changed}\n? Is anything lost?\n+ no :: N.\n- yes :: Y.\n- {{{{ 7 }}}} :: S.\n"
    )
    page = tmp_path / "torn-tail.html"
    run = torn_tail("--html", page, "--json")
    assert (run.code, run.err) == (0, "")
    steps = run.document["steps"]
    assert steps[1]["say"].startswith("My broker appends message 7, of 32 bytes")
    assert steps[-1]["ask"] == {
        "question": "Is anything lost?",
        "choices": [
            {"answer": "7", "is_right": False, "why": "S."},
            {"answer": "no", "is_right": True, "why": "N."},
            {"answer": "yes", "is_right": False, "why": "Y."},
        ],
    }
    assert "My broker appends message 7" in page.read_text()
    assert "Is anything lost?" in page.read_text()


def test_a_script_may_be_edited_with_any_editor(own):
    own.write_bytes(b"\xef\xbb\xbf" + TORN_TAIL.replace("\n", "\r\n").encode())
    assert torn_tail("--json").document["steps"][0]["say"].startswith("The log holds offsets 0 to")


@pytest.mark.parametrize(
    "fact",
    [
        "",
        "two  blanks",
        "{{ 1 }}",
        "\n\n## A step\n+ b :: w",
        " :: ",
        "\0" + "30\0",
        "中 文",
        "\ud800",
    ],
)
def test_a_fact_stays_as_it_is(tmp_path, monkeypatch, fact):
    asks = "? Q {{ fact }}?\n+ b{{ fact }} :: {{ fact }}W.\n- a :: {{ fact }}\n- c :: d"
    say, ask = told(monkeypatch, tmp_path, f"A {{{{ fact }}}} b.\n\n{asks}", fact=fact)
    assert say == f"A {fact} b."
    assert ask
    assert ask.question == f"Q {fact}?"
    assert [choice for choice in ask.choices if choice.is_right] == [
        (f"b{fact}", True, f"{fact}W.")
    ]
    assert ("a", False, fact) in ask.choices


def test_what_its_if_leaves_empty_is_left_out(tmp_path, monkeypatch):
    text = "{% if fact %}One.{% endif %}\n\nTwo.\n\n"
    text += "{% if fact %}? First?{% endif %}\n+ x :: X.\n? Q?\n"
    answers = f"{THREE_ANSWERS}\n{{% if fact %}}- d :: Wrong,\n too.{{% endif %}}"
    say, ask = told(monkeypatch, tmp_path, text + answers, fact=False)
    assert (say, ask and ask.question) == ("Two.", "Q?")
    assert answers_of(ask) == ["a", "b", "c"]
    three = text.replace("+ x :: X.", "+ x :: X.\n- y :: Y.\n- z :: Z.") + answers
    say, ask = told(monkeypatch, tmp_path, three, fact=True)
    assert (say, ask and ask.question) == ("One. Two.", "First?")
    assert answers_of(ask) == ["x", "y", "z"]


def test_a_question_with_two_answers_is_not_asked(tmp_path, monkeypatch):
    assert told(monkeypatch, tmp_path, "Say.\n? Q?\n+ a :: A.\n- b :: B.\n- b :: C.") == (
        "Say.",
        None,
    )


def test_chinese_lines_are_joined_without_blanks(tmp_path, monkeypatch):
    text = "日志\n保存着 offset\n{{ n }}，\n即最后\n一条。\n\n消息\n{{ n }} 也在。"
    said, _ = told(monkeypatch, tmp_path, text, n=3)
    assert said == "日志保存着 offset 3，即最后一条。消息 3 也在。"


# ------------------------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("{{ cut_bytes }} of", "{{ cut }} of", 9, "'cut' is undefined; the facts are cut_bytes, f"),
        ("{{ cut_bytes }} of", "{{ cut_bytes of", 9, "expected token 'end of print statement'"),
        (
            "{{ cut_bytes }} of",
            "{{ cut_bytes } of",
            9,
            "unexpected '}'; write a fact as {{ name }}",
        ),
        ("{{ cut_bytes }} of", "{{ 1 / 0 }} of", 9, "division by zero"),
        ("| offsets", "| offset", 4, "No filter named 'offset'."),
        (
            "+ {{ first }}.log",
            "- {{ first }}.log",
            18,
            "0 right answers to this question; give one",
        ),
        ("- only the last", "+ only the last", 18, "2 right answers to this question; give one"),
        (" :: The index is sparse", " The index is sparse", 23, "an answer without its why"),
        ("## The crash", "## A crash", 8, 'nothing tells a step "## A crash"; there are The'),
        ("## The cut", "##The cut", 1, 'no step "## The cut"; write one'),
        ("## The crash", "## More\n## The crash", 8, 'nothing tells a step "## More"; there are'),
        ("## The crash", "## The cut\n## The crash", 67, 'a second step "## The cut"'),
        ("# What", "What", 1, "no title; begin with # and a title"),
        ("## The log before the crash", "", 4, "text before the first step; write ## and"),
        (TORN_TAIL, "", 1, "no title; begin with # and a title"),
    ],
)
def test_a_script_that_does_not_fit_is_refused_in_one_line(own, old, new, line, reason):
    own.write_text(TORN_TAIL.replace(old, new, 1))
    assert_one_line(torn_tail(), 2, f"{own}, line {line}: {reason}")


def test_a_folder_of_ones_own_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv(OWN_SCRIPTS, "not/there")
    assert_one_line(torn_tail(), 2, "not/there: not a folder; KMINILOG_SCRIPTS names one")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("en/torn-tail.md", "no step-through has this script; its name is torn_tail.md"),
        ("en/torn.md", "no step-through has this script; its name is acks, append_roll, "),
        ("zh/torn-tail.md", "no step-through has this script; its name is torn_tail.md"),
        ("torn_tail.md", "not in the folder of a language; move it to {own}/en/torn_tail.md"),
        ("EN/torn_tail.md", "not in the folder of a language; move it to {own}/en/torn_tail.md"),
    ],
)
def test_a_script_that_nothing_reads_is_refused_with_the_place_that_is_read(own, place, told):
    folder = own.parents[1]
    own.unlink()
    path = folder / place
    path.parent.mkdir(exist_ok=True)
    path.write_text(TORN_TAIL)
    assert_one_line(torn_tail(), 2, f"{path}: {told.format(own=folder)}")


def test_other_files_beside_scripts_of_ones_own_are_left_alone(own):
    for place in ("README.md", "drafts/torn.md"):
        path = own.parents[1] / place
        path.parent.mkdir(exist_ok=True)
        path.write_text("Mine.")
    assert torn_tail().code == 0


def test_a_question_with_one_wrong_answer_is_refused(own):
    asked = "? Whose?\n+ mine :: So it is.\n- yours :: No.\n\n## The crash"
    own.write_text(TORN_TAIL.replace("## The crash", asked, 1))
    assert_one_line(torn_tail(), 2, f"{own}, line 8: 2 answers to this question; give 3 or more")


def test_a_script_that_is_not_utf_8_is_refused_in_one_line(own):
    own.write_bytes(TORN_TAIL.encode("utf-16"))
    assert_one_line(torn_tail(), 2, f"{own}, line 1: not UTF-8; save it as UTF-8")


# ---------------------------------------------------------------------------------- the languages


def test_the_language_is_that_of_the_option_or_else_of_the_environment(monkeypatch):
    english, chinese = torn_tail().out, torn_tail("--language", "zh").out
    assert english.startswith("What recovery does")
    assert re.match("[\u4e00-\u9fff]", chinese)
    monkeypatch.setenv("KMINILOG_LANGUAGE", "zh")
    assert torn_tail().out == chinese
    assert torn_tail("--language", "en").out == english
    monkeypatch.delenv("KMINILOG_LANGUAGE")
    assert torn_tail().out == english


def test_a_page_names_its_language(tmp_path):
    for wanted in ("en", "zh"):
        page = tmp_path / f"{wanted}.html"
        assert torn_tail("--html", page, "--language", wanted).err == ""
        assert f'<html lang="{wanted}">' in page.read_text()


def test_what_stands_beside_is_told_in_the_same_language(tmp_path):
    page = tmp_path / "both.html"
    run = torn_tail("--html", page, "--language", "zh", "--beside", "torn-tail --cut 2")
    assert (run.code, run.err) == (0, "")
    assert "What recovery does" not in page.read_text()
    run = torn_tail("--html", page, "--beside", "torn-tail --language zh")
    assert_one_line(run, 2, "--language is an option of the whole command: not here")


def test_a_language_without_a_script_is_told_in_english(monkeypatch, tmp_path):
    english = torn_tail().out
    monkeypatch.setattr("kminilog.cli.lab.options.languages", lambda: ["en", "fr"])
    run = torn_tail("--language", "fr")
    assert (run.code, run.out) == (0, english)
    assert run.err == "kminilog: no script in fr, so told in English: torn-tail\n"
    run = CommandLine(tmp_path)("step", "--all", "--html", tmp_path / "all", "--language", "fr")
    assert run.err == f"kminilog: no script in fr, so told in English: {', '.join(SCENES)}\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("torn-tail --language fr", "'fr' is not one of 'en', 'zh'"),
        ("--language zh torn-tail", "--language stands after the name, or with --all"),
    ],
)
def test_a_language_that_cannot_be_used_is_refused(words, reason):
    assert_one_line(CommandLine(Path("unused"))("step", *words.split()), 2, reason)


def facts_of(text: str) -> set[str]:
    """Return the facts that a text uses, and what of them."""
    environment = _template("").environment
    tree = environment.parse(text)
    parts = [node for node in tree.find_all(nodes.Getattr) if isinstance(node.node, nodes.Name)]
    found = find_undeclared_variables(tree) | {f"{each.node.name}.{each.attr}" for each in parts}
    return {one for one in found - environment.globals.keys() if not one.startswith("loop.")}


def shape_of(path: Path) -> dict[str, object]:
    """Return what two translations share: steps, signs of questions and answers, and facts."""
    title, steps = _read(path)
    shape: dict[str, object] = {"": facts_of(title.text)}
    for step, (_, *parts) in steps.items():
        signs = [part.sign for part in parts if part.sign]
        shape[step] = (signs, facts_of("\n".join(part.text for part in parts)))
    return shape


def in_other_language(path: Path, other: str) -> Path:
    return path.parents[1] / other / path.name


@pytest.mark.parametrize("other", OTHERS)
def test_each_script_is_translated(other):
    lacking = {path.stem for path in ENGLISH if not in_other_language(path, other).is_file()}
    assert lacking == set()
    stray = [
        path
        for path in PACKAGE.rglob(f"scripts/{other}/*.md")
        if in_other_language(path, DEFAULT_LANGUAGE) not in ENGLISH
    ]
    assert stray == []


@pytest.mark.parametrize("other", OTHERS)
def test_a_translation_has_the_same_steps_questions_answers_and_facts(other):
    differs = []
    for path in ENGLISH:
        if (translated := in_other_language(path, other)).is_file():
            english, ours = shape_of(path), shape_of(translated)
            assert list(ours) == list(english), translated
            differs += [
                (path.stem, step, english[step], ours[step])
                for step in english
                if ours[step] != english[step]
            ]
    assert differs == []


def but_for_words(document: Document, language: str) -> list[object]:
    """Return all of a document but what it says and asks; of answers, how many are right.

    Tables and pictures have the words of a language.
    """
    document = state_words.in_language(document._replace(language=language))
    shape: list[object] = [document.name, document.files, document.fields]
    for step in document.steps:
        choices = [choice.is_right for choice in step.ask.choices] if step.ask else []
        shape.append((sorted(choices), step.focus, step.state, step.cost))
    return shape


@pytest.mark.parametrize("other", OTHERS)
def test_a_translation_shows_the_same_state_and_asks_at_the_same_steps(other):
    differs = [
        name
        for name in SCENES
        if but_for_words(in_language(name, other), other)
        != but_for_words(in_language(name, "en"), other)
    ]
    assert differs == []


@pytest.mark.parametrize("name", SCENES)
def test_titles_and_sentences_of_tables_and_pictures_are_translated(name):
    """What stays in English is names: of fields, files, settings, Kafka's words."""
    english = []
    for step in in_language(name, "zh").steps:
        tables, picture = step.state.tables, step.state.picture
        titles = [table.title for table in tables] + [picture.title] * (picture is not None)
        english += [text for text in titles if text not in ("orders", "views")]
        words = [cell for table in tables for row in table.rows for cell in row]
        words += [column for table in tables for column in table.columns]
        for lane in picture.lanes if picture else ():
            words += [lane.name, lane.note, *(bar.label for bar in lane.bars)]
        english += [word for word in words if isinstance(word, str) and SENTENCE.search(word)]
    assert [text for text in english if not CHINESE.search(text)] == []


def test_words_of_tables_leave_other_texts_alone():
    table = Table("Names", ("name", "a name"), (("name", "lost"), ("stored at 1", 7)))
    state = State({}, {}, (table,), None)
    document = Document("acks", "x", (), (), (Step("x", None, (), state, Cost()),), language="zh")
    (step,) = state_words.in_language(document._replace(name="sticky")).steps
    assert step.state.tables[0].rows == table.rows  # which may be keys of a user
    (step,) = state_words.in_language(document).steps
    (found,) = step.state.tables
    assert found == ("名称", ("名称", "a name"), (("name", "丢失"), ("已存储在 1", 7)), ())


def test_a_translation_that_lacks_a_fact_or_an_answer_differs(tmp_path):
    path = tmp_path / "script.md"
    path.write_text("# T\n## A\nAt {{ file.end }}.\n? Q?\n+ {{ n }} :: W.\n")
    english = shape_of(path)
    for old, new in (("file.end", "file"), ("{{ n }}", "3"), ("+", "-"), ("## A", "## B")):
        path.write_text("# T\n## A\n在 {{ file.end }}。\n? 问？\n+ {{ n }} :: W.\n")
        assert shape_of(path) == english
        path.write_text(path.read_text().replace(old, new))
        assert shape_of(path) != english
