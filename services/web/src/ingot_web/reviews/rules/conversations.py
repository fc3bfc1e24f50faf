"""Conversations: comments of one review on one line of a file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any

from markupsafe import Markup

from ingot_web.diffs.rules.parsing import Diff, DiffLine
from ingot_web.reviews.rules.suggestions import lines_commented, suggestion_in


@dataclass
class Conversation:
    """Comments of a review on one line, with replies, which are resolved together.

    ``is_old``: the line number is from before the changes.
    """

    path: str
    is_old: bool
    line: int
    comments: list[tuple[Any, Markup]] = field(default_factory=list)
    """The comments, each with its text as HTML."""
    is_pending: bool = False
    """True if only the author sees it, because the review is pending."""

    @property
    def id(self) -> int:
        """Return the id of the first comment. Replies and resolutions refer to it."""
        return int(self.comments[0][0]["id"])

    @property
    def review_id(self) -> int:
        return int(self.comments[0][0]["pull_request_review_id"])

    @property
    def resolver(self) -> Any:
        """Return the person who resolved the conversation; None if it is open."""
        return self.comments[0][0]["resolver"]

    @property
    def is_outdated(self) -> bool:
        return bool(self.comments[0][0]["outdated"])

    def suggestion_of(self, comment: Any) -> str | None:
        """Return the suggestion of one of the comments; None if it cannot be applied."""
        is_current = not (self.is_old or self.is_outdated or self.is_pending or self.resolver)
        if not is_current or not lines_commented(comment["diff_hunk"]):
            return None
        return suggestion_in(comment["body"])

    @property
    def commit(self) -> str:
        """Return the commit on which the conversation began; empty if unknown."""
        return str(self.comments[0][0].get("original_commit_id") or "")

    @property
    def hunk(self) -> list[str]:
        """Return the last four lines of the commented hunk, without leading empty lines."""
        lines = str(self.comments[0][0]["diff_hunk"]).split("\n")[-4:]
        return list(dropwhile(lambda line: not line[1:].strip(), lines))


def conversations_of(comments: Iterable[tuple[Any, Markup]], pending_reviews: set[int]) -> list[Conversation]:
    """Group comments into conversations, ordered by their first comments."""
    conversations: dict[tuple[int, str, bool, int], Conversation] = {}
    for comment, html in sorted(comments, key=lambda pair: pair[0]["id"]):
        is_old = bool(comment["original_position"])
        line = comment["original_position"] or comment["position"]
        review = comment["pull_request_review_id"]
        conversation = conversations.setdefault(
            (review, comment["path"], is_old, line),
            Conversation(comment["path"], is_old, line, is_pending=review in pending_reviews),
        )
        conversation.comments.append((comment, html))
    return list(conversations.values())


def pending_reviews(reviews: Iterable[Any]) -> set[int]:
    """Return the ids of pending reviews, which only their authors see."""
    return {review["id"] for review in reviews if review["state"] == "PENDING"}


def unresolved(comments: Iterable[Any], reviews: Iterable[Any]) -> list[Conversation]:
    """Return the open conversations that all readers see, without HTML."""
    grouped = conversations_of(((comment, Markup()) for comment in comments), pending_reviews(reviews))
    return [one for one in grouped if not one.resolver and not one.is_pending]


def place(diff: Diff, conversations: Iterable[Conversation]) -> None:
    """Add each conversation to its line, if the diff still shows the line."""
    current = [conversation for conversation in conversations if not conversation.is_outdated]
    paths = {conversation.path for conversation in current}
    lines: dict[tuple[str, bool, int], DiffLine] = {}
    for file in diff.files:
        if not paths & {file.path, file.old_path}:
            continue
        for line in file.lines:
            if line.new is not None:
                lines[file.path, False, line.new] = line
            if line.old is not None:
                lines[file.path, True, line.old] = line
                lines[file.old_path, True, line.old] = line
    for conversation in current:
        if target := lines.get((conversation.path, conversation.is_old, conversation.line)):
            target.conversations.append(conversation)
