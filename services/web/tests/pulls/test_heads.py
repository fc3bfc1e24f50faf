"""The line above all pages of a pull request."""

import re

import pytest

from ..forge import HOME, issue
from ..test_forms import ANSWERS, HEAD
from ..world import ANN, BOB

PAGE = "/ann/demo/pulls/1"


@pytest.fixture
def forge(forge):
    facts = {"pull_request": {"merged": False, "draft": False}, "base": {"ref": "main"}, "head": HEAD}
    size = {"additions": 12, "deletions": 3}
    forge.answers |= ANSWERS | {f"{HOME}/pulls/1": issue(title="Old", merged=False, **facts, **size)}
    forge.answers[f"{HOME}/commits/refs/pull/1/head/status"] = {
        "state": "failure",
        "total_count": 2,
        "statuses": [],
    }
    return forge


def head_of(html):
    return re.search(r'<div class="pull-head">(.*?)<div class="pull-facts">', html, re.DOTALL)[1]


@pytest.mark.parametrize("page", ["", "/commits", "/files"])
async def test_every_page_says_number_title_state_checks_and_size_in_its_head(pages, forge, page):
    head = head_of((await pages.get(f"{PAGE}{page}", BOB)).text)
    words = " ".join(re.sub("<[^>]*>", " ", head.partition("<form")[0]).split())
    assert words.startswith("Open Old #1 Failure +12 \N{MINUS SIGN}3 Review")


async def test_the_review_is_written_in_the_head_of_the_files(pages, forge):
    assert 'action="/ann/demo/pulls/1/reviews"' in head_of((await pages.get(f"{PAGE}/files", BOB)).text)
    assert '<a class="button primary" href="/ann/demo/pulls/1/files">Review</a>' in head_of(
        (await pages.get(PAGE, ANN)).text
    )


async def test_no_review_is_offered_to_visitors_when_it_is_closed(pages, forge):
    assert "Review" not in head_of((await pages.get(f"{PAGE}/files", None)).text)
    forge.answers[f"{HOME}/pulls/1"]["state"] = "closed"
    for page in ("", "/files"):
        assert "Review" not in head_of((await pages.get(f"{PAGE}{page}", BOB)).text)
