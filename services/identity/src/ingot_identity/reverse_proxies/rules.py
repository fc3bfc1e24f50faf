"""The account of a user of the reverse proxy.

The first sign-in links the user to an existing or a new account, depending on the settings. Later sign-ins
use the link. Renaming the account keeps the link, and an account that takes the old name is not linked.

An equal name is no proof, because another person may have registered it here. So an existing account is
linked only if the proxy sends a confirmed address of it. Site administrators are never linked this way.
"""

from typing import Literal

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.identity.credentials import ProxySignIn
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow
from ingot_identity.emails import store as emails
from ingot_identity.messages.rules import Messages
from ingot_identity.networks.rules import note_sign_in
from ingot_identity.reverse_proxies import store
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.rules import stamp_of
from ingot_identity.two_factors import store as two_factors
from ingot_identity.users.rules import create_user

FirstSignIn = Literal["link", "create", "link_or_create"]
VIA = "proxy"
UNKNOWN = "no account belongs to this user of the reverse proxy"
UNPROVED = "the reverse proxy names no confirmed address of the account with this name"


async def is_account_of(db: Executor, proxy_user: str, account: AccountRow) -> bool:
    """Return True if the account belongs to the user of the proxy.

    It is the linked account. Without a link of the user, it is the account with the same name. But an
    account that is linked with another user is not. A sign-in needs more than an equal name.
    """
    linked = await store.get_account(db, proxy_user)
    if linked is not None:
        return linked.id == account.id
    return account.lower_login == proxy_user.lower() and not await store.is_linked(db, account.id)


async def sign_in(
    tx: Tx, presenter: Presenter, messages: Messages, first_sign_in: FirstSignIn, person: ProxySignIn
) -> str:
    """Start a session of a user of the proxy. Return its secret.

    Return an empty text for an account with a second factor, because the sign-in page must ask for it. Raises
    Denied if no account belongs to the user, or if the account may not sign in. Raises Invalid for names and
    addresses that no new account can have.
    """
    row = await store.get_account(tx, person.user) or await _first_account(
        tx, presenter, first_sign_in, person
    )
    if await two_factors.is_enabled(tx, row.id):
        return ""
    secret = await browser_sessions.start(
        tx,
        row.id,
        stamp_of(row.password_hash),
        address=person.address,
        user_agent=person.user_agent,
        # The proxy may have signed the person in long ago. Without a password there is nothing to ask for.
        proved=not row.password_hash,
    )
    await accounts.mark_signed_in(tx, row.id)
    await note_sign_in(tx, messages, row.id, address=person.address, user_agent=person.user_agent)
    await add_entry(tx, _actor(row, person), "session.start", f"user {row.login}", {})
    return secret


async def _first_account(
    tx: Tx, presenter: Presenter, first_sign_in: FirstSignIn, person: ProxySignIn
) -> AccountRow:
    named = await accounts.get_by_login(tx, person.user)
    if named is not None and first_sign_in in ("link", "link_or_create"):
        # An administrator of the proxy must not become one here.
        if named.kind != AccountKind.USER or named.admin:
            raise Denied(UNKNOWN)
        own = await emails.among(tx, named.id, [person.email.strip().lower()])
        if not any(row.confirmed_at for row in own):
            raise Denied(UNPROVED)
        if not await store.add(tx, person.user, named.id):
            raise Denied(UNKNOWN)
        details = {"source": VIA, "login_name": person.user}
        await add_entry(tx, _actor(named, person), "source.link", f"user {named.login}", details)
        return named
    if named is not None or first_sign_in == "link":
        raise Denied(UNKNOWN)
    if not person.email:
        raise Invalid.field("email", "required", "is missing, so no account can be made")
    row = await create_user(
        tx, presenter, login=person.user, email=person.email, password_hash="", full_name=person.name
    )
    await store.add(tx, person.user, row.id)
    await add_entry(tx, _actor(row, person), "user.create", f"user {row.login}", {"id": row.id})
    return row


def _actor(row: AccountRow, person: ProxySignIn) -> Actor:
    return Actor(row.id, row.login, via=VIA, address=person.address)
