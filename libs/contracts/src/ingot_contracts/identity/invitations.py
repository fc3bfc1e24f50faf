"""Invitations to teams and repositories. identity stores them and sends their links.

repos requests invitations to repositories, because it decides who may invite. web requests the invitation of
a link.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.limits import Name

InvitationKind = Literal["team", "repository"]


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """An open invitation. `permission` is empty for a team, which has its own permission."""

    id: int
    email: str
    permission: str = ""
    inviter: User
    created_at: datetime
    expires_at: datetime


class Invitations(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/invitations: a page of invitations, and their number."""

    rows: Sequence[Invitation]
    total: int


class InviteToRepository(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/repositories/{id}/invitations: a new invitation.

    repos has checked that the inviter may add collaborators.
    """

    email: Name
    permission: Name
    inviter_id: int


class LinkedInvitation(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/invitations?code=…: the invitation of a link. Answers 404 when it has ended.

    ``target`` describes its team or repository, and ``path`` is the path of the target's page.
    ``may_register``: the link is sufficient to create an account.
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
    """The secret of an invitation's link. The invitation ends when it is accepted.

    web sends the secret to ``POST /internal/team-invitations``, or to ``POST /internal/invitations`` of
    repos, for the caller of the request. repos sends it to ``POST /internal/repository-invitations``.
    """

    code: Name
