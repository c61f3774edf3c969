"""Each lab begins with something of its own subject that is made of the student's name."""

import re
import shutil

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course import material
from kminilog.course.catalogue import Catalogue, languages
from kminilog.course.material import all_labs, checks_of

NAMES = ("Ada", "Grace Hopper", "张伟", "", ".", "a/b\\n", "bob", "x" * 300)


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.folder.name)
def test_first_win_is_made_of_the_name_whatever_it_is(lab):
    first_win = checks_of(lab)["first_win"]
    shown = [first_win(name) for name in NAMES]
    assert all(shown)
    assert shown[0] != shown[1]
    assert shown == [first_win(name) for name in NAMES], "it is the same each time"


def test_start_shows_the_first_win_of_its_own_lab_in_both_languages(tmp_path):
    seen = set()
    for language in languages():
        for lab in all_labs():
            place = str(tmp_path / language)
            arguments = ["lab", "start", str(lab.number), "--dir", place, "--name", "Ada"]
            done = CliRunner().invoke(main, [*arguments, "--language", language])
            assert done.exit_code == 0, done.output
            assert "Ada" in done.output.splitlines()[2]
            made = checks_of(lab)["first_win"]("Ada")
            first = Catalogue(language).first_win(lab, "Ada", made)[2]
            assert language != "en" or first == made[0]
            assert f"  {first}\n" in done.output
            seen.add(done.output.splitlines()[2])
    assert len(seen) == 2 * len(all_labs())


def test_lab_without_a_first_win_starts_all_the_same(tmp_path, monkeypatch):
    for name in ("01_message", "messages"):
        shutil.copytree(material.labs_folder() / name, tmp_path / "labs" / name)
    checks = tmp_path / "labs" / "01_message" / "checks.py"
    checks.write_text(checks.read_text() + "\n\ndel first_win\n")
    monkeypatch.setattr(material, "_PACKAGE", tmp_path / "kminilog")
    material._labs_in.cache_clear()
    try:
        done = CliRunner().invoke(main, ["lab", "start", "1", "--dir", str(tmp_path / "here")])
    finally:
        material._labs_in.cache_clear()
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[2].startswith("Now go there: ")


@pytest.mark.parametrize(
    "lab", [each for each in all_labs() if each.number not in (9, 10)], ids=str
)
def test_first_win_in_chinese_has_no_english_words_but_terms_and_keeps_the_name(lab):
    lines = checks_of(lab)["first_win"]("Ada")
    sentence, _, *told = Catalogue("zh").first_win(lab, "Ada", lines)
    assert "Ada" in sentence
    assert len(told) == len(lines)
    left = set(re.findall(r"\b[a-z]{4,}\b", " ".join(told)))
    terms = {"offset", "size", "magic", "attributes", "length", "value", "relative", "position"}
    assert left <= terms | {"orders", "carol", "index", "murmur2", "to_positive", "leader"}
    of_a_word = Catalogue("zh").first_win(lab, "byte", ["byte  bytes"])[2:]
    assert of_a_word == ["byte  字节"]
