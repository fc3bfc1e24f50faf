"""Notices about issues and pull requests. mail requests them for each reader before sending."""

from typing import Literal

import msgspec

NoticeReason = Literal["mentioned", "requested", "participating", "watching", "own"]
"""The strongest reason why a person gets a notice.

``requested``: assigned, or requested as a reviewer. ``own``: the person caused the event.
"""
NoticeState = Literal["open", "closed", "merged"]


class NoticeSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of a notice by ids: a comment, a review or a reply in it, otherwise the issue itself."""

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
    """GET /internal/issues/{id}/notice: a notice in its current state; 404 if the reader may not read it.

    ``text`` is Markdown. ``head_sha`` is the last pushed head of a pull request, empty for an issue.
    ``actor`` is a login, empty for a deleted account.
    """

    repository_id: int
    full_name: str
    number: int
    title: str
    is_pull: bool
    state: NoticeState
    url: str
    head_sha: str = ""
    actor: str = ""
    text: str = ""
