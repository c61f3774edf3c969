"""The playground in a real browser, from a plain web server and from a subdirectory."""

import base64
import contextlib
import functools
import http.server
import io
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from typing import ClassVar

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.cli.playground.command import RUNTIME_VERSION
from kminilog.cli.step.command import scene_command
from kminilog.course.material import lab_of
from kminilog.course.teaching.proof import solution
from kminilog.course.work_folder import WorkFolder
from kminilog.explain.document import digest
from tests.docs.test_readme import shown_commands
from tests.support.browser import LOW_CONTRAST, Page, new_context, wait_until
from tests.support.playground.site import PROJECT, runtime

pytestmark = pytest.mark.xdist_group("playground")
HEADER = '    return struct.pack(">qi", offset, 4 + len(content))\n'


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *values):
        pass

    def copyfile(self, source, outputfile):
        with contextlib.suppress(ConnectionError):  # of a page that was closed meanwhile
            super().copyfile(source, outputfile)


class _Open(_Quiet):
    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()


@pytest.fixture(scope="module")
def server(site):
    """A web server whose subdirectory `site` is the playground."""
    handler = functools.partial(_Quiet, directory=str(site.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def context(browser):
    context = new_context(browser, viewport={"width": 1280, "height": 800})
    context.clock.install()  # it goes on by itself, and faster if a test asks for that
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context, server):
    """The page, with all that it complained of and asked for."""
    page = context.new_page()
    page.told, page.asked = [], []
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    context.on("request", lambda request: page.asked.append(request.url))
    page.address = f"http://127.0.0.1:{server.server_port}/site/"
    page.goto(page.address)
    idle(page)
    yield page
    assert page.told == []
    asked = [url.removeprefix("blob:") for url in page.asked]
    assert [url for url in asked if not url.startswith(page.address.removesuffix("site/"))] == []


def idle(page):
    """Wait until the page has nothing to do: what it does next stands behind what it does now."""
    wait_until(page, "Boolean(window.kminilog)")
    for _ in range(6):
        page.evaluate("kminilog.run(['--version']).then(() => null)")


def show(page, name):
    page.evaluate("(name) => { location.hash = name; }", name)
    page.wait_for_selector(f"#{name}", state="visible")
    idle(page)


BEGUN = """(button) => {
  const own = button.onclick;
  self.begun = null;
  if (own) button.onclick = (event) => {
    button.onclick = own;
    self.begun = new Promise((done) => Promise.resolve(own(event)).finally(done));
  };
}"""


def click(page, selector):
    """Click, and wait until all that it has begun is done: the browser's storage may be slow."""
    page.locator(selector).first.evaluate(BEGUN)
    page.click(selector)
    page.evaluate("self.begun")
    idle(page)


def run(page, *words, given=""):
    return page.evaluate("([words, given]) => kminilog.run(words, given)", [list(words), given])


def traced(page):
    """Return the digest that the page of the step-through has in a meta element."""
    page.wait_for_selector("#trace", state="visible")
    return page.get_attribute("#trace", "srcdoc").split('name="kminilog-trace" content="')[1][:64]


def test_first_step_is_shown(page):
    page.frame_locator("#trace").locator(".say:visible").first.wait_for()


def test_step_with_arguments_is_that_of_the_machine(page):
    page.select_option("#scene", "murmur2")
    page.fill("#scene-murmur2 input >> nth=0", "straße")
    click(page, "#step-form button")
    page.frame_locator("#trace").locator(".say:visible").first.wait_for()
    assert traced(page) == digest(scene_command("murmur2").document(["--key", "straße"]))


def test_wrong_argument_of_a_step_is_told_in_one_line(page):
    show(page, "step")
    page.select_option("#scene", "murmur2")
    page.fill("#scene-murmur2 input >> nth=2", "-1")
    click(page, "#step-form button")
    assert "--partitions" in page.inner_text("#step-said")
    assert page.is_hidden("#trace")


def test_log_file_of_ones_own_is_decoded(page, tmp_path):
    for words in (["topic", "create", "own", "--partitions", "1"], ["produce", "own"]):
        CliRunner().invoke(main, ["--log-dir", str(tmp_path), *words], input="from my machine\n")
    show(page, "step")
    page.set_input_files("#segment", next(tmp_path.glob("own-0/*.log")))
    page.wait_for_selector("#trace", state="visible")
    said = page.frame_locator("#trace").locator(".say:visible")
    said.filter(has_text="bytes and holds 1 message").first.wait_for()
    idle(page)


def test_check_of_the_library_passes_and_says_what_lab_check_says_on_the_machine(page, tmp_path):
    folder = WorkFolder.start(lab_of(1), tmp_path, "student")
    answers = solution(lab_of(1), folder.path)
    folder.answers_path.write_text(answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        ran = CliRunner().invoke(main, ["lab", "check", "1", "--json"])
    found = page.evaluate("([lab, answers]) => kminilog.check(lab, answers)", [1, answers])
    expected = json.loads(ran.stdout)["exercises"]
    for each in (*found, *expected):
        each.pop("seconds")
    assert found == expected
    assert {each["status"] for each in found if each["max_points"]} == {"pass"}


def test_checks_go_on_in_the_same_python_and_leave_the_files_of_the_page(page):
    begin_lab_1(page)
    write(page, "# mine\n" + text_of(page))
    started = []
    page.on("worker", lambda worker: started.append(worker))
    for _ in range(2):
        assert page.evaluate("kminilog.check(1, 'x = 1').then(() => 'ended')") == "ended"
        click(page, "[data-lab=check]")
    assert run(page, "partition", "--key")["code"] == 2
    assert started == []
    assert run(page, "lab", "progress")["code"] == 0
    assert text_of(page).startswith("# mine")


def test_endless_loop_is_ended_and_the_page_lives(page):
    endless = "def header(offset, content):\n    while True:\n        pass\n"
    found = page.evaluate("([lab, answers]) => kminilog.check(lab, answers)", [1, endless])
    assert (found[0]["status"], found[1]["status"]) == ("timeout", "error")
    assert "does not end" in found[0]["reason"]
    assert run(page, "--version")["code"] == 0


def test_what_no_signal_reaches_is_stopped_by_the_button(page):
    run(page, "topic", "create", "kept", "--partitions", "1")
    show(page, "shell")
    page.fill("#line", "consume kept")
    page.click("#line-form button")
    page.wait_for_selector("#stop", state="visible")
    page.click("#stop")
    wait_until(page, "document.getElementById('stop').hidden")
    page.evaluate("document.getElementById('stop').click()")  # the next worker is none to stop
    idle(page)
    assert "Stopped." in page.inner_text("#log")
    assert "kept" in run(page, "topic", "list")["stdout"]


def test_line_of_the_shell_is_read_as_a_shell_does(page):
    show(page, "shell")
    page.fill("#line", """kminilog partition --partitions 5 --key="a b" --key 'ä "b"' --json""")
    click(page, "#line-form button")
    keys = [each["key"] for each in json.loads(page.inner_text("#log pre >> nth=0"))["choices"]]
    assert keys == ["a b", 'ä "b"']
    page.fill("#line", "partition --key 'a")
    click(page, "#line-form button")
    assert "\nNo closing quotation" in page.inner_text("#log")
    assert run(page, "--version")["code"] == 0


DURING_A_CHECK = """(typed) => {
  const [exercise, editor] = ["exercise", "editor"].map((id) => document.getElementById(id));
  document.querySelector("[data-lab=check]").click();
  exercise.value = "1.2";
  exercise.dispatchEvent(new Event("change"));
  editor.value = typed;
}"""
IS_SAVED = "dispatchEvent(new Event('beforeunload', { cancelable: true }))"  # it may be left


def test_lab_is_done_in_the_page_kept_by_the_browser_offline_and_graded_on_the_machine(
    page, context, tmp_path
):
    begin_lab_1(page)
    text = text_of(page)
    assert "raise NotImplementedError" in text
    mine = text.replace("    raise NotImplementedError\n", HEADER, 1)
    mine = mine.replace("\n\n", "\n\nimport struct\n", 1)
    write(page, mine)
    typed = "# typed during a check\n" + mine
    page.evaluate(DURING_A_CHECK, typed)
    idle(page)
    assert "1.1  pass" in page.inner_text("#lab-said")
    assert text_of(page) == typed
    typed += "# typed last\n"
    write(page, typed)
    save(page)
    assert page.evaluate(IS_SAVED)
    page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    context.set_offline(True)
    page.reload()
    page.wait_for_selector("#editor", state="visible")
    idle(page)
    context.set_offline(False)
    assert text_of(page) == typed
    assert "1/10    10/105  1.1" in run(page, "lab", "progress")["stdout"]
    show(page, "files")
    with page.expect_download() as saved:
        page.click("#save")
    submission = tmp_path / "submissions" / "ada"
    with zipfile.ZipFile(saved.value.path()) as packed:
        packed.extractall(submission)
    words = ["course", "grade", str(submission.parent), "--csv", str(tmp_path / "marks.csv")]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert "\nada,1,1,implement,pass,10," in (tmp_path / "marks.csv").read_text()


def test_text_is_kept_if_another_lab_is_chosen_at_once(page):
    begin_lab_1(page)
    write(page, "# mine\n" + text_of(page))
    for exercise in ("2.1", "1.1"):
        page.select_option("#exercise", exercise)
        idle(page)
    assert text_of(page).startswith("# mine")


def save(page):
    """Let the time go by until the page saves what was typed."""
    page.clock.run_for(1000)
    idle(page)


def test_page_lives_on_if_all_is_deleted_while_a_text_is_on_its_way(page):
    begin_lab_1(page)
    write(page, "def header(offset, content):\n    while True:\n        pass\n")
    page.click("[data-lab=check]")
    page.wait_for_selector("#stop", state="visible")
    write(page, "# one")
    page.clock.run_for(1000)  # it is to be saved when the check has ended
    write(page, "# two")
    page.evaluate("document.getElementById('clear').click()")
    page.click("#stop")
    idle(page)
    for _ in range(2):
        save(page)
    assert page.text_content("#warning") == ""


def test_storage_that_cannot_be_read_is_told_and_can_be_deleted(page):
    begin_lab_1(page)
    page.evaluate(KEPT, base64.b64encode(b"no zip").decode())
    page.reload()
    wait_until(page, "document.getElementById('state').textContent.includes('BadZipFile')")
    assert "BadZipFile" in run(page, "ls")["stderr"]
    page.click("nav [href='#files']")
    page.click("#clear")
    idle(page)
    assert run(page, "topic", "create", "new", "--partitions", "1")["code"] == 0


# What the browser keeps of the files, as base64; a value takes its place.
KEPT = """async (value) => {
  const name = `kminilog ${location.pathname}`, opening = indexedDB.open(name);
  await new Promise((done) => { opening.onsuccess = done; });
  const store = opening.result.transaction(name, "readwrite").objectStore(name);
  const asked = value ? store.put(value, "files") : store.get("files");
  await new Promise((done) => { asked.transaction.oncomplete = done; });
  opening.result.close();
  return asked.result;
}"""


NO_OPEN = "() => { throw new DOMException('no', 'SecurityError'); }"


def test_browser_that_keeps_nothing_is_told_of_and_the_page_works(page, browser):
    with contextlib.closing(new_context(browser)) as context:
        other = context.new_page()
        other.add_init_script(f"Object.getPrototypeOf(indexedDB).open = {NO_OPEN}")
        other.on("dialog", lambda dialog: dialog.accept())
        other.goto(page.address + "#files")
        idle(other)
        assert "does not keep these files (SecurityError)" in other.inner_text("#warning")
        assert run(other, "topic", "create", "new", "--partitions", "1")["code"] == 0
        click(other, "#clear")  # it could not be undone, so it is not done
        assert "new" in run(other, "topic", "list")["stdout"]


@contextlib.contextmanager
def other_tab(page, context):
    with contextlib.closing(context.new_page()) as other:
        other.goto(page.address + "#labs")
        other.wait_for_selector("#editor", state="visible")
        idle(other)
        yield other


def test_another_tab_has_the_files_of_the_first_one(page, context):
    begin_lab_1(page)
    with other_tab(page, context) as other:
        assert page.text_content("#warning") == ""
        write(other, "# from the other tab")
        save(other)
        wait_until(page, "document.getElementById('editor').value === '# from the other tab'")
        run(page, "topic", "create", "fruit", "--partitions", "1")
        wait_until(other, "document.getElementById('list').textContent.includes('fruit')")
        idle(page)
        assert page.text_content("#warning") == ""


def test_what_two_tabs_have_written_in_one_file_is_in_two_files(page, context):
    begin_lab_1(page)
    with other_tab(page, context) as other:
        idle(page)  # while it is at something, its clock does not run yet
        write(page, "# one")
        write(other, "# two")
        save(page)
        wait_until(other, "document.getElementById('list').textContent.includes('.other-tab-')")
        save(other)
        wait_until(page, "document.getElementById('list').textContent.includes('.other-tab-')")
        for tab in (page, other):
            idle(tab)
            assert "answers.other-tab-1.py" in tab.inner_text("#warning")
    kept = page.evaluate(KEPT)
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(kept))) as packed:
        texts = {packed.read(name) for name in packed.namelist() if "/answers" in name}
    assert texts == {b"# one", b"# two"}


