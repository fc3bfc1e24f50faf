"""Invitations to teams and repositories. identity keeps them, and sends their links.

repos asks for those to repositories: it decides who may invite. web asks for the invitation behind a link.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.limits import Name

InvitationKind = Literal["team", "repository"]


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation that is still open. `permission` is empty for a team, which has its own."""

    id: int
    email: str
    permission: str = ""
    inviter: User
    created_at: datetime
    expires_at: datetime


class Invitations(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/invitations: a page of them, and how many there are."""

    rows: Sequence[Invitation]
    total: int


class InviteToRepository(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/invitations, for an inviter who may add collaborators."""

    email: Name
    permission: Name
    inviter_id: int


class LinkedInvitation(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/invitations?code=…: the invitation behind a link. The answer is 404 when it has ended.

    ``target`` is its team or repository in words, and ``path`` the path of its page. ``may_register``: the
    link is enough to make an account.
    """

    kind: InvitationKind
    target: str
    path: str
    inviter_id: int
    inviter: str
    repository_id: int = 0
    permission: str = ""
    expires_at: datetime
    may_register: bool = False


class InvitationCode(msgspec.Struct, frozen=True, kw_only=True):
    """The secret of a link that is followed, which ends the invitation.

    web sends it to ``POST /internal/team-invitations``, or to ``POST /internal/invitations`` of repos: the
    caller of the request accepts it. repos sends it to ``POST /internal/repository-invitations``.
    """

    code: Name
