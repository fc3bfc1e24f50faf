"""Links of accounts with sources. A source has its own id for each person."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.sources.store import identities as store
from ingot_identity.sources.store import mapped_members, sources
from ingot_identity.sources.store.tables import LOCAL, IdentityRow, SourceRow


async def link(
    tx: Tx, account_id: int, source: SourceRow, subject: str, *, login_name: str = "", email: str = ""
) -> IdentityRow:
    """Link the account with a person at the source. Return the link, which may already exist.

    Raises NotFound, and Conflict if the person or the account is linked with another.
    """
    await lock_for_update(tx, account_id)
    present = await store.get(tx, source.id, subject)
    if present is not None and present.account_id == account_id:
        return present
    values = {"source_id": source.id, "account_id": account_id, "subject": subject}
    if present is not None or not await store.add(tx, **values, login_name=login_name, email=email):
        raise Conflict(f"another account of this site, or of {source.title}, is linked already")
    row = await store.get(tx, source.id, subject)
    if row is None:
        raise NotFound
    return row


async def require_removable(tx: Tx, account_id: int, source_id: int, *, has_passkey: bool) -> AccountRow:
    """Lock the account, and return it.

    A passkey of a local account can replace a password. A passkey of a source's account cannot: it only
    follows a sign-in at the source. Raises NotFound if the link does not exist. Raises Conflict if the link
    is the only way to sign in, or if the source manages the account.
    """
    row = await lock_for_update(tx, account_id)
    links = await store.list_of_account(tx, account_id)
    link = next((link for link in links if link.source_id == source_id), None)
    if link is None:
        raise NotFound
    if link.managed:
        raise Conflict("the other system manages this account; only an administrator can unlink it")
    has_other_way = bool(row.password_hash) or (has_passkey and row.source_id == LOCAL)
    if not has_other_way and not await store.has_enabled(tx, account_id, besides=source_id):
        raise Conflict("it is the only way to sign in to this account; ask for a password first")
    return row


async def unlink(tx: Tx, account_id: int, source_id: int, *, has_passkey: bool) -> None:
    """Delete the link. Raises the errors of ``require_removable``."""
    row = await require_removable(tx, account_id, source_id, has_passkey=has_passkey)
    await _remove(tx, account_id, source_id)
    if row.source_id == source_id:
        await accounts.change(tx, account_id, source_id=LOCAL, login_name="")
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)


async def assign(tx: Tx, before: AccountRow, source_id: int, login_name: str) -> None:
    """Make ``source_id`` the source of a locked account. ``login_name`` is the name at the source.

    Raises Invalid. For ``LOCAL``, ``login_name`` is stored without effect.
    """
    if before.source_id not in (LOCAL, source_id):
        await _remove(tx, before.id, before.source_id)
    if source_id != LOCAL:
        source = await sources.get(tx, source_id)
        if source is None:
            raise Invalid.field("source_id", "unknown", "is no source of this site")
        if not login_name:
            raise Invalid.field("login_name", "required", "is required: the id of the person at the source")
        present = await store.get_of_account(tx, before.id, source_id)
        if present is not None and present.subject != login_name:
            await _remove(tx, before.id, source_id)
        try:
            await link(tx, before.id, source, login_name)
        except Conflict as error:
            raise Invalid.field("login_name", "taken", "is linked with another account") from error
    await accounts.change(tx, before.id, source_id=source_id, login_name=login_name)
    if before.source_id != source_id or (source_id != LOCAL and before.login_name != login_name):
        tx.emit(CredentialsRevoked(user_id=before.id), key=before.id)


async def keep_restriction(tx: Tx, link: IdentityRow) -> None:
    """Keep a restriction that the source of the link has set, as if an administrator had set it.

    Afterwards no source ends the restriction.
    """
    if link.gave_restricted:
        await store.keep_restriction(tx, link.account_id)


async def _remove(tx: Tx, account_id: int, source_id: int) -> None:
    """Delete a link. Rights and teams from the source's groups are kept, as if people had assigned them.

    A restriction from the source is kept, too. No source ends it afterwards.
    """
    link = await store.get_of_account(tx, account_id, source_id)
    if link is not None:
        await keep_restriction(tx, link)
    await store.remove(tx, account_id, source_id)
    await mapped_members.remove_all(tx, account_id, source_id)