def test_delete_asks_and_can_be_undone(page):
    begin_lab_1(page)
    write(page, "# mine")
    show(page, "files")
    click(page, "#clear")
    assert page.inner_text("#list") == ""
    page.reload()
    idle(page)
    click(page, "#bring-back")
    assert "answers.py" in page.inner_text("#list")
    assert text_of(page) == "# mine"
    assert page.is_hidden("#bring-back")
    page.evaluate("[window.confirm, window.mine] = [() => false, window.confirm]")
    click(page, "#clear")
    page.evaluate("window.confirm = window.mine")
    assert "answers.py" in page.inner_text("#list")


def test_address_opens_an_exercise_with_its_task_and_no_old_verdict(page):
    begin_lab_1(page)
    click(page, "[data-lab=check]")
    assert "1.1" in page.inner_text("#lab-said")
    for exercise, said in (("1.2", "CRC-32"), ("1.7", "Which check of the message notices?")):
        page.evaluate("scrollTo(0, 300)")
        page.evaluate("(exercise) => { location.hash = `lab/${exercise}`; }", exercise)
        idle(page)
        assert page.evaluate("scrollY") == 0
        assert said in page.inner_text(".about")
        assert page.text_content("#lab-said") == ""
    steps = page.locator("#task-1\\.4 ol > li").first  # of which the first fault counts
    assert steps.evaluate("each => getComputedStyle(each).listStyleType") == "decimal"
    page.check("#task-1\\.7 input >> nth=1")
    click(page, "[data-lab=predict]")
    assert "The right answer: The checksum" in page.inner_text("#lab-said")


