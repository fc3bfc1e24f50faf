"""Columns of imported rows: clipped texts, people, reactions and files."""

from collections.abc import Sequence
from typing import Any, get_args

from ingot_chassis.errors import Invalid
from ingot_contracts.issues.reactions import ReactionContent
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportedComment,
    ImportedIssue,
    ImportedPerson,
    ImportedReaction,
)
from ingot_issues.labels.rules.repository import clean_color

NO_COLOR = "ededed"
"""The color of a label whose own color is not valid."""
REACTIONS: frozenset[str] = frozenset(get_args(ReactionContent))
CLIPPED = "\n\n… (the rest of this text is longer than the limit)"


def reaction_rows(
    issue_id: int, comment_id: int | None, reactions: Sequence[ImportedReaction]
) -> list[tuple[dict[str, Any], ImportedPerson]]:
    """Return the rows of reactions with their people, without duplicates of person and content."""
    unique = {(one.author, one.content): one for one in reactions if one.content in REACTIONS}
    return [
        (
            {
                "issue_id": issue_id,
                "comment_id": comment_id,
                "account_id": one.author.account_id,
                "content": one.content,
                "created_at": one.created_at,
            },
            one.author,
        )
        for one in unique.values()
    ]


def file_rows(
    repository_id: int, issue_id: int, comment_id: int | None, text: ImportedIssue | ImportedComment
) -> list[dict[str, Any]]:
    """Return the rows of the files of an issue or comment."""
    return [
        {
            "repository_id": repository_id,
            "uuid": one.uuid,
            "issue_id": issue_id,
            "comment_id": comment_id,
            "uploader_id": text.author.account_id,
            "address": one.address.replace("\0", ""),
            "name": one.name.replace("\0", ""),
            "local_url": one.local_url,
            "original_url": one.original_url.replace("\0", ""),
            "created_at": one.created_at,
        }
        for one in text.files
    ]


def file_links(text: ImportedIssue | ImportedComment) -> dict[str, str]:
    """Return the local links of files by their links at the source."""
    return {one.original_url: one.local_url for one in text.files if one.original_url and one.local_url}


def account_list(people: Sequence[ImportedPerson]) -> list[int]:
    """Return the ids of people who have an account here, without duplicates."""
    return list(dict.fromkeys(one.account_id for one in people if one.account_id != GHOST_ID))


def author_columns(person: ImportedPerson) -> dict[str, Any]:
    return {
        "author_id": person.account_id,
        "original_author": one_line(person.name),
        "original_author_id": person.source_id,
    }


def one_line(text: str) -> str:
    return " ".join(text.replace("\0", "").split())[:NAME_CHARACTERS]


def clipped(text: str, most: int) -> str:
    """Return a text without characters that no column can store, clipped to the limit."""
    text = text.replace("\0", "")
    return text if len(text) <= most else text[: most - len(CLIPPED)] + CLIPPED


def clean_label_color(color: str) -> str:
    try:
        return clean_color(color)
    except Invalid:
        return NO_COLOR
