"""What students have handed in: folders and zip files, under the names that platforms give them."""

import shutil
import struct
import zipfile
from pathlib import Path
from unicodedata import normalize

import pytest

from kminilog.course.material import lab_of
from kminilog.course.teaching.roster import Roster, roster_from_csv
from kminilog.course.teaching.submissions import FILES, Submissions, submissions_in
from kminilog.course.work_folder import WorkFolder
from tests.support.trees import tree_of

OF_MOODLE = "Ada Lovelace_123_assignsubmission_file_"


def read(tmp_path: Path, roster: Roster | None = None) -> Submissions:
    """Return what is handed in; what comes out of zip files stays where it belongs."""
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    before = tree_of(tmp_path / "in")
    found = submissions_in(tmp_path / "in", unpacked, roster)
    assert tree_of(tmp_path / "in") == before
    assert {path.name for path in tmp_path.iterdir()} <= {"in", "unpacked", "work", "other"}
    return found


def labs(found: Submissions) -> list[tuple[str, int]]:
    return [(each.student, each.lab.number) for each in found.handed_in]


def start(directory: Path, *numbers: int, name: str = "ada") -> Path:
    """Begin labs as a student does; return the directory."""
    for number in numbers:
        WorkFolder.start(lab_of(number), directory, name)
    return directory