def test_wrong_answer_is_shown_as_a_picture_and_a_right_one_in_the_map(page):
    begin_lab_1(page)
    text = text_of(page)
    write(page, text.replace("    raise NotImplementedError", "    return bytes(12)", 1))
    click(page, "[data-lab=check]")
    assert "1.1  fail" in page.inner_text("#lab-said")
    assert "/tmp" not in page.inner_text("#lab-said")
    said = page.frame_locator("#lab-trace").locator(".say:visible").first
    assert "the first that differs" in said.inner_text()
    before = int(page.inner_text("#yours"))
    write(page, text.replace("    raise NotImplementedError\n", f"    import struct\n{HEADER}", 1))
    click(page, "[data-lab=check]")
    assert page.is_hidden("#lab-trace")
    assert page.get_attribute("#lab-said a >> nth=-1", "href") == "#lab/1.2"
    assert page.locator("#map .is-yours").all_inner_texts() == ["header 1.1"]
    assert int(page.inner_text("#yours")) == before + 1


def test_values_beside_each_other_are_not_cut_off_once_they_are_seen(page):
    begin_lab_1(page)
    page.evaluate("location.hash = 'lab/1.2'")
    idle(page)
    before, title, after = text_of(page).partition("# 1.2")
    answer = "import zlib; return zlib.crc32(message[12:])"
    write(page, before + title + after.replace("raise NotImplementedError", answer, 1))
    click(page, "[data-lab=check]")
    page.locator("#lab-trace").scroll_into_view_if_needed()
    frame = page.query_selector("#lab-trace").content_frame()
    frame.evaluate("new Promise((done) => requestAnimationFrame(done))")  # it is drawn by now
    assert "3916773564" in frame.inner_text("body")
    rest = "[...document.querySelectorAll('.rest')].find((each) => each.clientWidth)"
    wait_until(frame, f"{rest}?.scrollWidth <= {rest}?.clientWidth")


