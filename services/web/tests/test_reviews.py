"""Reviews as they are written on pages."""

import pytest

from ingot_contracts.testing.forms import form_of

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


async def test_the_preview_of_a_comment_does_not_send_the_review_that_is_being_written(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [_review(7, "PENDING", comments=0)]
    page = "/ann/demo/pulls/1/files?at=1R4"
    shown = await pages.submit(page, "Preview", to="/pulls/1/comments", body="Why?", caller=BOB)

    assert "Comment now" not in shown.text
    await pages.submit(shown.text, "Add to your review", to="/pulls/1/comments", caller=BOB)
    comment = {"path": "src/a.py", "body": "Why?", "new_position": 4}
    assert forge.sent == [("POST", f"{PULL}/reviews", {"event": "PENDING", "comments": [comment]})]

    forge.answers[f"{PULL}/reviews"] = []
    shown = await pages.submit(page, "Preview", to="/pulls/1/comments", body="Why?", caller=BOB)
    assert "now" in form_of(shown.text, "/pulls/1/comments", "Comment now").buttons["Comment now"]


async def test_of_many_reviews_the_latest_show_what_they_say_to_lines(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [_review(number, "COMMENT") for number in range(1, 131)]
    forge.answers[f"{HOME}/issues/1/timeline"] = [
        {
            "id": number,
            "type": "review",
            "review_id": number,
            "user": ANN_USER,
            "body": "",
            "created_at": MOMENT,
        }
        for number in range(1, 4)
    ]
    shown = await pages.get("/ann/demo/pulls/1/files")
    ids = [path.split("/")[-2] for path in forge.read_paths if path.endswith("/comments")]
    assert ids == [str(number) for number in range(119, 131)]
    assert "of older reviews are not shown here" in shown.text

    forge.read_paths.clear()
    shown = await pages.get("/ann/demo/pulls/1")
    assert [path.split("/")[-2] for path in forge.read_paths if path.endswith("/comments")] == ["1", "2", "3"]
    assert "not shown here" not in shown.text


async def test_a_conversation_on_a_line_is_resolved_where_it_stands(pages, forge):
    comment = {"id": 5, "path": "src/a.py", "position": 4, "original_position": 0, "diff_hunk": "@@", "user": ANN_USER,
               "pull_request_review_id": 7, "resolver": None, "outdated": False, "body": "Why?",
               "created_at": MOMENT}  # fmt: skip
    forge.answers |= {f"{PULL}/reviews": [_review(7, "COMMENT")], f"{PULL}/reviews/7/comments": [comment]}
    answer = await pages.submit("/ann/demo/pulls/1/files", "Resolve", to="/comments/5/resolve", caller=BOB)

    assert answer.headers["location"] == "/ann/demo/pulls/1/files?style=unified#thread-5"
    assert forge.sent == [("POST", f"{HOME}/pulls/comments/5/resolve", {})]
