"""Invitations: the right to invite, the rights that an invitation gives, and a check of the inviter's rights.

Sending an invitation looks up no account, so its response reveals none. The link is a secret that only
readers of the address have. It is used once, by the account with which its reader is signed in.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid, NotFound, TooManyRequests
from ingot_chassis.security.principal import ANONYMOUS, Principal
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.invitations import Invitation
from ingot_identity.access import rules as access
from ingot_identity.access.store import teams as team_rows
from ingot_identity.access.store.teams import TeamRow
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.presenter import Presenter, whole_seconds
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.invitations import store
from ingot_identity.invitations.store import InvitationRow, Invited
from ingot_identity.messages import store as message_store
from ingot_identity.messages.rules import LIFETIMES, Messages
from ingot_identity.messages.store import MessageRow
from ingot_identity.repositories import store as repositories
from ingot_identity.teams import rules as teams

KIND: Literal["invitation"] = "invitation"
PER_INVITER = 50
"""Limit of invitations that a person may send within an hour."""


class Target(NamedTuple):
    """The target of an invitation: its description, and the path of its page.

    ``team`` is None for a repository. The page of a team is the page of its organization.
    """

    words: str
    path: str
    team: TeamRow | None = None


class InvitationLink(NamedTuple):
    """A valid link, with its message, invitation, inviter and target."""

    message: MessageRow
    invitation: InvitationRow
    inviter: AccountRow
    target: Target


async def get_inviter(db: Executor, account_id: int) -> AccountRow:
    """Return the account that invites. Raises Denied if it was just deleted."""
    row = await accounts.get(db, account_id)
    if row is None:
        raise Denied("the account of the inviter is gone")
    return row


async def invite_to_team(
    tx: Tx, messages: Messages, inviter: AccountRow, team: TeamRow, address: str
) -> InvitationRow:
    """Invite an address to a team. Raises Invalid, TooManyRequests.

    The caller has checked that the inviter may add members.
    """
    await teams.lock_team(tx, team.id)
    return await _invite(tx, messages, inviter, address, Invited(team_id=team.id))


async def invite_to_repository(
    tx: Tx, messages: Messages, inviter: AccountRow, repository_id: int, address: str, permission: str
) -> InvitationRow:
    """Invite an address to a repository. Raises Invalid, TooManyRequests, NotFound.

    repos has checked that the inviter may add collaborators.
    """
    invited = Invited(repository_id=repository_id)
    return await _invite(tx, messages, inviter, address, invited, permission=permission)


async def _invite(
    tx: Tx,
    messages: Messages,
    inviter: AccountRow,
    address: str,
    invited: Invited,
    *,
    permission: str = "",
) -> InvitationRow:
    """Invite an address. An earlier invitation of the address to the same target ends.

    Raises Invalid, also if the site sends no mail, TooManyRequests, and NotFound if the target was deleted.
    """
    if not messages.is_on:
        raise Invalid.field("email", "no_mail", "this site sends no mail; add the account by its name")
    address = address.strip()
    names.check_email(address)
    if await store.count_of_inviter(tx, inviter.id) >= PER_INVITER:
        raise TooManyRequests("too many invitations; try again later", headers={"Retry-After": "3600"})
    digest = messages.digest_of(address)
    for ended in await store.end_of_address(tx, invited, digest):
        await message_store.end_of_subject(tx, KIND, ended)
    invitation_id = await store.add(
        tx,
        **invited._asdict(),
        permission=permission,
        inviter_id=inviter.id,
        address_digest=digest,
        sealed_address=messages.seal(address),
        expires_at=now() + LIFETIMES[KIND],
    )
    row = await store.get(tx, invitation_id)
    shown = await _target(tx, row) if row is not None else None
    if row is None or shown is None:
        raise NotFound
    fields = {"inviter": inviter.full_name or inviter.login, "target": shown.words}
    await messages.request(tx, KIND, address=address, subject_id=invitation_id, fields=fields)
    return row


async def withdraw(tx: Tx, invitation_id: int, invited: Invited) -> InvitationRow:
    """End and return an invitation to a team or repository. Raises NotFound."""
    row = await store.end(tx, invitation_id, invited)
    if row is None:
        raise NotFound
    await message_store.end_of_subject(tx, KIND, row.id)
    return row


async def find(db: Executor, messages: Messages, code: str) -> InvitationLink | None:
    """Return the invitation of the link with ``code``; None if it has ended or its target was deleted."""
    message = await messages.get_by_code(db, KIND, code)
    row = await store.get(db, message.subject_id) if message is not None else None
    if message is None or row is None:
        return None
    inviter, target = await accounts.get(db, row.inviter_id), await _target(db, row)
    if inviter is None or target is None:
        return None
    return InvitationLink(message, row, inviter, target)


async def is_due(db: Executor, message: MessageRow) -> bool:
    """True if the invitation of a message is still open, so its mail must be sent."""
    return await store.get(db, message.subject_id) is not None


async def accept_to_team(tx: Tx, messages: Messages, code: str, account_id: int) -> InvitationLink:
    """Add the account to the team of the link, and end the invitation.

    Raises NotFound, Conflict, and Denied if the inviter may no longer add members.
    """
    link = await find(tx, messages, code)
    if link is None or link.target.team is None:
        raise NotFound
    await teams.lock_team(tx, link.target.team.id)
    await _require_rights(tx, link)
    await _end(tx, link)
    await teams.add_member(tx, link.target.team.id, account_id)
    return link


async def accept_to_repository(tx: Tx, messages: Messages, code: str) -> InvitationLink:
    """End the invitation to a repository. repos then adds the collaborator.

    repos has checked the rights of the inviter. Raises NotFound, Denied.
    """
    link = await find(tx, messages, code)
    if link is None or link.invitation.repository_id is None:
        raise NotFound
    await _require_rights(tx, link)
    await _end(tx, link)
    return link


async def begin_registration(tx: Tx, messages: Messages, code: str) -> InvitationLink:
    """Record that the link is used to create an account.

    Raises NotFound if the link has ended or was already used for this. Raises Denied if the inviter may no
    longer invite.
    """
    link = await find(tx, messages, code)
    if link is None:
        raise NotFound
    await _require_rights(tx, link)
    if not await store.mark_registered(tx, link.invitation.id):
        raise NotFound
    return link


async def _end(tx: Tx, link: InvitationLink) -> None:
    row = link.invitation
    if await store.end(tx, row.id, Invited(row.team_id, row.repository_id)) is None:
        raise NotFound
    await message_store.end_of_subject(tx, KIND, link.invitation.id)


async def _require_rights(db: Executor, link: InvitationLink) -> None:
    """Raise Denied unless the inviter may still invite.

    For a repository, identity only knows if the inviter has access; repos checks the level.
    """
    inviter = link.inviter
    principal = Principal(id=inviter.id, name=inviter.login, admin=inviter.admin)
    if inviter.active and not inviter.login_prohibited:
        if link.target.team is not None:
            try:
                await access.require_team_owner(db, principal, link.target.team)
            except NotFound:
                pass
            else:
                return
        elif await repositories.is_granted(db, link.invitation.repository_id or 0, principal):
            return
    raise Denied(
        f"{inviter.login} may not invite people to {link.target.words} any more; ask for a new invitation"
    )


async def _target(db: Executor, row: InvitationRow) -> Target | None:
    if row.team_id is not None:
        team = await team_rows.get(db, row.team_id)
        organization = await accounts.get(db, team.organization_id) if team is not None else None
        if team is None or organization is None:
            return None
        return Target(f"the team {team.name} of {organization.login}", f"/{organization.login}", team)
    named = await repositories.get_named(db, row.repository_id or 0)
    if named is None:
        return None
    return Target(f"the repository {named.login}/{named.name}", f"/{named.login}/{named.name}")


async def list_inviters(db: Executor, rows: Sequence[InvitationRow]) -> dict[int, AccountRow]:
    """Return the accounts that sent these invitations, by id."""
    inviters = await accounts.list_by_id(db, {row.inviter_id for row in rows})
    return {account.id: account for account in inviters}


def present(row: InvitationRow, inviter: AccountRow, address: str, presenter: Presenter) -> Invitation:
    """Return an invitation in the format of the API. Email addresses of the inviter are not shown."""
    shown = presenter.user(inviter, None, ANONYMOUS)
    user = User(**{name: getattr(shown, name) for name in User.__struct_fields__})
    return Invitation(
        id=row.id,
        email=address,
        permission=row.permission,
        inviter=user,
        created_at=whole_seconds(row.created_at),
        expires_at=whole_seconds(row.expires_at),
    )