def test_commands_of_a_verdict_are_links_that_do_them_here(page):
    begin_lab_1(page)
    page.evaluate("location.hash = 'lab/1.3'")
    idle(page)
    before, title, after = text_of(page).partition("# 1.3")
    after = after.replace("raise NotImplementedError", "return bytes(40)", 1)
    after = after.replace("_OFFSET = ...", "_OFFSET = 1")
    write(page, before + title + after)
    click(page, "[data-lab=check]")
    assert "--verbose shows all of it" in page.inner_text("#lab-said")
    click(page, "#lab-said a >> text=--verbose")
    assert "got " + "00" * 40 in page.inner_text("#log > div >> nth=0")
    show(page, "labs")
    click(page, "#lab-said a >> text=step null-or-empty")
    assert page.input_value("#scene") == "null-or-empty"
    assert page.input_value("#scene-null-or-empty [name='--dialect']") == "kafka"
    page.locator("#trace").wait_for(state="visible")
    page.evaluate("location.hash = 'lab/1.6'")
    idle(page)
    click(page, "[data-lab=check]")
    assert "Look: files/piece.bin in Files to read" in page.inner_text("#lab-said")
    page.click(".about details.begun summary")
    click(page, "#lab-files a >> text=piece.bin")
    assert re.match(r"00000000  ([0-9a-f]{2} ){16}", page.inner_text("#text"))
    assert "--log-dir 04_finding/files/log" in page.text_content("#task-4\\.5")


