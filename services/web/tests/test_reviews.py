"""Reviews as they are written on pages."""

import pytest

from .forge import ANN_USER, HOME, MOMENT, issue
from .test_diffs import CHANGED
from .world import BOB

PULL = f"{HOME}/pulls/1"


@pytest.fixture
def forge(forge):
    forge.answers[f"{HOME}/issues/1"] = pull = issue(
        pull_request={"merged": False},
        base={"ref": "main"},
        head={"ref": "topic", "repo": None, "sha": "1" * 40},
        merged=False,
        mergeable=True,
    )
    forge.answers |= {PULL: pull, f"{PULL}.diff": CHANGED.encode()}
    return forge


def _review(number, state, *, comments=1):
    return {"id": number, "state": state, "body": "", "comments_count": comments, "user": ANN_USER, "stale": False,
            "dismissed": False, "submitted_at": MOMENT}  # fmt: skip


async def test_a_review_is_sent_with_its_words(pages, forge):
    await pages.submit(
        "/ann/demo/pulls/1/files",
        "Send the review",
        to="/pulls/1/reviews",
        body="Good",
        event="APPROVED",
        caller=BOB,
    )

    assert forge.sent == [("POST", f"{PULL}/reviews", {"event": "APPROVED", "body": "Good"})]
