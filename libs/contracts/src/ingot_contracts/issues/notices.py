"""Notices about issues and pull requests, which mail asks for at sending, for each reader."""

from typing import Literal

import msgspec

NoticeReason = Literal["mentioned", "requested", "participating", "watching", "own"]
"""Cause of a notice for one person, the strongest one.

``requested``: assigned, or asked for a review. ``own``: the person did it.
"""
NoticeState = Literal["open", "closed", "merged"]


class NoticeSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of a notice by ids: a comment, a review or a reply in one, else the issue itself."""

    actor_id: int = 0
    comment_id: int = 0
    review_id: int = 0
    reply_id: int = 0
    is_opened: bool = False


class NotifiedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person to notify."""

    account_id: int
    reason: NoticeReason


class IssueNotice(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/issues/{id}/notice: a notice as it is now, if the reader may read it; else 404.

    ``text`` is Markdown. ``actor`` is a login, empty for a deleted account.
    """

    repository_id: int
    full_name: str
    number: int
    title: str
    is_pull: bool
    state: NoticeState
    url: str
    actor: str = ""
    text: str = ""
