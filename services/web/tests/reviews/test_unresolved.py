"""Unresolved conversations of a pull request, and changes since the caller's last review."""

import pytest

from ..forge import ANN_USER, HOME, MOMENT, issue
from ..test_forms import ANSWERS, HEAD
from ..world import ANN, BOB

PAGE = "/ann/demo/pulls/1"
PULL = f"{HOME}/pulls/1"
OLD = "4" * 40


def comment(number, **changed):
    fields = {"id": number, "path": f"{number}.py", "position": 4, "original_position": 0, "diff_hunk": "@@"}
    review = {"pull_request_review_id": number, "original_commit_id": OLD, "outdated": False}
    words = {"user": ANN_USER, "resolver": None, "body": "Why?", "created_at": MOMENT}
    return fields | review | words | changed


def review(number, **changed):
    return {
        "id": number, "state": "COMMENT", "body": "", "comments_count": 1, "user": ANN_USER, "stale": False,
        "dismissed": False, "submitted_at": MOMENT, "commit_id": "1" * 40,
    } | changed  # fmt: skip


@pytest.fixture
def forge(forge):
    facts = {"pull_request": {"merged": False, "draft": False}, "base": {"ref": "main"}, "head": HEAD}
    forge.answers |= ANSWERS | {PULL: issue(merged=False, mergeable=True, **facts)}
    return forge


@pytest.mark.parametrize("page", ["", "/files"])
async def test_unresolved_conversations_come_first_with_a_link_to_each(pages, forge, page):
    forge.answers[f"{PULL}/comments"] = [
        comment(5),
        comment(6, resolver=ANN_USER),
        comment(7, outdated=True),
        comment(8),
    ]
    forge.answers[f"{PULL}/reviews"] = [review(5), review(6), review(7), review(8, state="PENDING")]
    shown = (await pages.get(f"{PAGE}{page}", ANN)).text
    assert "2 unresolved conversations" in shown
    assert f'href="{PAGE}/files?path=5.py#thread-5">5.py:4</a>' in shown
    assert f'href="{PAGE}#pullrequestreviewcomment-7">7.py:4</a> <span class="badge">Outdated' in shown
    first = 'id="thread"' if not page else 'class="changes"'
    assert shown.index('id="unresolved"') < shown.index(first)


async def test_an_outdated_conversation_says_on_what_it_was(pages, forge):
    forge.answers[f"{PULL}/comments"] = [comment(7, outdated=True)]
    forge.answers[f"{PULL}/reviews"] = [review(7)]
    event = {
        "id": 3,
        "type": "review",
        "review_id": 7,
        "user": ANN_USER,
        "body": "",
        "created_at": MOMENT,
        "ref_commit_sha": "",
    }
    forge.answers[f"{HOME}/issues/1/timeline"] = [event]
    shown = (await pages.get(PAGE, ANN)).text
    assert f"Outdated</span> was on line 4 of <code>{OLD[:10]}</code>" in shown


async def test_changes_since_the_last_review_of_the_viewer_are_one_link(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [
        review(5, commit_id=OLD),
        review(6, user=ANN_USER | {"login": "carl"}),
    ]
    link = f'href="/ann/demo/compare/{OLD}...{"1" * 40}">Changes since your last review</a>'
    assert link in (await pages.get(f"{PAGE}/files", ANN)).text
    forge.failures[f"{HOME}/git/commits/{OLD}"] = 404
    rewritten = (await pages.get(f"{PAGE}/files", ANN)).text
    assert (link in rewritten, "The branch was rewritten since your last review" in rewritten) == (
        False,
        True,
    )
    assert f'href="{PAGE}/range-diff?old={OLD}&amp;new={"1" * 40}">' in rewritten
    for caller in (BOB, None):
        assert "your last review" not in (await pages.get(f"{PAGE}/files", caller)).text
    forge.answers[f"{PULL}/reviews"].append(review(9))
    assert "your last review" not in (await pages.get(f"{PAGE}/files", ANN)).text
