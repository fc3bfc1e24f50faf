"""Deactivates accounts of people who left their directory, and activates those of people who are back.

All others get the keys of their entries.

An account changes only after a complete list of people, and a second search for the person. So a failed or
truncated search deactivates no account, and neither does a list without people.
"""

from collections.abc import Sequence

import structlog

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.directories.clients.ldap import Directories
from ingot_identity.directories.clients.queries import DirectoryFailed, Entry
from ingot_identity.directories.rules.attributes import apply_keys
from ingot_identity.directories.rules.people import (
    keys_of,
    may_sign_in,
    query_of,
    raw_subject,
    server_of,
    subject_of,
)
from ingot_identity.oauth2.rules import flow
from ingot_identity.sources.rules.configs import LdapConfig, read_ldap
from ingot_identity.sources.rules.sources import Secrets
from ingot_identity.sources.store import identities
from ingot_identity.sources.store.tables import IdentityRow, SourceRow
from ingot_identity.users import rules as users

log = structlog.get_logger()


class Synchronization:
    """Compares the accounts of a directory with its people."""

    def __init__(
        self, db: Database, presenter: Presenter, secrets: Secrets, directories: Directories
    ) -> None:
        self._db, self._presenter, self._secrets = db, presenter, secrets
        self._directories = directories

    async def run(self, source: SourceRow) -> None:
        """Activate and deactivate the accounts of a source. Raises DirectoryFailed, Unavailable.

        A source without ``bind_dn`` cannot list people, so it is skipped.
        """
        config = read_ldap(source.config)
        async with self._db.read() as reader:
            links = await identities.list_of_source(reader, source.id)
        if not links or not config.bind_dn:
            return
        server, query = server_of(config, self._secrets.open(source.sealed_secret)), query_of(config)
        entries = await self._directories.list_people(server, query)
        present = _present(source, config, entries)
        if not present:
            raise DirectoryFailed(
                "user_filter and required_groups match no person; "
                "check them, base_dn, and the rights of bind_dn"
            )
        for link in links:
            if entry := present.get(link.subject):
                if link.deactivated:
                    await self._activate(source, link)
                await apply_keys(self._db, source, link, _actor(source), keys_of(config, entry))
                continue
            if link.deactivated:
                continue
            raw = raw_subject(config, link.subject)
            remaining = await self._directories.find_entries(server, query, raw)
            if any(may_sign_in(config, entry) for entry in remaining):
                continue
            await self._deactivate(source, link)

    async def _deactivate(self, source: SourceRow, link: IdentityRow) -> None:
        """Deactivate the account, unless an administrator of this site was appointed by hand.

        All sessions and grants to applications end. Tokens and keys work again after activation.
        """
        try:
            async with self._db.transaction() as tx:
                await accounts.lock_administrators(tx)
                account = await lock_for_update(tx, link.account_id)
                if account.admin and not link.gave_admin:
                    log.warning("an administrator left a directory", source=source.name, user=account.login)
                    return
                if not account.active:
                    return
                await users.edit_user(tx, self._presenter, account.id, {"active": False})
                await flow.end_all(tx, account.id)
                await identities.change(tx, link.id, deactivated=True)
                await _record(tx, source, account.login, active=False)
        except Invalid as error:
            log.warning("the last administrator left a directory", source=source.name, reason=error.message)

    async def _activate(self, source: SourceRow, link: IdentityRow) -> None:
        """Activate the account that the source deactivated, unless another one did as well."""
        async with self._db.transaction() as tx:
            account = await lock_for_update(tx, link.account_id)
            current = await identities.get(tx, source.id, link.subject)
            if current is None or current.account_id != account.id or not current.deactivated:
                return  # it was deactivated by hand since
            await identities.change(tx, link.id, deactivated=False)
            if any(each.deactivated for each in await identities.list_of_account(tx, account.id)):
                return
            await users.edit_user(tx, self._presenter, account.id, {"active": True})
            await _record(tx, source, account.login, active=True)


def _present(source: SourceRow, config: LdapConfig, entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the entries of people who may sign in, by id. Entries without a usable id are skipped."""
    present, skipped = dict[str, Entry](), list[str]()
    for entry in entries:
        if not may_sign_in(config, entry):
            continue
        try:
            present[subject_of(config, entry)] = entry
        except DirectoryFailed as error:
            skipped.append(f"{entry.dn}: {error}")
    if skipped:
        log.warning("entries have no usable id", source=source.name, count=len(skipped), first=skipped[0])
    return present


def _actor(source: SourceRow) -> Actor:
    """Return the directory as the actor in the audit log. No account can have its name."""
    return Actor(login=f"({source.name})", via=source.kind)


async def _record(tx: Tx, source: SourceRow, login: str, *, active: bool) -> None:
    """Record a change in the audit log."""
    await add_entry(
        tx, _actor(source), "user.edit", f"user {login}", {"source": source.name, "active": active}
    )