def test_editor_indents_numbers_lines_and_is_left_by_escape_and_tab(page):
    begin_lab_1(page)
    write(page, "def one():\n    return 1")
    page.focus("#editor .cm-content")
    page.keyboard.press("Control+End")
    for key in ("Enter", "x", "Tab", "Escape", "Tab"):
        page.keyboard.press(key)
    assert text_of(page).startswith("def one():\n    return 1\n")
    assert page.inner_text("#editor .cm-gutters").split() == ["1", "2", "3"]
    assert page.evaluate("document.activeElement.id") != "editor"
    colours = "(e) => [...e.querySelectorAll('span')].map((each) => getComputedStyle(each).color)"
    assert len(set(page.eval_on_selector("#editor .cm-content", colours))) > 1


def test_what_is_said_in_labs_fits_the_place(page):
    said = page.text_content("#labs") + page.text_content("#step-form")
    begin_lab_1(page)
    said += page.text_content("#lab-said")
    found = re.findall(r"xxd|\bcd |lab watch|lab predict|in an editor|buffer-pool", said)
    assert found == []
    assert "Write your answer in the editor of Labs" in said


def test_each_field_of_a_step_through_says_what_it_is(page):
    texts = (
        "(all) => all.map((each) => [each.textContent, each.querySelector('small').textContent])"
    )
    fields = page.eval_on_selector_all("#step-form fieldset label", texts)
    assert len(fields) > 40
    assert [field for field, said in fields if len(said.strip()) < 9] == []


def test_arrow_brings_back_a_line_of_the_shell(page):
    show(page, "shell")
    for line in ("topic list", "--version"):
        page.fill("#line", line)
        click(page, "#line-form button")
        assert page.input_value("#line") == ""
    shown = []
    for key in ("ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"):
        page.press("#line", key)
        shown.append(page.input_value("#line"))
    assert shown == ["--version", "topic list", "--version", ""]


class _Held(_Quiet):
    go_on = threading.Event()

    def do_GET(self):
        if self.path.endswith("packages.zip"):
            self.go_on.wait()
        super().do_GET()


def test_while_python_loads_the_page_says_how_much_has_come_and_tasks_can_be_read(browser, site):
    with served(browser, site, _Held, "lab/1.1") as page:
        state = "document.getElementById('state').textContent"
        wait_until(page, f"/loading: [1-9].* of .* MB/.test({state})")
        assert page.is_visible("#loading")
        assert "It returns the first 12 bytes" in page.inner_text(".about")
        _Held.go_on.set()
        idle(page)
        assert page.is_hidden("#loading")
        assert page.evaluate(state) == ""


class _OctetStream(_Quiet):
    extensions_map: ClassVar = {**_Quiet.extensions_map, ".mjs": "application/octet-stream"}


def test_server_that_sends_mjs_as_bytes_is_told_apart_and_tasks_can_be_read(browser, site):
    with served(browser, site, _OctetStream, "lab/1.1") as page:
        told = "document.getElementById('state').textContent"
        wait_until(page, f"{told}.includes('application/octet-stream')")
        assert "let it send them as text/javascript" in page.evaluate(told)
        assert "It returns the first 12 bytes" in page.inner_text(".about")


