"""Comments on lines as conversations."""

from ingot_web.diffs.rules.parsing import parse
from ingot_web.reviews.rules.conversations import conversations_of, place

from ..diffs.test_parsing import CHANGED


def _comment(number, *, new=0, old=0, review=1, **more):
    return {"id": number, "path": "src/a.py", "position": new, "original_position": old,
            "diff_hunk": "@@\n a",
            "pull_request_review_id": review, "resolver": None, "outdated": False, **more}  # fmt: skip


def test_comments_of_a_review_on_one_line_are_one_conversation_below_it():
    comments = [_comment(3, new=4), _comment(1, new=4), _comment(2, old=4, review=9)]
    conversations = conversations_of([(one, "") for one in comments], {9})
    diff = parse(CHANGED)
    place(diff, conversations)

    assert [(one.id, one.is_old, len(one.comments), one.is_pending) for one in conversations] == [
        (1, False, 2, False),
        (2, True, 1, True),
    ]
    placed = {line.text: line.conversations for line in diff.files[0].lines if line.conversations}
    assert placed == {"new": [conversations[0]], "old": [conversations[1]]}


def test_what_is_outdated_or_elsewhere_stands_below_no_line():
    comments = [_comment(1, new=4, outdated=True), _comment(2, new=999), _comment(3, new=3, path="other")]
    conversations = conversations_of([(one, "") for one in comments], set())
    diff = parse(CHANGED)
    place(diff, conversations)

    assert not any(line.conversations for line in diff.files[0].lines)
    assert (conversations[0].is_outdated, conversations[0].hunk) == (True, ["@@", " a"])


def test_the_changes_to_which_something_was_said_begin_with_no_empty_line():
    for hunk, shown in (("@@\n \n+\n+a\n", ["+a", ""]), ("@@\n-\n+\n \n ", []), ("@@\n a", ["@@", " a"])):
        (conversation,) = conversations_of([(_comment(1, new=4, diff_hunk=hunk), "")], set())
        assert conversation.hunk == shown


def test_a_comment_on_a_line_that_has_an_outdated_one_is_a_conversation_of_its_own():
    comments = [_comment(1, new=4, outdated=True), _comment(2, new=4, review=2)]
    conversations = conversations_of([(one, "") for one in comments], {2})
    diff = parse(CHANGED)
    place(diff, conversations)

    assert [(one.id, one.review_id, one.is_pending) for one in conversations] == [(1, 1, False), (2, 2, True)]
    assert [line.conversations for line in diff.files[0].lines if line.conversations] == [[conversations[1]]]
