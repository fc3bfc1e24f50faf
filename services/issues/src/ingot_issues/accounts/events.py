"""Handlers of events that change the copies of accounts."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.identity import events as identity
from ingot_contracts.identity.accounts import Account, User, profile_of
from ingot_contracts.repos import events as repos
from ingot_issues.accounts import store

AccountEvent = (
    identity.UserCreated | identity.UserEdited | identity.OrganizationCreated | identity.OrganizationEdited
)


async def save(tx: Tx, event: AccountEvent, _envelope: Envelope) -> None:
    await store.save(tx, event.account)


async def remove_user(tx: Tx, event: identity.UserDeleted, _envelope: Envelope) -> None:
    """Delete the copy of a user. Texts of the user stay; their author is the ghost account."""
    await store.remove(tx, event.user_id)


async def remove_organization(tx: Tx, event: identity.OrganizationDeleted, _envelope: Envelope) -> None:
    await store.remove(tx, event.organization_id)


async def add_pusher(tx: Tx, event: repos.PushReceived, _envelope: Envelope) -> None:
    if event.ref.startswith("refs/heads/"):
        await store.add_missing(tx, account_of(event.pusher))


async def add_proposer(tx: Tx, event: repos.CommitsProposed, _envelope: Envelope) -> None:
    await store.add_missing(tx, account_of(event.pusher))


def account_of(user: User) -> Account:
    """Return the account of a user, made from the fields of an event, which omit a restriction."""
    return Account(
        id=user.id,
        kind="user",
        login=user.login,
        full_name=user.full_name,
        email=user.email,
        avatar_url=user.avatar_url,
        profile=profile_of(user),
    )


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {
    identity.UserCreated: save,
    identity.UserEdited: save,
    identity.UserDeleted: remove_user,
    identity.OrganizationCreated: save,
    identity.OrganizationEdited: save,
    identity.OrganizationDeleted: remove_organization,
    repos.PushReceived: add_pusher,
    repos.CommitsProposed: add_proposer,
}
