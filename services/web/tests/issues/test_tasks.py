"""Tasks in the text of an issue are ticked on its page."""

import re
import time

import pytest
from markupsafe import Markup

from ingot_contracts.issues.rights import IssueRights
from ingot_web.issues.rules.tasks import is_ticked, with_buttons, with_task

from ..forge import HOME, issue
from ..test_forms import HEAD
from ..world import ANN, BOB

TEXT = (
    "- [ ] <one>\n- [x] two\n  1. [ ] three\n\n```\n- [ ] code\n```py\n- [ ] more code\n```\n"
    "> * [X] four\r\n- [y] five\n[ ] six\n- 2) [ ] *seven* [eight](http://a.example)"
)
OPEN = '<li><input class="task-list-item-checkbox" disabled="" type="checkbox"> '
DONE = OPEN.replace("> ", ' checked=""> ')
WORDS = (
    *("&lt;one&gt;</li>\n", "two\n", "three</li>\n", "<p>four</p>\nnot"),
    '<em>seven</em> <a href="http://a.example">eight</a></li>',
)
HTML = Markup("".join(box + words for box, words in zip((OPEN, DONE, OPEN, DONE, OPEN), WORDS, strict=True)))


def test_each_box_is_a_button_that_says_its_task_as_the_page_does():
    shown = with_buttons(HTML, TEXT)
    assert "<input" not in shown
    tasks = (
        *(("false", "&lt;one&gt;"), ("true", "two"), ("false", "three"), ("true", "four")),
        ("false", "seven eight"),
    )
    for number, (state, words) in enumerate(tasks):
        button = (
            f'id="task-{number}" name="task" value="{number}" role="checkbox" aria-checked="{state}" '
            f'aria-label="{words}"'
        )
        assert shown.count(button) == 1


def test_a_button_always_has_a_short_name():
    hostile = f'{OPEN}<img src="a">\n{OPEN}{"x" * 300}\n{OPEN}&quot;<b>b</b><a href="{"y" * 3000}">'
    shown = with_buttons(Markup(hostile), "- [ ] a\n" * 3)
    assert re.findall('aria-label="([^"]*)"', shown) == ["Task 1", "x" * 200, "&#34;b"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (HTML, TEXT.replace("[x]", "[ ]")),
        (HTML, f"{TEXT}\n- [ ] more"),
        (Markup(f"{HTML}{OPEN}"), TEXT),
        (Markup(f'{HTML}<section class="footnotes"></section>'), TEXT),
        (Markup("<p></p>"), ""),
    ],
)
def test_boxes_stay_as_they_are_where_text_and_page_differ(html, text):
    assert with_buttons(html, text) is None


@pytest.mark.parametrize(
    ("number", "before", "after"),
    [
        (0, "[ ] <one>", "[x] <one>"),
        (1, "[x] two", "[ ] two"),
        (2, "[ ] three", "[x] three"),
        (3, "[X] four", "[ ] four"),
        (4, "[ ] *seven*", "[x] *seven*"),
    ],
)
def test_one_task_is_turned_round_and_nothing_else(number, before, after):
    assert with_task(TEXT, number) == TEXT.replace(before, after)
    assert with_task(TEXT, 5) is None


@pytest.mark.parametrize(
    ("after", "proves"),
    [
        (f"{OPEN}{OPEN}", True),
        (f"{OPEN}{DONE}", False),
        (f"{DONE}{OPEN}", False),
        (f"{DONE}{DONE}", False),
        (OPEN, False),
        (f"{OPEN}{OPEN}{OPEN}", False),
    ],
)
def test_a_box_is_ticked_where_nothing_else_differs(after, proves):
    before = Markup(f"{OPEN}{DONE}")
    assert is_ticked(before, Markup(after), 1) == proves
    assert not is_ticked(before, before, 2)


PAGE = "/ann/demo/issues/1"
BODY = "- [ ] one\n- [x] two"
READER = {"permissions": {"admin": False, "push": False, "pull": True}}


@pytest.fixture
def forge(forge):
    forge.answers[f"{HOME}/issues/1"] = issue(body=BODY, content_version=7)
    forge.html = {
        BODY: f"{OPEN}one</li>\n{DONE}two</li>",
        BODY.replace("[x]", "[ ]"): f"{OPEN}one</li>\n{OPEN}two</li>",
    }
    return forge


async def _tick(pages, number, caller=ANN, version="7"):
    form = {"token": pages.form_token(caller, at=time.time()), "version": version, "task": number}
    return await pages.post(f"{PAGE}/tasks", form, caller)


@pytest.mark.parametrize("kind", ["issues", "pulls"])
async def test_a_task_is_ticked_on_its_page(pages, forge, kind):
    if kind == "pulls":
        facts = {"pull_request": {"merged": False, "draft": False}, "base": {"ref": "main"}, "head": HEAD}
        pull = issue(body=BODY, content_version=7, merged=False, mergeable=True, **facts)
        forge.answers |= {f"{HOME}/issues/1": pull, f"{HOME}/pulls/1": pull}
    shown = (await pages.get(f"/ann/demo/{kind}/1", ANN)).text
    assert shown.count('name="task"') == 2
    assert '<input type="hidden" name="version" value="7">' in shown
    answer = await _tick(pages, "1")
    assert answer.headers["location"] == f"{PAGE}#task-1"
    change = {"body": BODY.replace("[x]", "[ ]"), "content_version": 7}
    assert forge.sent == [("PATCH", f"{HOME}/issues/1", change)]


async def test_only_who_may_change_the_text_has_boxes_to_tick(pages, forge):
    forge.answers[HOME] |= READER
    for caller, count in ((ANN, 2), (BOB, 0), (None, 0)):
        assert (await pages.get(PAGE, caller)).text.count('name="task"') == count
    forge.answers[HOME] |= {"archived": True}
    assert 'name="task"' not in (await pages.get(PAGE, ANN)).text


async def test_who_may_tick_is_decided_by_issues(pages, forge):
    rights = "GET /internal/repos/ann/demo/issues/1/rights"
    forge.internal[rights] = IssueRights(may_edit=False)
    for version in ("7", "6"):
        assert (await _tick(pages, "1", ANN, version)).status_code == 403
    assert forge.sent == []
    forge.answers[HOME] |= READER
    forge.internal[rights] = IssueRights(may_edit=True)
    assert (await _tick(pages, "1", BOB)).status_code == 303


@pytest.mark.parametrize(("number", "version", "status"), [("0", "6", 409), ("2", "7", 422), ("x", "7", 422)])
async def test_a_task_that_is_not_there_as_it_was_seen_is_not_ticked(pages, forge, number, version, status):
    refused = await _tick(pages, number, version=version)
    assert (refused.status_code, "go back and load" in refused.text) == (status, status == 409)
    assert forge.sent == []


async def test_a_line_that_is_no_task_of_the_page_is_not_ticked(pages, forge):
    text = "<!--\n- [ ] hidden\n-->\n\n- <input type=checkbox> shown"
    html = '<ul>\n<li><input type="checkbox"> shown</li>\n</ul>'
    forge.answers[f"{HOME}/issues/1"] = issue(body=text, content_version=7)
    forge.html = {text: html, text.replace("[ ]", "[x]"): html}
    answer = await _tick(pages, "0")
    assert (answer.status_code, "edit the text instead" in answer.text, forge.sent) == (422, True, [])
