"""The catalogues: the same sentences in each language, and one for all that is said."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

import kminilog
from kminilog.course import comparing
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue, _messages, languages
from kminilog.course.material import WRONG, all_labs, labs_folder, sample_answers

PACKAGE = Path(kminilog.__file__).parent
ENGLISH = _messages(DEFAULT_LANGUAGE)
OTHERS = [language for language in languages() if language != DEFAULT_LANGUAGE]
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def values_in(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("section", ["runner", "sentences"])
def test_translation_has_the_same_sentences_with_the_same_values(language, section):
    other = _messages(language)[section]
    assert other.keys() == ENGLISH[section].keys()
    for name, text in ENGLISH[section].items():
        assert values_in(other[name]) == values_in(text), name


@pytest.mark.parametrize("language", OTHERS)
def test_translation_has_the_same_reasons(language):
    reasons = _messages(language)["reasons"]
    assert reasons.keys() == ENGLISH["reasons"].keys()
    assert all(each.keys() == {"says", "breaks"} for each in reasons.values())


def codes_in(path: Path) -> set[str]:
    """Return the texts of a checks.py that look like codes."""
    nodes = ast.walk(ast.parse(path.read_text()))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)} - {"utf-8"}
    return {text for text in texts if isinstance(text, str) and CODE.fullmatch(text)}


def test_each_code_of_a_lab_has_a_reason_in_each_language():
    for lab in all_labs():
        codes = codes_in(lab.folder / "checks.py")
        codes |= {each.says for each in sample_answers(lab, WRONG)}
        assert codes, lab.folder
        for language in languages():
            assert codes - _messages(language)["reasons"].keys() == set(), (lab.folder, language)


def test_each_sentence_that_the_code_names_is_there():
    said = set()
    for path in [*(PACKAGE / "course").rglob("*.py"), *(PACKAGE / "cli" / "lab").glob("*.py")]:
        text = path.read_text()
        said |= set(
            re.findall(
                r"(?:CatalogueSentence|error_of|Forbidden)"
                r"""\(\s*(?:\w+, )?"([a-z-]+)\"""",
                text,
            )
        )
        assert not set(re.findall(r'\.say\(\s*"([a-z-]+)"', text)) - ENGLISH["runner"].keys()
    assert {"endless", "missing-answer", "prints-too-much"} <= said
    assert said - ENGLISH["sentences"].keys() == set()


def test_sentence_is_shortened_where_it_is_longest():
    values = {"call": "header(1)", "got": "x" * 200, "expected": "b''"}
    text = Catalogue("en").sentence("differs", values)
    assert len(text) == comparing.SENTENCE_CHARACTERS
    assert text.startswith("header(1) gave xxx")
    assert text.endswith("…, expected b''")


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize(
    "error",
    [
        "NameError: name 'BufferExhaustedError' is not defined",
        "AttributeError: 'StickyPartitionCache' object has no attribute 'partition_of_topic'",
        "TypeError: Default24.partition() got an unexpected keyword argument 'available'",
        "ImportError: cannot import name 'encode_entry' from 'kminilog.format.index_entry'",
    ],
)
def test_names_in_an_error_are_said_whole_before_the_call(error, language):
    whose = {
        "answer": "may_retry",
        "exercise": "7.7",
        "line": "120",
        "call": "may_retry(1, 3, Le…)",
    }
    text = Catalogue(language).sentence("raised-in", {**whose, "error": error})
    assert error in text
    assert "for may_retry" not in text


@pytest.mark.parametrize("language", languages())
def test_values_in_an_error_are_shortened_and_names_are_not(language):
    whose = {"answer": "f", "exercise": "7.7", "line": "9"}
    error = f"ValueError: {'value ' * 50!r} is not in partition_of_topic"
    text = Catalogue(language).sentence("raised", whose | {"error": error})
    assert "ValueError: 'value value" in text
    assert "…' is not in partition_of_topic" in text
    assert len(text) <= comparing.SENTENCE_CHARACTERS


@pytest.mark.parametrize("language", languages())
def test_whole_sentence_has_all_of_its_values(language):
    values = {"call": f"f({'1, ' * 50})", "got": "2" * 200, "expected": "[" + "3, " * 99}
    text = Catalogue(language).sentence("differs", values, is_whole=True)
    assert all(each in text for each in values.values())


def test_name_in_a_value_or_in_a_call_is_whole_or_left_out():
    cut = set()
    names = {"partition_of_topic", "relative_offset", "IndexEntry", "gave", "expected", "b"}
    for padding in range(60):
        call = f"partition_of_topic({'1' * padding}, relative_offset=3, partition_of_topic=4)"
        got = f"IndexEntry(relative_offset={'7' * padding}, partition_of_topic=8)"
        values = {"call": call, "got": got, "expected": got.replace("8", "9")}
        text = Catalogue("en").sentence("differs", values)
        cut |= set(re.findall(r"[A-Za-z_]\w*", text)) - names
    assert cut == set()


def test_call_is_shortened_before_the_text_of_the_error():
    whose = {"answer": "find_altered", "exercise": "10.6", "line": "96"}
    values = {"error": "ValueError: 5000 is no border of a block", "call": "find_altered(7, 20)"}
    said = Catalogue("en").sentence("raised-in", whose | values)
    assert said.endswith("raised ValueError: 5000 is no border of a block")
    values["error"] = "ValueError: no border"
    said = Catalogue("en").sentence("raised-in", whose | values)
    assert said.endswith("raised ValueError: no border, for find_altered(7, 20)")


def test_what_is_shortened_keeps_its_quotes_and_brackets():
    values = {"call": "f(1)", "got": repr("no buffer " * 20), "expected": repr([[1, 2]] * 20)}
    text = Catalogue("en").sentence("differs", values)
    got, expected = text.removeprefix("f(1) gave ").split(", expected ")
    assert got.endswith("…'")
    assert expected.endswith(("…]", "…]]"))
    assert len(text) <= comparing.SENTENCE_CHARACTERS


def test_what_a_translation_lacks_is_said_in_english(tmp_path, monkeypatch):
    messages = tmp_path / "messages"
    messages.mkdir()
    for name, text in (
        ("en", (labs_folder() / "messages/en.toml").read_text()),
        ("de", "[runner]\ntodo = 'offen'\n"),
    ):
        (messages / f"{name}.toml").write_text(text)
    monkeypatch.setenv("KMINILOG_LABS", str(tmp_path))
    german = Catalogue("de")
    assert german.say("todo") == "offen"
    assert german.say("extra") == "extra"
    assert german.reason("little-endian")[0].startswith("The bytes of a number")
    assert german.sentence("exits", {"answer": "f", "exercise": "1.1", "line": "3"}).startswith(
        "your f"
    )