def test_failure_is_told_that_came_before_the_page_asks(browser, site):
    """On a slow machine Python fails, and more files come, while the page waits for its storage."""
    early = """self.Worker = class {
      constructor() { queueMicrotask(() => this.say({ error: "no Python" }, { loaded: 1 })); }
      say(...told) { for (const data of told) this.onmessage({ data }); }
      postMessage() {}
      terminate() {}
    };"""
    with served(browser, site, _Quiet, "lab/1.1", early) as page:
        wait_until(page, "document.getElementById('state').textContent === 'no Python'")


class _Broken(_Quiet):
    """Sends one file of the runtime in part, or not at all."""

    is_in_part = False

    def do_GET(self):
        if not self.path.endswith("pyodide.asm.wasm"):
            super().do_GET()
        elif self.is_in_part:
            self.send_response(200)
            self.send_header("Content-Length", "9000000")
            self.end_headers()
            self.wfile.write(bytes(1000))
            time.sleep(0.5)  # so that these come, and are looked at, before the end does
            self.close_connection = True
        else:
            self.send_error(503)


@pytest.mark.parametrize("is_in_part", [False, True])
def test_runtime_that_cannot_be_fetched_is_told(browser, site, is_in_part, monkeypatch):
    monkeypatch.setattr(_Broken, "is_in_part", is_in_part)
    with served(browser, site, _Broken, "lab/1.1") as page:
        told = "document.getElementById('state').textContent"
        wait_until(page, f"{told}.includes('pyodide.asm.wasm cannot be fetched')")
        assert page.evaluate(told).endswith("Load this page again.")
        assert "It returns the first 12 bytes" in page.inner_text(".about")


def test_lab_that_is_started_in_the_shell_is_open_in_labs(page):
    show(page, "files")
    click(page, "#clear")
    show(page, "shell")
    page.fill("#line", "lab start 1 --name Ada")
    click(page, "#line-form button")
    show(page, "labs")
    assert "def header" in text_of(page)
    assert page.is_hidden("#start")
    assert "cd " not in page.text_content("#log")


def test_what_a_file_has_wrong_is_said_and_the_next_one_is_added(page):
    show(page, "files")
    bad = {"name": "bad.zip", "mimeType": "application/zip", "buffer": b"no zip"}
    good = {"name": "good.txt", "mimeType": "text/plain", "buffer": b"good"}
    page.evaluate(UNREADABLE)
    page.set_input_files("#open", [bad, {**bad, "name": "unreadable"}, good])
    idle(page)
    assert "unreadable: cannot be read" in page.inner_text("#warning")
    assert page.is_visible("#warning")
    assert "bad.zip: zipfile.BadZipFile" in page.inner_text("#warning")
    assert "good.txt" in page.inner_text("#list")


# As a folder that is dropped on the page.
UNREADABLE = """() => {
  const read = File.prototype.arrayBuffer;
  File.prototype.arrayBuffer = function () {
    if (this.name === "unreadable") return Promise.reject(new Error("cannot be read"));
    return read.call(this);
  };
}"""
OUTSIDE = """async (url) => {
  const told = `fetch("${url}").then(() => postMessage("sent"), () => postMessage("refused"))`;
  const address = URL.createObjectURL(new Blob([told], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  return await new Promise((done) => { worker.onmessage = ({ data }) => done(data); });
}"""
DOORS = """
import js

doors = "fetch", "XMLHttpRequest", "WebSocket", "caches", "indexedDB"
places = js, js.WorkerGlobalScope.prototype, js.DedicatedWorkerGlobalScope.prototype
raise ValueError([name for name in doors for place in places if hasattr(place, name)])
"""


def text_of(page):
    return page.evaluate("document.getElementById('editor').value")


def write(page, text):
    page.evaluate("(text) => { document.getElementById('editor').value = text; }", text)


def begin_lab_1(page):
    """Begin without files, and start the lab."""
    show(page, "files")
    click(page, "#clear")
    page.evaluate("location.hash = 'lab/1.1'")
    page.wait_for_selector("#labs", state="visible")
    page.fill("#name", "Ada")
    click(page, "#start button")
    page.wait_for_selector("#editor", state="visible")
    idle(page)
    assert page.evaluate("[document.activeElement.textContent, scrollY]") == ["Check", 0]


