"""Deactivates accounts of people who left their directory, and activates those of people who are back.

All others get the groups and keys of their entries.

An account changes only after a complete list of people, and a second search for the person. So a failed or
truncated search deactivates no account, and neither does a list without people. An error with one account is
logged, and the others are compared.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, Unavailable
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.directories.clients.ldap import Directories
from ingot_identity.directories.clients.queries import DirectoryFailed, Entry, Server
from ingot_identity.directories.rules.attributes import apply_keys
from ingot_identity.directories.rules.people import (
    DirectoryPerson,
    groups_of,
    has_required_group,
    person_of,
    query_of,
    raw_subject,
    server_of,
    subject_of,
)
from ingot_identity.mappings import rules as mappings
from ingot_identity.oauth2.rules import flow
from ingot_identity.sources.rules.configs import LdapConfig, read_ldap
from ingot_identity.sources.rules.sources import Secrets
from ingot_identity.sources.store import identities, mapped_members
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
        """Compare the accounts of a source. Raises DirectoryFailed, Unavailable.

        A source without ``bind_dn`` cannot list people, so it is skipped.
        """
        config, started = read_ldap(source.config), now()
        async with self._db.read() as reader:
            links = await identities.list_of_source(reader, source.id)
            teams = await mapped_members.list_of_source(reader, source.id)
        if not links or not config.bind_dn:
            return
        server = server_of(config, self._secrets.open(source.sealed_secret))
        entries = await self._directories.list_people(server, query_of(config))
        people = await self._people(source, config, server, entries, {link.subject for link in links})
        comparison = mappings.GroupComparison(config, teams)
        for link in links:
            person = people.get(link.subject)
            try:
                if person is not None and has_required_group(config, person.groups):
                    if link.deactivated:
                        await self._activate(source, link)
                    await self._follow(source, config, link, person, comparison, started)
                elif not link.deactivated and not await self._is_back(config, server, link):
                    await self._deactivate(source, link)
            except (DirectoryFailed, Unavailable):
                raise
            except Exception:  # the other accounts are compared
                log.exception("an account cannot be compared", source=source.name, user=link.account_id)

    async def _people(
        self,
        source: SourceRow,
        config: LdapConfig,
        server: Server,
        entries: Sequence[Entry],
        subjects: Collection[str],
    ) -> dict[str, DirectoryPerson]:
        """Return the linked people of a list, by id. Raises DirectoryFailed if no person may sign in."""
        by_subject = _by_subject(source, config, entries)
        linked = {subject: by_subject[subject] for subject in subjects if subject in by_subject}
        people = await self._persons(config, server, list(linked.values()))
        if config.group_filter and linked:
            may_come = any(has_required_group(config, person.groups) for person in people)
        else:
            groups = (groups_of(config, entry, ()) for entry in by_subject.values())
            may_come = any(config.group_filter or has_required_group(config, each) for each in groups)
        if not may_come:
            raise DirectoryFailed(
                "user_filter and required_groups match no person; "
                "check them, base_dn, and the rights of bind_dn"
            )
        return {person.subject: person for person in people}

    async def _persons(
        self, config: LdapConfig, server: Server, entries: Sequence[Entry]
    ) -> list[DirectoryPerson]:
        """Return the people in these entries, with their groups. Raises DirectoryFailed, Unavailable."""
        groups = await self._find_groups(config, server, entries)
        return [person_of(config, entry, names) for entry, names in zip(entries, groups, strict=True)]

    async def _find_groups(
        self, config: LdapConfig, server: Server, entries: Sequence[Entry]
    ) -> Sequence[Sequence[str]]:
        """Return the groups of each entry by the search for groups, if there is one."""
        if not config.group_filter or not entries:
            return [()] * len(entries)
        return await self._directories.find_groups(server, query_of(config), entries)

    async def _is_back(self, config: LdapConfig, server: Server, link: IdentityRow) -> bool:
        """Search again for a person who is missing in a list."""
        raw = raw_subject(config, link.subject)
        entries = await self._directories.find_entries(server, query_of(config), raw)
        found = zip(entries, await self._find_groups(config, server, entries), strict=True)
        return any(has_required_group(config, groups_of(config, entry, names)) for entry, names in found)

    async def _follow(
        self,
        source: SourceRow,
        config: LdapConfig,
        link: IdentityRow,
        person: DirectoryPerson,
        comparison: mappings.GroupComparison,
        started: datetime,
    ) -> None:
        """Give the account the groups and keys of its person, unless a sign-in gave later ones."""
        actor = _actor(source)
        async with self._db.read() as reader:
            differs = await comparison.differs(reader, link, person.groups)
            row = await accounts.get(reader, link.account_id) if differs else None
            current = await identities.get_of_account(reader, link.account_id, source.id)
        if current is None or current.id != link.id:
            return  # it was unlinked since
        if current.last_sign_in_at is not None and current.last_sign_in_at >= started:
            return
        if row is not None:
            await mappings.apply_groups_by(
                self._db, self._presenter, source, config, row, person.groups, actor
            )
        await apply_keys(self._db, source, link, actor, person.ssh_keys)

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


def _by_subject(source: SourceRow, config: LdapConfig, entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return entries by the ids of their people. Entries without a usable id are skipped."""
    by_subject, skipped = dict[str, Entry](), list[str]()
    for entry in entries:
        try:
            by_subject[subject_of(config, entry)] = entry
        except DirectoryFailed as error:
            skipped.append(f"{entry.dn}: {error}")
    if skipped:
        log.warning("entries have no usable id", source=source.name, count=len(skipped), first=skipped[0])
    return by_subject


def _actor(source: SourceRow) -> Actor:
    """Return the directory as the actor in the audit log. No account can have its name."""
    return Actor(login=f"({source.name})", via=source.kind)


async def _record(tx: Tx, source: SourceRow, login: str, *, active: bool) -> None:
    """Record a change in the audit log."""
    await add_entry(
        tx, _actor(source), "user.edit", f"user {login}", {"source": source.name, "active": active}
    )
