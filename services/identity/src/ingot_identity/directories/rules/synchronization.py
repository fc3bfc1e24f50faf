"""Deactivates accounts of people who left their directory, and activates accounts of people who are back.

The accounts of all listed people get the groups and keys of their entries.

An account changes only after a complete list of people, and a second search for the person. So a failed or
truncated search deactivates no account, and neither does a list without people. If a list has no groups or no
keys at all, accounts keep their groups or keys. An error with one account is logged, and the others are
compared.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

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
    keys_of,
    person_of,
    query_of,
    raw_subject,
    server_of,
    subject_of,
)
from ingot_identity.keys.rules import ssh as ssh_keys
from ingot_identity.keys.store import ssh as key_store
from ingot_identity.mappings import rules as mappings
from ingot_identity.oauth2.rules import flow
from ingot_identity.sources.rules.configs import LdapConfig, read_ldap
from ingot_identity.sources.rules.sources import Secrets
from ingot_identity.sources.store import identities, mapped_members
from ingot_identity.sources.store.tables import IdentityRow, SourceRow
from ingot_identity.users import rules as users

log = structlog.get_logger()


HIDDEN = (
    "accounts have rights from groups, and the directory shows none of these groups; "
    "check the rights of bind_dn to read groups, and the names of the groups"
)
NOBODY = "user_filter and required_groups match no person; check them, base_dn, and the rights of bind_dn"


class _Round(NamedTuple):
    """Facts with which the accounts of a source are compared.

    Without ``has_groups`` their teams and rights stay, without ``has_keys`` their keys.
    """

    config: LdapConfig
    groups: mappings.GroupComparison
    present_keys: Mapping[int, set[str]]
    has_groups: bool
    has_keys: bool
    started: datetime


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
            present_keys = await key_store.list_of_source(reader, source.id)
        if not links or not config.bind_dn:
            return
        server = server_of(config, self._secrets.open(source.sealed_secret))
        entries = await self._directories.list_people(server, query_of(config))
        by_subject = _by_subject(source, config, entries)
        _require_people(config, by_subject.values())
        # These need no groups, so a failed search for groups keeps none of them active.
        for link in links:
            if link.subject not in by_subject and not link.deactivated:
                with _logged(source, link):
                    if not await self._find_again(config, server, link):
                        await self._deactivate(source, link)
        listed = [link for link in links if link.subject in by_subject]
        people = await self._persons(config, server, [by_subject[link.subject] for link in listed])
        has_groups = await self._have_groups(source, server, by_subject.values(), listed, people, teams)
        has_keys = not any(present_keys.get(link.id) for link in listed) or _have_keys(
            source, config, entries
        )
        comparison = mappings.GroupComparison(config, teams)
        round_ = _Round(config, comparison, present_keys, has_groups, has_keys, started)
        for link, person in zip(listed, people, strict=True):
            with _logged(source, link):
                if has_required_group(config, person.groups):
                    if link.deactivated:
                        await self._activate(source, link)
                    await self._follow(source, round_, link, person)
                elif not link.deactivated and not await self._is_back(config, server, link):
                    await self._deactivate(source, link)

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

    async def _have_groups(
        self,
        source: SourceRow,
        server: Server,
        entries: Collection[Entry],
        links: Sequence[IdentityRow],
        people: Sequence[DirectoryPerson],
        teams: Mapping[int, Collection[int]],
    ) -> bool:
        """Return False if the account of the service seems unable to read mapped groups.

        A directory then leaves them out without an error. An attribute has all groups of a person, so one
        group proves that it is readable. A search may return required groups only: then the mapped groups
        must have entries. ``links`` and ``people`` are in the same order.

        Raises DirectoryFailed, Unavailable.
        """
        config = read_ldap(source.config)
        groups = [person.groups for person in people]
        nobody = not any(has_required_group(config, each) for each in groups)
        if config.required_groups and config.group_filter and people and nobody:
            raise DirectoryFailed(NOBODY)
        mapped = config.mapped_groups()
        if not mapped or not any(
            link.gave_admin or link.gave_restricted or teams.get(link.account_id) for link in links
        ):
            return True
        if not config.group_filter:
            groups += [groups_of(config, entry, ()) for entry in entries]
        if not any(groups):
            raise DirectoryFailed(HIDDEN)
        if not config.group_filter or not all(mapped.isdisjoint(each) for each in groups):
            return True
        if await self._directories.has_groups(server, query_of(config), mapped):
            return True  # the last person left them
        # Those who lost the required groups are deactivated all the same.
        log.warning("groups of a directory are not applied", source=source.name, reason=HIDDEN)
        return False

    async def _find_again(self, config: LdapConfig, server: Server, link: IdentityRow) -> list[Entry]:
        """Search again for a person who is missing in a list."""
        raw = raw_subject(config, link.subject)
        return await self._directories.find_entries(server, query_of(config), raw)

    async def _is_back(self, config: LdapConfig, server: Server, link: IdentityRow) -> bool:
        """Search again for a person without a required group."""
        entries = await self._find_again(config, server, link)
        pairs = zip(entries, await self._find_groups(config, server, entries), strict=True)
        return any(has_required_group(config, groups_of(config, entry, names)) for entry, names in pairs)

    async def _follow(
        self, source: SourceRow, round_: _Round, link: IdentityRow, person: DirectoryPerson
    ) -> None:
        """Apply the groups and SSH keys of a person to the linked account.

        Do nothing if the account was unlinked, or has signed in since the comparison began.
        """
        actor, present = _actor(source), round_.present_keys.get(link.id, set())
        async with self._db.read() as reader:
            has_other_groups = round_.has_groups and await round_.groups.differs(reader, link, person.groups)
            has_other_keys = round_.has_keys and await ssh_keys.differ(reader, present, person.ssh_keys)
            if not has_other_groups and not has_other_keys:
                return
            row = await accounts.get(reader, link.account_id)
            current = await identities.get_of_account(reader, link.account_id, source.id)
        if row is None or current is None or current.id != link.id:
            return  # it was unlinked since
        if current.last_sign_in_at is not None and current.last_sign_in_at >= round_.started:
            return
        if has_other_groups:
            await mappings.apply_groups_by(
                self._db, self._presenter, source, round_.config, row, person.groups, actor
            )
        if has_other_keys:
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


@contextmanager
def _logged(source: SourceRow, link: IdentityRow) -> Iterator[None]:
    """Log an error with one account, so the others are compared. Failures of the directory go on."""
    try:
        yield
    except (DirectoryFailed, Unavailable):
        raise
    except Exception:
        log.exception("an account cannot be compared", source=source.name, user=link.account_id)


def _require_people(config: LdapConfig, entries: Collection[Entry]) -> None:
    """Raise DirectoryFailed if no person of a list may sign in."""
    groups = (groups_of(config, entry, ()) for entry in entries)
    if not any(config.group_filter or has_required_group(config, each) for each in groups):
        raise DirectoryFailed(NOBODY)


def _have_keys(source: SourceRow, config: LdapConfig, entries: Sequence[Entry]) -> bool:
    """Return False if all keys seem to be gone: the account of the service may be unable to read them."""
    if not config.ssh_key_attribute or any(keys_of(config, entry) for entry in entries):
        return True
    log.warning(
        "no entry has keys, so accounts keep theirs; check the rights of bind_dn, or empty ssh_key_attribute",
        source=source.name,
        attribute=config.ssh_key_attribute,
    )
    return False


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