@contextlib.contextmanager
def served(browser, site, handler, fragment, script=""):
    """The page with that fragment, for the first time, from a server with that handler; the script
    runs before its own ones."""
    handler = functools.partial(handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with contextlib.closing(new_context(browser, service_workers="block")) as context:
            page = context.new_page()
            page.on("dialog", lambda dialog: dialog.accept())
            page.add_init_script(script)
            page.goto(f"http://127.0.0.1:{server.server_port}/#{fragment}")
            yield page
        server.shutdown()


@contextlib.contextmanager
def page_with(browser, site, directory, script):
    """A page whose workers begin with that script."""
    shutil.copytree(site, directory / "site")
    worker = directory / "site" / "worker.js"
    worker.write_text(worker.read_text() + script)
    with served(browser, directory / "site", _Quiet, "files") as page:
        yield page


@pytest.fixture(scope="module")
def first_visit(browser, site, tmp_path_factory):
    """The page of somebody who comes for the first time; its runtime complains while it starts."""
    harmless = "\nsetTimeout(() => { throw new Error('NoGilError'); });"
    with page_with(browser, site, tmp_path_factory.mktemp("visit"), harmless) as page:
        idle(page)
        yield page


def test_what_the_runtime_cannot_give_back_while_it_starts_is_no_error(first_visit):
    assert run(first_visit, "no-such-command")["code"] == 2  # in the first worker
    assert first_visit.evaluate("kminilog.check(1, '').then(() => 'ended')") == "ended"
    assert run(first_visit, "--version")["stdout"].startswith("kminilog")
    assert first_visit.text_content("#warning") == ""


def test_workers_reach_no_other_server_and_keep_nothing_from_the_first_visit_on(first_visit):
    page = first_visit
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Open) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_port}/"
        assert page.evaluate(OUTSIDE, url) == "refused"
        blank = page.context.new_page()
        blank.goto(url)  # a page of that server, without a policy
        assert blank.evaluate(OUTSIDE, url) == "sent"
        other.shutdown()
    file = {"name": "mine.py", "mimeType": "text/plain", "buffer": DOORS.encode()}
    page.set_input_files("#open", [file])
    wait_until(page, "document.getElementById('text').textContent.includes('doors')")
    ran = run(page, "partition", "--partitioner", "mine:Mine", "--partitions", "2", "--key", "a")
    assert ": []" in ran["stderr"]


def test_worker_that_fails_while_it_starts_gives_no_answer_later(browser, site, tmp_path):
    late = "\nsetTimeout(() => { throw new Error('broken'); });"
    with page_with(browser, site, tmp_path, late) as page:
        wait_until(page, "Boolean(window.kminilog)")
        for _ in range(4):
            ran = run(page, "--version")
            assert (ran["code"], ran["stderr"]) == (2, "Uncaught Error: broken")


SIZES = ((1280, 800), (390, 844))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", SIZES)
def test_page_fits_its_window_and_can_be_read(page, width, height, scheme):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    for name in ("step", "labs", "shell", "files"):
        show(page, name)
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert (name, page.evaluate(wide)) == (name, 0)
        assert (name, page.evaluate(LOW_CONTRAST)) == (name, [])
    page.set_viewport_size({"width": 1280, "height": 800})


def test_page_from_a_file_says_how_to_serve_it(browser, site):
    with Page(browser, site / "index.html") as page:
        assert "python -m http.server" in page.text("#state")


@pytest.mark.processes
def test_commands_of_the_documentation_write_a_folder_and_serve_it(tmp_path):
    fetch, write, serve = shown_commands((PROJECT / "docs" / "playground.md").read_text())
    assert fetch == f"npm pack pyodide@{RUNTIME_VERSION}"  # as scripts/ensure-pyodide types it
    shutil.copy(runtime(), tmp_path)
    subprocess.run([sys.executable, "-m", *write.split()], cwd=tmp_path, check=True)
    command = [sys.executable, "-u", *serve.split()[1:], "0"]  # at any free port
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        port = re.search(r"port (\d+)", process.stdout.readline())[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as page:
            assert "kminilog playground" in page.read().decode()
        process.terminate()


def test_folder_is_written_only_with_the_right_runtime(tmp_path):
    other = tmp_path / "other.tgz"
    other.write_bytes(b"other")
    for archive, reason in ((tmp_path / "none", "is not there"), (other, "is not pyodide-")):
        words = ["playground", "--dir", str(tmp_path / "x"), "--runtime", str(archive)]
        ran = CliRunner().invoke(main, words)
        assert ran.exit_code == 2
        assert f"{archive} {reason}" in ran.stderr
        assert "npm pack pyodide@" in ran.stderr
    assert not (tmp_path / "x").exists()
