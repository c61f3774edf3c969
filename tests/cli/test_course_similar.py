"""`kminilog course similar`: copies are found beyond names, strings and layout, nothing else."""

import ast
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.catalogue import Catalogue
from kminilog.course.material import RIGHT, all_labs, lab_of, sample_answers
from kminilog.course.teaching.similarity import CodePlace, Pair, clusters_of
from kminilog.course.teaching.starter import source_of
from kminilog.course.work_folder import WorkFolder
from tests.support.cli.command_line import Run, assert_one_line
from tests.support.trees import tree_of

LAB = lab_of(2)
OWN = next(each for each in sample_answers(LAB, RIGHT) if each.path.stem == "reopen_own_loop")


def similar(*words: str | Path) -> Run:
    result = CliRunner().invoke(main, ["course", "similar", *map(str, words)])
    return Run(result.exit_code, result.stdout, result.stderr)


def hand_in(tmp_path: Path, student: str, code: str, lab: int = LAB.number) -> None:
    """Write a student's answers below the starter, as most do."""
    folder = WorkFolder.start(lab_of(lab), tmp_path / "in" / student, student)
    folder.answers_path.write_text(folder.answers_path.read_text() + "\n\n" + code)


def pairs(tmp_path: Path) -> list[tuple[str, str, str]]:
    before = tree_of(tmp_path / "in")
    run = similar(tmp_path / "in", "--json")
    assert (run.code, tree_of(tmp_path / "in")) == (0, before)
    found = run.document["pairs"]
    return [(p["first"]["student"], p["second"]["student"], p["first"]["function"]) for p in found]


class Disguise(ast.NodeTransformer):
    """Other names, other strings; `ast.unparse` makes another layout, without comments."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"other_{node.id}", node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(f"other_{node.arg}")

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("other") if isinstance(node.value, str) else node


def disguised(code: str) -> str:
    return ast.unparse(Disguise().visit(ast.parse(code)))


def test_disguised_copy_is_a_pair_with_both_places(tmp_path):
    code = OWN.path.read_text()
    table = "EXPOSE = [\n" + "    (1, 2, 3),\n" * 50 + "]\n"  # of no function
    hand_in(tmp_path, "ada", code + table)
    hand_in(tmp_path, "bob", "\n" * 5 + disguised(code))
    (pair,) = similar(tmp_path / "in", "--json").document["pairs"]
    assert pair["lab"] == LAB.number
    assert pair["alike"] > 0.6
    for place, student in ((pair["first"], "ada"), (pair["second"], "bob")):
        assert (place["student"], place["file"]) == (student, f"{LAB.work_name}/answers.py")
        path = tmp_path / "in" / student / place["file"]
        lines = path.read_text().splitlines()[place["line"] - 1 : place["last_line"]]
        assert lines[0].startswith(f"def {place['function']}(")
        assert lines[-1].startswith("    ")  # nothing that follows the function
    title, _, row = similar(tmp_path / "in").out.splitlines()
    file = f"{LAB.work_name}/answers.py"
    assert title == f"lab {LAB.number}, ada ({file}) and bob ({file}): 1 function"
    lines = [f"{place['line']}-{place['last_line']}" for place in (pair["first"], pair["second"])]
    assert row.split()[1:] == [pair["first"]["function"], *lines]


def test_pairs_of_a_clique_stand_together_below_its_students(tmp_path):
    code = OWN.path.read_text()
    for student in ("bob", "eve", "ada"):
        hand_in(tmp_path, student, code)
    other = Path(next(iter(sample_answers(lab_of(4), RIGHT))).path).read_text()
    for student in ("bob", "zoe"):
        hand_in(tmp_path, student, other, lab=4)
    run = similar(tmp_path / "in", "--json")
    assert run.document["clusters"][0] == {
        "lab": LAB.number,
        "students": ["ada", "bob", "eve"],
        "alike": 3,
    }
    assert {(each["lab"], *each["students"]) for each in run.document["clusters"][1:]} <= {
        (4, "bob", "zoe")
    }
    assert (
        len({(p["first"]["student"], p["second"]["student"]) for p in run.document["pairs"]}) >= 3
    )
    titles = [line for line in similar(tmp_path / "in").out.splitlines() if "lab" in line]
    assert titles[0] == f"lab {LAB.number}, ada, bob, eve: 3 of 3 pairs are alike:"
    assert [title.count("answers.py") for title in titles[1:4]] == [2, 2, 2]


def test_cluster_that_is_no_clique_says_how_many_pairs_it_has():
    place = {name: CodePlace(name, "answers.py", "f", 1, 9) for name in "abcde"}
    of = [Pair(1, 1.0, place[one], place[other]) for one, other in ("ab", "de", "cb", "ac", "cd")]
    assert [(c.students, c.alike) for c in clusters_of(of[:3])] == [
        (["a", "b", "c"], 2),
        (["d", "e"], 1),
    ]
    assert [(c.students, c.alike) for c in clusters_of(of)] == [([*"abcde"], 5)]


def test_starter_readme_and_reference_are_no_copies(tmp_path):
    """Nor are the checks, which lie in each folder."""
    examples = Catalogue("en").readme(LAB).read_text().split("```python\n")[1:]
    code = [each.split("```")[0] for each in examples]
    code += [source_of(each) for each in LAB.exercises if each.kind == "implement"]
    code.append((LAB.folder / "checks.py").read_text())
    for student in ("ada", "bob"):
        hand_in(tmp_path, student, "\n\n".join(code))
    assert pairs(tmp_path) == []
    assert similar(tmp_path / "in").out == "No two functions of different students are alike.\n"


def test_answers_that_were_written_apart_are_no_pairs(tmp_path):
    """All right answers of the course to one exercise, each by another student."""
    for lab in all_labs():
        for number, each in enumerate(sample_answers(lab, RIGHT)):
            folder = WorkFolder(lab, tmp_path / "in" / f"{number}" / lab.work_name)
            folder.path.mkdir(parents=True)
            folder.answers_path.write_text(each.path.read_text())
    assert pairs(tmp_path) == []


def test_copy_is_found_in_a_zip_file_and_in_a_file_that_is_no_python(tmp_path):
    code = OWN.path.read_text()
    hand_in(tmp_path, "ada", code + "\n\ndef broken(:\n    '''")
    with zipfile.ZipFile(tmp_path / "in/bob.zip", "w") as archive:
        archive.writestr(f"{LAB.work_name}/answers.py", code)
    (tmp_path / "in/eve.zip").write_bytes(b"no zip")
    run = similar(tmp_path / "in")
    assert "eve: eve.zip: cannot be read as a zip file\n" in run.err
    assert pairs(tmp_path) == [("ada", "bob", "next_offset")]


@pytest.mark.parametrize("text", ["", "def", "def f(", "\0", "'''", "    x\n  y\n", "(" * 9999])
def test_file_that_is_no_python_has_no_pairs(tmp_path, text):
    for student in ("ada", "bob"):
        hand_in(tmp_path, student, "")
        (tmp_path / f"in/{student}/{LAB.work_name}/answers.py").write_text(text)
    assert pairs(tmp_path) == []


def test_own_work_twice_and_another_lab_are_no_pairs(tmp_path):
    hand_in(tmp_path, "ada", OWN.path.read_text() * 2)
    hand_in(tmp_path, "bob", OWN.path.read_text(), lab=1)
    assert pairs(tmp_path) == []


def test_place_that_is_no_directory_is_one_line(tmp_path):
    assert_one_line(similar(tmp_path / "none"), 2)
