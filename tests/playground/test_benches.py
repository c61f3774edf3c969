"""The benches in a real browser: typed, clicked, taken back, linked, and without a network."""

import contextlib
import functools
import http.server
import json
import re
import statistics
import threading

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.benches.registry import BENCHES, bench_of
from kminilog.explain.page import render_last_step
from tests.playground.test_page_in_browser import _Quiet
from tests.support.browser import LOW_CONTRAST, new_context, wait_until

pytestmark = pytest.mark.xdist_group("playground")


@pytest.fixture(scope="module")
def page(browser, site):
    """The page of the benches, and what it complained of and asked for."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        with contextlib.closing(new_context(browser, reduced_motion="reduce")) as context:
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            page = context.new_page()
            page.address, told, asked = address, [], []
            page.on("console", lambda message: told.append(message.text))
            page.on("pageerror", lambda error: told.append(str(error)))
            context.on("request", lambda request: asked.append(request.url))
            page.goto(address + "#play")
            yield page
            assert told == []
            away = [url for url in asked if not url.removeprefix("blob:").startswith(address)]
            assert away == []
        server.shutdown()


def go(page, fragment):
    page.evaluate("(hash) => { location.hash = hash; }", fragment)


def said(page, words):
    """Wait until the bench says this."""
    wait_until(page, f"document.getElementById('bench-said').textContent.includes({words!r})")


def assert_shown(page, document):
    """All that the bench shows is the last step of this document, as the machine renders it."""
    shown = page.inner_html("#answer-view").replace("/>", ">")
    expected = page.evaluate(
        "(html) => Object.assign(document.createElement('div'), { innerHTML: html }).innerHTML",
        render_last_step(document),
    )
    first = re.compile(' tabindex="(0|-1)"')  # one byte can be reached by Tab
    assert first.sub("", shown) == first.sub("", expected)


def acts(page):
    return page.locator("#acts li").all_inner_texts()


def partition_on_command_line(key, partitions):
    command = ["partition", "--partitions", str(partitions), "--key", key, "--json"]
    return json.loads(CliRunner().invoke(main, command).stdout)["choices"][0]["partition"]


@pytest.mark.parametrize("name", BENCHES)
def test_bench_is_linked_and_shows_what_the_engine_says_on_the_machine(page, name):
    go(page, "play")
    page.click(f"#play nav [href='#{name}']")
    document = bench_of(name).answer({}, [])
    said(page, document.steps[-1].say)
    assert page.is_visible(f"#bench-{name}")
    assert_shown(page, document)


def test_hash_and_partition_follow_each_letter(page):
    go(page, "murmur2?key=&partitions=15")
    said(page, f"the key goes to partition {partition_on_command_line('', 15)}.")
    page.focus("#bench-murmur2 [name=key]")
    for typed in ("T", "TT", "TTü"):
        page.keyboard.insert_text(typed[-1])
        said(page, f"the key goes to partition {partition_on_command_line(typed, 15)}.")


# Two letters before Python can have answered the first one; all that is said until the second is.
TYPE_FAST = """() => new Promise((done) => {
  const [field, said] = [document.querySelector("#bench-murmur2 [name=key]"), []];
  const told = document.getElementById("bench-said");
  new MutationObserver((changes, watch) => {
    said.push(told.textContent);
    watch.disconnect();
    done(said);
  }).observe(told, { childList: true });
  for (const value of ["first", "second"]) {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
})"""


def test_answer_that_is_out_of_date_is_not_shown(page):
    go(page, "murmur2?key=k&partitions=100")
    said(page, f"partition {partition_on_command_line('k', 100)}.")
    partition = partition_on_command_line("second", 100)
    assert f"the key goes to partition {partition}." in page.evaluate(TYPE_FAST)[0]


# The address of what was typed is due when a link is followed, before the page is told of the link.
FOLLOW_AT_ONCE = """() => {
  const field = document.querySelector("#bench-murmur2 [name=key]");
  field.value = "typed";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  const since = performance.now();
  while (performance.now() < since + 400); // the address of what was typed is due now
  location.hash = "murmur2?key=link&partitions=7";
}"""


def test_link_that_is_followed_at_once_wins_over_what_was_typed(page):
    go(page, "murmur2?key=k&partitions=99")
    said(page, f"partition {partition_on_command_line('k', 99)}.")
    page.evaluate(FOLLOW_AT_ONCE)
    said(page, f"modulo 7 is {partition_on_command_line('link', 7)}")


def test_slider_says_which_keys_move(page):
    go(page, "murmur2?key=k&partitions=3")
    said(page, "modulo 3 is")
    page.focus("#bench-murmur2 [name=partitions]")
    page.keyboard.press("ArrowRight")
    said(page, f"modulo 4 is {partition_on_command_line('k', 4)}")
    assert page.inner_text("#bench-murmur2 output") == "4"
    moved = page.locator("#answer-view tr.marked").count()
    assert f"{moved} of 20 keys move" in page.inner_text("#answer-view h3")


def test_byte_is_changed_by_the_keyboard_alone_and_the_flipped_bit_is_named(page):
    go(page, "record?key=alice&value=book&dialect=kafka")
    said(page, "a valid message")
    page.focus("#copy")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.byte')"):
            break
    for _ in range(23):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.type("6d")
    said(page, "One flipped bit explains it: byte 23, 6d was 6c.")
    assert page.evaluate("document.activeElement.dataset.at") == "23"
    assert acts(page) == ["set 23 6d"]
    assert page.locator("#answer-view .f-lost .label").inner_text().startswith("crc ✗")


@pytest.mark.parametrize("confirm", ["Enter", "Set"])
def test_two_digits_and_enter_or_set_after_them_are_one_act(page, confirm):
    go(page, f"record?key=&value={confirm}&dialect=kafka")
    said(page, "Choose a byte")
    page.fill("#bench-record [name=at]", "28")
    page.focus("#bench-record [name=hex]")
    page.keyboard.type("6e")
    if confirm == "Enter":
        page.keyboard.press("Enter")
    else:
        page.click("#bench-record .act button")
    said(page, "1 byte is changed")
    page.evaluate("kminilog.run(['--version']).then(() => null)")
    assert [acts(page), page.text_content("#bench-fault")] == [["set 28 6e"], ""]
    page.fill("#bench-record [name=at]", "27")
    page.fill("#bench-record [name=hex]", "6f")
    said(page, "2 bytes are changed")
    assert acts(page) == ["set 28 6e", "set 27 6f"]


def test_byte_is_changed_by_a_click_and_taken_back_by_undo_and_by_the_browsers_back(page):
    go(page, "record?key=&value=v&dialect=documented")
    said(page, "Choose a byte")
    page.click(".byte[data-at='11']")
    page.keyboard.type("ff")
    said(page, "unfinished: 267 bytes are needed")
    page.click(".byte[data-at='7']")
    page.keyboard.type("09")
    said(page, "2 bytes are changed")
    assert acts(page) == ["set 11 ff", "set 7 09"]
    page.click("#undo")
    said(page, "1 byte is changed")
    page.go_back()
    said(page, "2 bytes are changed")
    page.go_back()
    said(page, "1 byte is changed")
    page.go_back()
    said(page, "Choose a byte")
    assert page.is_disabled("#undo")


def test_link_is_copied_and_restores_all_after_a_reload_without_a_network(page):
    go(page, "record?key=straße&value=v&dialect=kafka&act=set+11+ff")
    said(page, "unfinished")
    page.click("#copy")
    wait_until(page, "document.getElementById('copied').textContent === 'Copied.'")
    link = page.evaluate("navigator.clipboard.readText()")
    page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    page.context.set_offline(True)
    page.goto("about:blank")
    page.goto(link)
    said(page, "unfinished")
    page.context.set_offline(False)
    assert page.input_value("#bench-record [name=key]") == "straße"
    assert page.input_value("#bench-record [name=dialect]") == "kafka"
    assert acts(page) == ["set 11 ff"]


def test_act_that_is_refused_is_not_done_and_can_be_mended(page):
    go(page, "log?act=append+k+v")
    said(page, "offset 0")
    page.click("#copy")
    wait_until(page, "document.getElementById('copied').textContent === 'Copied.'")
    at = page.locator("#bench-log [name=byte]")
    at.fill("x")
    page.click("#bench-log [value=crash]")
    wait_until(page, "document.getElementById('bench-fault').textContent.includes('no number')")
    assert [acts(page), at.input_value()] == [["append k v"], "x"]
    assert page.is_visible("#answer-view")
    at.fill("5")
    page.click("#bench-log [value=crash]")
    page.click("#bench-log [value=recover]")  # comes while the engine still answers
    wait_until(page, "document.querySelectorAll('#acts li').length === 3")
    assert acts(page) == ["append k v", "crash 5", "recover"]
    assert page.text_content("#bench-fault") == page.text_content("#copied") == ""
    page.go_back()
    wait_until(page, "document.querySelectorAll('#acts li').length === 2")


@pytest.mark.parametrize(
    "fragment, fault",
    [
        (
            "murmur2?partitions=15&key=" + "k" * 4097,
            "the key has 4097 bytes; at most 4096 are hashed here",
        ),
        ("record?act=set+99+00", "byte: '99' is no number from 0 to 30"),
        ("record?act=explode", "'explode' is no act of this bench; its acts: set at hex"),
    ],
)
def test_bad_input_is_told_in_one_line(page, fragment, fault):
    go(page, fragment)
    wait_until(page, "document.getElementById('bench-fault').textContent !== ''")
    assert page.inner_text("#bench-fault") == fault
    assert page.is_hidden("#answer-view")
    go(page, "murmur2")
    said(page, "the key goes to")
    assert page.text_content("#bench-fault") == ""


BY_HAND = {
    "log": [
        ("Append", {"key": "k1", "value": "red apple"}, "append k1 'red apple'"),
        ("Append", {"value": "pear"}, "append '' pear"),
        ("Find", {"offset": "1"}, "find 1"),
        ("Crash", {"byte": "40"}, "crash 40"),
        ("Recover", {}, "recover"),
    ],
    "group": [
        ("Add", {}, "join '' orders"),
        ("Add", {"member": "B"}, "join B orders"),
        ("Kill", {"member": "A"}, "kill A"),
        ("Wait", {}, "wait"),
    ],
    "cluster": [
        ("Send", {"acks": "1"}, "send 1"),
        ("Crash", {"broker": "0"}, "crash 0"),
        ("Start", {"broker": "0"}, "start 0"),
        ("Let followers copy", {}, "copy"),
    ],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_bench_played_by_hand_answers_as_on_the_machine(page, name):
    go(page, f"{name}?")
    done = []
    for label, fields, act in BY_HAND[name]:
        button = page.locator(f"#bench-{name} .act button", has_text=label).first
        form = button.locator("xpath=ancestor::form")
        for field, value in fields.items():
            place = form.locator(f"[name={field}]")
            is_list = place.evaluate("(each) => each.matches('select')")
            place.select_option(value) if is_list else place.fill(value)
        button.click()
        done.append(act)
        document = bench_of(name).answer({}, done)
        said(page, document.steps[-1].say)
        assert acts(page) == done
        assert_shown(page, document)
    page.click("#undo")
    said(page, bench_of(name).answer({}, done[:-1]).steps[-1].say)


def test_address_of_nothing_opens_the_first_tab_and_odd_ones_what_they_can(page):
    go(page, "state")
    page.wait_for_selector("#step-form", state="visible")
    go(page, "murmur2?partitions=%zz7&key=why?%")
    said(page, "the key goes to")
    assert page.input_value("#bench-murmur2 [name=key]") == "why?%"
    assert "partitions=%zz7, which is not possible: it is 15" in page.inner_text("#bench-fault")
    page.fill("#bench-murmur2 [name=key]", "k")
    wait_until(page, "document.getElementById('bench-fault').textContent === ''")
    go(page, "cluster?brokers=9")
    said(page, "Send a message.")
    assert page.input_value("#bench-cluster [name=brokers]") == "3"
    assert page.inner_text("#bench-fault").endswith("it is 3 here.")


@pytest.mark.parametrize(
    "fragment, named",
    [
        ("nosuch", "nosuch"),
        ("lab/99.9", "lab/99.9"),
        ("lab/1.99", "lab/1.99"),
        ("step?scene=murmur9", "step-through murmur9"),
    ],
)
def test_link_to_what_is_not_there_is_told(page, fragment, named):
    go(page, fragment)
    wait_until(page, "document.getElementById('missing').textContent !== ''")
    assert page.inner_text("#missing") == f"The link is wrong: this page has no {named}."
    go(page, "lab/1.2")
    wait_until(page, "document.getElementById('missing').textContent === ''")


def test_field_of_a_link_that_the_bench_does_not_have_is_told(page):
    go(page, "murmur2?key=k&partition=7")
    said(page, "the key goes to")
    fault = "The link names what this bench does not have: partition."
    assert page.inner_text("#bench-fault").strip() == fault


def test_link_to_the_form_of_a_step_through_chooses_it(page):
    go(page, "step?scene=torn-tail")
    page.wait_for_selector("#scene-torn-tail input", state="visible")
    frame = page.frame_locator("#trace")
    frame.locator("h1", has_text=re.compile("recovery", re.IGNORECASE)).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("fragment", ["murmur2", "record?act=set+11+ff"])
def test_bench_fits_its_window_and_can_be_read(page, fragment, width, height, scheme):
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    go(page, fragment)
    said(page, "modulo 15" if fragment == "murmur2" else "unfinished")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    assert page.evaluate(LOW_CONTRAST) == []


UNNAMED = """() => [...document.querySelectorAll("#play :is(input, select, button, ol, nav)")]
  .filter((each) => !(each.labels?.length || each.ariaLabel || each.textContent.trim()))
  .map((each) => each.outerHTML)"""


def test_every_control_has_a_name(page):
    go(page, "record")
    said(page, "a valid message")
    assert page.evaluate(UNNAMED) == []


# From a key to the frame after its picture has been put into the page.
WATCH = """() => {
  if (window.times) return void (times.length = 0);
  let at = 0;
  window.times = [];
  addEventListener("keydown", () => { at = performance.now(); }, true);
  const painted = new MessageChannel();
  painted.port1.onmessage = () => times.push(performance.now() - at);
  const tell = () => requestAnimationFrame(() => painted.port2.postMessage(0));
  new MutationObserver(tell).observe(document.getElementById("answer-view"), { childList: true });
}"""


def tell_times(name, times):
    least, median, most = (f"{of(times):.0f}" for of in (min, statistics.median, max))
    print(f"\n{name}: {median} ms median of {len(times)}, from {least} to {most}")


@pytest.mark.parametrize("field", ["murmur2 [name=key]", "record [name=value]"])
def test_picture_follows_each_key_and_its_time_is_told(page, field):
    name = field.split()[0]
    go(page, name)
    said(page, bench_of(name).answer({}, []).steps[-1].say)
    page.evaluate(WATCH)
    page.focus(f"#bench-{field}")
    for number in range(30):
        page.keyboard.press("k")
        wait_until(page, f"times.length > {number}")
    times = page.evaluate("times")
    tell_times(name, times)
    assert len(times) == 30


def test_log_of_50_messages_follows_each_append_and_its_time_is_told(page):
    go(page, "log?" + "&".join(f"act=append+k{number}+v{number}" for number in range(49)))
    wait_until(page, "document.querySelectorAll('#acts li').length === 49")
    page.evaluate(WATCH)
    for number in range(10):
        page.fill("#bench-log .act [name=key]", f"k{number}")
        page.fill("#bench-log .act [name=value]", "value")
        page.keyboard.press("Enter")
        wait_until(page, f"times.length > {2 * number}")
        page.click("#undo")
        wait_until(page, f"times.length > {2 * number + 1}")
    tell_times("log of 50 messages", page.evaluate("times")[::2])