def packed(archive: Path, directory: Path) -> None:
    """Pack all files of a directory, as the playground does."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(directory.rglob("*")):
            file.write(path, path.relative_to(directory))


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace.zip",
        "Ada Lovelace/home.ZIP",
        "Ada Lovelace/work/home.zip",
        f"{OF_MOODLE}/home.zip",
        f"{OF_MOODLE}home.zip",
        "Ada Lovelace_assignsubmission_file_/home.zip",
    ],
)
def test_zip_file_is_taken_as_a_folder_of_its_student(tmp_path, name):
    packed(tmp_path / "in" / name, start(tmp_path / "work", 1, 2))
    found = read(tmp_path)
    assert labs(found) == [("Ada Lovelace", 1), ("Ada Lovelace", 2)]
    assert (found.students, found.notices) == ({"Ada Lovelace": ""}, [])
    assert set(found.handed_in[0].files()) == set(FILES)
    assert {path.name for path in (tmp_path / "unpacked").rglob("*.*")} == set(FILES)  # no others


def test_zip_file_and_folder_of_the_same_work_have_the_same_digest(tmp_path):
    start(tmp_path / "in" / "ada", 1)
    packed(tmp_path / "in" / "bob.zip", tmp_path / "in" / "ada")
    first, second = read(tmp_path).handed_in
    assert first.digest() == second.digest()


def test_zip_file_of_the_lab_alone_needs_no_progress_file(tmp_path):
    start(tmp_path / "work", 1)
    (tmp_path / "work/01_message/progress.json").unlink()
    packed(tmp_path / "in/ada/01_message.zip", tmp_path / "work/01_message")
    assert labs(read(tmp_path)) == [("ada", 1)]


def bomb(archive: zipfile.ZipFile) -> None:
    archive.writestr("01_message/answers.py", bytes(50_000_000))


def bomb_of_another_kind(archive: zipfile.ZipFile) -> None:
    archive.writestr("01_message/answers.py", bytes(50_000_000), zipfile.ZIP_BZIP2)


def outside(archive: zipfile.ZipFile) -> None:
    archive.writestr("../../answers.py", "")


def absolute(archive: zipfile.ZipFile) -> None:
    archive.writestr("/answers.py", "")


def drive(archive: zipfile.ZipFile) -> None:
    archive.writestr("C:\\answers.py", "")


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("01_message/answers.py")
    info.external_attr = 0o120777 << 16
    archive.writestr(info, "/etc/passwd")


def file_as_folder(archive: zipfile.ZipFile) -> None:
    archive.writestr("answers.py", "")
    archive.writestr("answers.py/answers.py", "")


def long_name(archive: zipfile.ZipFile) -> None:
    archive.writestr("x" * 5000 + "/answers.py", "")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (bomb, "01_message/answers.py is larger than 1048576 bytes"),
        (bomb_of_another_kind, "01_message/answers.py has a compression that kminilog cannot read"),
        (outside, "../../answers.py leads out of its folder"),
        (absolute, "/answers.py leads out of its folder"),
        (drive, "answers.py leads out of its folder"),
        (link, "01_message/answers.py is a link"),
        (file_as_folder, "cannot be unpacked: File exists"),
        (long_name, "cannot be unpacked: File name too long"),
    ],
)
def test_hostile_zip_file_is_a_fault_that_says_what_it_tried(tmp_path, make, says):
    start(tmp_path / "in/ada", 2)
    with zipfile.ZipFile(tmp_path / "in/ada/home.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        make(archive)
    found = read(tmp_path)
    assert found.students["ada"].startswith("home.zip: ")
    assert says in found.students["ada"]
    assert labs(found) == [("ada", 2)]  # what is beside it counts


@pytest.mark.parametrize("kind", ["none", "cut off", "encrypted", "changed", "large"])
def test_zip_file_that_cannot_be_read_is_a_fault(tmp_path, kind):
    archive = tmp_path / "in/ada.zip"
    packed(archive, start(tmp_path / "work", 1))
    data = bytearray(archive.read_bytes())
    if kind == "none":
        data = bytearray(b"no zip")
    elif kind == "cut off":
        del data[len(data) // 2 :]
    elif kind == "large":
        data[:0] = bytes(17 << 20)
    else:
        at = 0
        while (at := data.find(b"PK\x01\x02", at) + 1) > 0:  # each entry of the central directory
            if kind == "encrypted":
                data[at + 7] |= 1
            else:
                struct.pack_into("<I", data, at + 15, 0)  # the checksum
    archive.write_bytes(data)
    found = read(tmp_path)
    assert found.students["ada"].startswith("ada.zip: ")
    assert found.students["ada"].endswith(
        "larger than 16777216 bytes" if kind == "large" else "cannot be read as a zip file"
    )
    assert labs(found) == []


def test_folders_of_moodle_belong_to_the_students_of_the_roster(tmp_path):
    ada, zoe = OF_MOODLE, normalize("NFD", "Zoë Quinn") + "_77_assignsubmission_file_"
    for name, number in ((ada, 1), (ada.replace("123", "900"), 2), (zoe, 1)):
        start(tmp_path / "in" / name, number)
    (tmp_path / "in/Bob_5_assignsubmission_file_answers.py").write_text("")
    found = read(tmp_path, roster_from_csv("r", "student\nAda Lovelace\nZoë Quinn\nBob".encode()))
    assert labs(found) == [("Ada Lovelace", 1), ("Ada Lovelace", 2), ("Zoë Quinn", 1)]
    assert "Bob" in found.students  # who has handed in no folder


def test_namesakes_are_told_apart_by_the_number(tmp_path):
    for number in (1, 2):
        start(tmp_path / f"in/Ada_{number}_assignsubmission_file_", 1)
    found = read(tmp_path)
    assert labs(found) == [("Ada", 1), ("Ada_2", 1)]
    assert "write the number into the column id" in found.notices[0]
    (tmp_path / "unpacked").rmdir()
    found = read(tmp_path, roster_from_csv("r", b"student,id\nAda B,1\nAda C,Participant 2\n"))
    assert (labs(found), found.notices) == ([("Ada B", 1), ("Ada C", 1)], [])


@pytest.mark.parametrize("before", ["", "Participant "])
def test_namesakes_of_the_roster_are_told_apart_by_their_id(tmp_path, before):
    for number in (11, 12):
        start(tmp_path / f"in/Jan Novak_{number}_assignsubmission_file_", 1)
    rows = [f"Jan Novak,{lab},{before}{id}" for id in (11, 12) for lab in (1, 2)]
    course = roster_from_csv("r", "\n".join(["student,lab,id", *rows]).encode())
    found = read(tmp_path, course)
    assert labs(found) == [("Jan Novak_11", 1), ("Jan Novak_12", 1)]
    assert found.notices == []
    assert [*found.students] == course.students
    assert course.identity("Jan Novak_12") == (f"{before}12", "")


def test_folder_of_a_group_belongs_to_one_of_its_members(tmp_path):
    for number in (1, 2):
        start(tmp_path / "in/Team Red_9_assignsubmission_file_", number)
    text = "student,lab,group\nada,1,Team Red\nbob,1,Team Red\neve,2,Team Red\nbob,2,Team Red\n"
    found = read(tmp_path, roster_from_csv("r", text.encode()))
    assert labs(found) == [("ada", 1), ("bob", 2)]
    assert set(found.students) == {"ada", "bob", "eve"}


OF_NO_LAB = "its folder has the name of no lab, such as 01_message"


@pytest.mark.parametrize("inside", ["", "home/", "home.zip/", "01_message.zip/"])
@pytest.mark.parametrize(
    "stray", [["answers.py"], ["progress.json"], ["answers.py", "progress.json"]]
)
def test_file_beside_the_folder_of_a_lab_is_left_out_and_the_folder_counts(tmp_path, inside, stray):
    work = start(tmp_path / "work", 1)
    for name in stray:
        shutil.copy(work / "01_message" / name, work / name)
    ada = tmp_path / "in/ada"
    if inside.endswith(".zip/"):
        packed(ada / inside.rstrip("/"), work)
    else:
        shutil.copytree(work, ada / inside)
    found = read(tmp_path)
    (one,) = found.handed_in
    assert (one.lab.number, one.where) == (1, f"ada/{inside}01_message")
    assert set(one.files()) == set(FILES)
    (notice,) = found.notices
    at = f"ada/{inside}".rstrip("/")
    if stray == ["answers.py"] and inside != "01_message.zip/":
        why = OF_NO_LAB if inside == "home/" else "a file without its folder"
        assert notice == f"{at}/answers.py: {why}; it is left out"
    else:
        assert f"lab 1 twice; ada/{inside}01_message counts, and {at}" in notice


def test_folder_with_the_name_of_no_lab_is_told_apart_from_none(tmp_path):
    for place in ("ada/lab1", "bob"):
        (tmp_path / "in" / place).mkdir(parents=True)
        (tmp_path / "in" / place / "answers.py").write_text("")
    assert read(tmp_path).notices == [
        f"ada/lab1/answers.py: {OF_NO_LAB}; it is left out",
        "bob/answers.py: a file without its folder; it is left out",
    ]


@pytest.mark.parametrize("below", ["01_message.zip", "kminilog-home.zip", "home/01_message.zip"])
def test_file_beside_a_zip_file_is_left_out_and_the_zip_file_counts(tmp_path, below):
    packed(tmp_path / "in/ada" / below, start(tmp_path / "work", 1, 2))
    (tmp_path / "in/ada/answers.py").write_text("")
    found = read(tmp_path)
    assert labs(found) == [("ada", 1), ("ada", 2)]
    assert found.notices == ["ada/answers.py: a file without its folder; it is left out"]


def test_copies_within_a_work_folder_are_no_other_hand_in(tmp_path):
    """Be it named as a lab, or be it the folder of the student itself."""
    for place in ("ada/01_message", "bob"):
        start(tmp_path / "work" / place, 1)
        shutil.copytree(tmp_path / "work" / place / "01_message", tmp_path / "in" / place)
        shutil.copytree(tmp_path / "in" / place, tmp_path / "in" / place / "old")
    found = read(tmp_path)
    assert [each.where for each in found.handed_in] == ["ada/01_message", "bob"]
    assert found.notices == ["bob: lab 1 twice; bob counts, and bob/old is left out"]


def test_folder_of_a_group_is_that_of_a_member_who_has_no_other(tmp_path):
    for name in ("grp", "xi"):
        start(tmp_path / "in" / name, 1)
    packed(tmp_path / "in/grp.zip", tmp_path / "in/grp")
    text = "student,group\nxi,grp\nxu,grp\nyo,grp\n"
    found = read(tmp_path, roster_from_csv("r", text.encode()))
    assert [(each.student, each.where) for each in found.handed_in] == [
        ("xi", "xi/01_message"),
        ("xu", "grp/01_message"),
    ]
    assert found.of_groups == {("grp", 1): "xu"}
    (notice,) = found.notices
    assert notice == "xu: lab 1 twice; grp/01_message counts, and grp.zip/01_message is left out"


def test_folder_of_a_group_whose_members_all_have_another_is_left_out(tmp_path):
    for name in ("Red_9_assignsubmission_file_", "xi"):
        start(tmp_path / "in" / name, 1)
    found = read(tmp_path, roster_from_csv("r", b"student,group\nxi,Red\n"))
    assert [(each.student, each.where) for each in found.handed_in] == [("xi", "xi/01_message")]
    assert found.notices == [
        "xi: lab 1 twice; xi/01_message counts, "
        "and Red_9_assignsubmission_file_/01_message is left out"
    ]


@pytest.mark.parametrize("place", ["a/b", "home/a/b/c/d", "a/b/c.zip"])
def test_folder_of_a_lab_is_found_deep_below_that_of_the_student(tmp_path, place):
    work = start(tmp_path / "work", 1)
    if place.endswith(".zip"):
        packed(tmp_path / "in/ada" / place, work)
    else:
        shutil.copytree(work, tmp_path / "in/ada" / place)
    found = read(tmp_path)
    assert (labs(found), found.notices) == ([("ada", 1)], [])


def test_folder_too_deep_to_be_looked_for_is_named(tmp_path):
    start(tmp_path / "in/ada/1/2/3/4/5/6/7/8/9", 1)
    found = read(tmp_path)
    assert labs(found) == []
    assert found.notices == [
        "ada: it has no folder of a lab, but 1/2/3/4/5/6/7/8/9 (too deep to look there)"
    ]


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    "case", [str.upper, str.capitalize, lambda name: name.replace(".py", ".PY")]
)
def test_names_of_files_count_in_any_case(tmp_path, case, is_packed):
    start(tmp_path / "work", 1)
    for name in FILES:
        path = tmp_path / "work/01_message" / name
        path.rename(path.with_name(case(name)))
    (tmp_path / "work/01_message").rename(tmp_path / "work/mine")
    if is_packed:
        packed(tmp_path / "in/ada.zip", tmp_path / "work")
    else:
        shutil.copytree(tmp_path / "work", tmp_path / "in/ada")
    found = read(tmp_path)
    assert (labs(found), found.notices) == ([("ada", 1)], [])
    assert set(found.handed_in[0].files()) == set(FILES)


@pytest.mark.parametrize("is_packed", [False, True])
def test_of_two_names_in_another_case_the_exact_one_counts_and_the_other_is_named(
    tmp_path, is_packed
):
    work = start(tmp_path / "work", 1) / "01_message"
    (work / "ANSWERS.py").write_text("other")
    if is_packed:
        packed(tmp_path / "in/ada.zip", tmp_path / "work")
    else:
        shutil.copytree(tmp_path / "work", tmp_path / "in/ada")
    found = read(tmp_path)
    assert found.handed_in[0].files()["answers.py"] == (work / "answers.py").read_bytes()
    (notice,) = found.notices
    assert notice.startswith("ada")
    assert "left out, because it is no answers.py: " in notice
    assert notice.endswith("01_message/ANSWERS.py")


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("01_message/Lab_1.PY", "left out, because it is no answers.py: 01_message/Lab_1.PY"),
        ("02_segment/Lab_2.PY", "left out, because it is no answers.py: 02_segment/Lab_2.PY"),
        ("answers.py.txt", "left out, because it is no answers.py: answers.py.txt"),
        ("01_message/files/notes.txt", ""),
        ("notes.txt", ""),
        (".cache/x.py", ""),
        ("__MACOSX/01_message/._answers.py", ""),
    ],
)
def test_code_beside_the_answers_is_named_and_nothing_else(tmp_path, path, says, is_packed):
    stray = start(tmp_path / "work", 1) / path
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("")
    if is_packed:
        packed(tmp_path / "in/ada.zip", tmp_path / "work")
    else:
        shutil.copytree(tmp_path / "work", tmp_path / "in/ada")
    found = read(tmp_path)
    assert labs(found) == [("ada", 1)]
    at = "ada.zip" if is_packed else "ada"
    assert [notice.replace(f"{at}/", "") for notice in found.notices] == (
        [f"{at}: {says}"] if says else []
    )


@pytest.mark.parametrize("is_packed", [False, True])
def test_hand_in_without_a_folder_of_a_lab_says_what_it_has(tmp_path, is_packed):
    names = ("Lab_1.PY", "a.pdf", "b.txt", "c.txt")
    for name in names:
        (tmp_path / "work/mine").mkdir(parents=True, exist_ok=True)
        (tmp_path / "work/mine" / name).write_text("")
    if is_packed:
        packed(tmp_path / "in/ada.zip", tmp_path / "work")
    else:
        shutil.copytree(tmp_path / "work", tmp_path / "in/ada")
    found = read(tmp_path)
    (notice,) = found.notices
    assert "it has no folder of a lab, but" in notice
    assert notice.endswith("and 1 more")
    assert "mine/Lab_1.PY, " in notice


def test_link_to_the_folder_of_a_lab_is_named(tmp_path):
    (tmp_path / "in/ada").mkdir(parents=True)
    (tmp_path / "in/ada/01_message").symlink_to(start(tmp_path / "work", 1) / "01_message")
    assert read(tmp_path).notices == ["ada: it has no folder of a lab, but 01_message (a link)"]


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace.rar",
        "Ada Lovelace.tar.gz",
        "Ada Lovelace/home.7z",
        "Ada Lovelace/work/home.TAR",
        f"{OF_MOODLE}home.rar",
        f"{OF_MOODLE}/home.tgz",
    ],
)
def test_archive_that_is_not_opened_is_a_fault_of_its_student(tmp_path, name):
    archive = tmp_path / "in" / name
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"")
    found = read(tmp_path)
    assert labs(found) == []
    (fault,) = found.students.values()
    assert [*found.students] == ["Ada Lovelace"]
    assert fault.endswith(
        ": this archive is not opened; hand in the folder of the lab, or a zip of it"
    )
    assert Path(name).suffix in fault


def test_archive_in_a_zip_file_is_a_fault(tmp_path):
    packed(tmp_path / "work/home.zip", start(tmp_path / "other", 1))
    packed(tmp_path / "in/ada.zip", tmp_path / "work")
    found = read(tmp_path)
    assert found.students["ada"].startswith("ada.zip/home.zip: this archive is not opened")


def test_name_of_a_group_in_front_of_that_of_a_student_is_moodles(tmp_path):
    """As Moodle before 4.0 writes it where a course has groups; with a space for each `_`."""
    for name in ("Group A-Ada-Lou L_11", "Group A-Bob_12", "B_C-Zoe_13", "Team_Red_14"):
        start(tmp_path / f"in/{name}_assignsubmission_file_", 1)
    text = "student,group\nAda-Lou_L,Group_A\nBob,Group_A\nZoe,\nLou L,\nxi,Team Red\n"
    found = read(tmp_path, roster_from_csv("r", text.encode()))
    assert labs(found) == [("Ada-Lou_L", 1), ("Bob", 1), ("Zoe", 1), ("xi", 1)]
    assert found.notices == ["B_C-Zoe: taken as work of Zoe, in a group"]


def test_stranger_whose_name_ends_as_that_of_a_student_takes_no_place(tmp_path):
    for name in ("Ann-Zoe_11", "Zoe_12"):
        start(tmp_path / f"in/{name}_assignsubmission_file_", 1)
    found = read(tmp_path, roster_from_csv("r", b"student\nZoe\n"))
    assert labs(found) == [("Zoe", 1), ("Zoe_11", 1)]
    assert found.handed_in[0].where.startswith("Zoe_12")
    assert "there is a lab 1 of this name already" in found.notices[1]


def test_number_of_a_group_is_not_that_of_a_student(tmp_path):
    start(tmp_path / "in/Red_7_assignsubmission_file_", 1)
    found = read(tmp_path, roster_from_csv("r", b"student,group,id\nxi,Red,8\nyo,,7\n"))
    assert labs(found) == [("xi", 1)]


@pytest.mark.parametrize("name", ["ada", "ada/inner"])
def test_folder_that_is_empty_is_named(tmp_path, name):
    (tmp_path / "in" / name).mkdir(parents=True)
    assert read(tmp_path).notices == ["ada: it has no folder of a lab; it is empty"]
