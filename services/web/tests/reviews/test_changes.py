"""Changes of a pull request that moves while its page is read: they are of the commit that forms name."""

import re
from html import unescape

import pytest

from ingot_contracts.testing.forms import form_of

from ..diffs.test_parsing import CHANGED
from ..forge import HOME, issue
from ..previews.test_previews import IN_PLACE, is_part
from ..world import BOB

PULL, PAGE = f"{HOME}/pulls/1", "/ann/demo/pulls/1/files"
FIRST, SECOND = "1" * 40, "2" * 40
HEAD_OF_SECOND = {"ref": "topic", "repo": None, "sha": SECOND}
TEXTS = {FIRST: "first", SECOND: "second"}


@pytest.fixture
def forge(forge):
    facts = {
        "pull_request": {"merged": False, "draft": False},
        "base": {"ref": "main"},
        "merge_base": "0" * 40,
    }
    forge.answers |= {PULL: issue(merged=False, mergeable=True, **facts), f"{HOME}/pulls/1/comments": []}
    forge.totals[f"{PULL}.diff"] = 300
    push(forge, FIRST)
    return forge


def push(forge, sha):
    forge.answers[PULL]["head"] = {"ref": "topic", "repo": None, "sha": sha}
    forge.answers[f"{PULL}.diff"] = CHANGED.replace("+new", f"+{TEXTS[sha]}").encode()


def texts_in(html):
    return [text for text in TEXTS.values() if f">{text}</td>" in html]


def sends_review(html):
    return 'name="event"' in html


@pytest.mark.parametrize(
    "change", [{"head": HEAD_OF_SECOND}, {"base": {"ref": "free"}}, {"merge_base": "3" * 40}]
)
async def test_further_files_are_of_the_changes_on_the_page_that_stays(pages, forge, change):
    shown = (await pages.get(PAGE, BOB)).text
    more = unescape(re.search(r'hx-get="(\?[^"]*)"', shown)[1])
    forge.answers[PULL].update(change)
    part = await pages.client.get(PAGE + more, headers=IN_PLACE | pages.callers.headers(BOB))
    assert (part.status_code, is_part(part), texts_in(part.text)) == (409, True, [])
    assert f'href="{PAGE}?style=unified">Load the present changes</a>' in part.text


async def test_further_files_name_the_changes_to_which_they_belong(pages, forge):
    part = await pages.client.get(f"{PAGE}?page=2", headers=IN_PLACE)
    assert (part.status_code, texts_in(part.text)) == (409, [])
    assert "does not say of which commit" in part.text


async def test_a_push_between_the_questions_of_a_page_does_not_mix_two_commits(pages, forge):
    forge.steps = {PULL: [lambda: push(forge, SECOND)], f"{PULL}.diff": [lambda: push(forge, FIRST)]}
    shown = (await pages.get(PAGE, BOB)).text
    assert forge.steps == {PULL: [], f"{PULL}.diff": []}
    [commit] = form_of(shown, "/pulls/1/reviews", "Submit review").values["commit_id"]
    assert texts_in(shown) == [TEXTS[commit]]


async def test_a_page_whose_changes_do_not_rest_says_so(pages, forge):
    forge.steps = {PULL: [lambda sha=sha: push(forge, sha) for sha in (SECOND, FIRST) * 5]}
    shown = await pages.get(PAGE, BOB)
    assert (shown.status_code, texts_in(shown.text), sends_review(shown.text)) == (409, [], False)
    assert "Load the present changes" in shown.text


@pytest.mark.parametrize("page", [PAGE, f"{PAGE}?page=2", f"{PAGE}?file=1"])
async def test_links_from_a_part_of_the_changes_lead_to_no_others(pages, forge, page):
    shown = (await pages.get(page, BOB)).text
    links = {unescape(link) for link in re.findall(r'href="(?:/ann/demo/pulls/1/files)?(\?[^"]*)"', shown)}
    assert len(links) >= 5
    for link in links:
        assert texts_in((await pages.get(PAGE + link, BOB)).text) == ["first"]
    push(forge, SECOND)
    for link in links:
        answer = await pages.get(PAGE + link, BOB)
        assert (answer.status_code, texts_in(answer.text)) == (409, []), link
        assert (
            "The head was 1111111111 and is now 2222222222" in answer.text,
            sends_review(answer.text),
        ) == (
            True,
            False,
        )


async def test_the_diff_as_text_is_of_the_changes_on_the_page(pages, forge):
    shown = (await pages.get(PAGE, BOB)).text
    target = f"commit_id={FIRST}&amp;base_branch=main&amp;merge_base={'0' * 40}"
    assert f'href="/ann/demo/pulls/1.diff?{target}">Raw diff</a>' in shown
