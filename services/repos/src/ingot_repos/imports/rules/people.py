"""Accounts for the people of a source, found by a table, by e-mail address, or by login."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import msgspec

from ingot_chassis.csv_tables import read_table
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.security.principal import Principal
from ingot_contracts.limits import Name
from ingot_contracts.repos.events import ImportReassigned
from ingot_remotes.interface.source import PersonKey
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.commits.store.authors import users_by_email
from ingot_repos.imports import store
from ingot_repos.imports.store import SourceRow
from ingot_repos.releases.store import releases

MOST_PEOPLE = 1_000
"""Limit of rows of a table of people."""
NAMED = 20
"""Limit of wrong names in one error."""
People = Annotated[dict[Name, Name], msgspec.Meta(max_length=MOST_PEOPLE)]
"""Logins here by logins at the source."""
PeopleCsv = Annotated[str, msgspec.Meta(max_length=500_000)]
"""The same as CSV: a login at the source and a login here in each line, without a header."""


class MappingRule(NamedTuple):
    """The rule by which an import finds accounts (see ``NewSource``)."""

    importer_id: int
    maps_people: bool
    map_logins: bool
    people: Mapping[str, int]


def rule_of(source: SourceRow, *, importer_id: int) -> MappingRule:
    return MappingRule(importer_id, source.maps_people, source.map_logins, store.people_of(source))


def by_login(people: Mapping[PersonKey, int]) -> dict[str, int]:
    """Return the ids of accounts by the lower-case logins of people at the source."""
    return {name.lower(): account_id for (_, name), account_id in people.items()}


async def logins_of(db: Executor, people: Mapping[PersonKey, int]) -> dict[str, str]:
    """Return the logins of accounts by the lower-case logins of people at the source."""
    rows = {row.id: row.login for row in await accounts.list_by_ids(db, set(people.values()))}
    return {name.lower(): rows[one] for (_, name), one in people.items() if one in rows}


async def accounts_of(
    db: Executor, addresses: Mapping[PersonKey, str], rule: MappingRule
) -> dict[PersonKey, int]:
    """Return the ids of accounts by the keys of users of the source.

    A source can claim any address. So without ``rule.maps_people``, which only administrators set, only the
    account of the importer is returned. The table of people takes precedence. Deleted accounts in the table
    are ignored.
    """
    by_email = await users_by_email(db, {address for address in addresses.values() if address})
    ids = {
        key: by_email[address.lower()].id for key, address in addresses.items() if address.lower() in by_email
    }
    if rule.maps_people and rule.map_logins:
        rest = {key[1].lower(): key for key in addresses if key not in ids}
        for row in await accounts.list_by_logins(db, rest):
            if row.kind == AccountKind.USER:
                ids[rest[row.login.lower()]] = row.id
    named = {key: rule.people[key[1].lower()] for key in addresses if key[1].lower() in rule.people}
    existing = {row.id for row in await accounts.list_by_ids(db, set(named.values()))}
    ids |= {key: account_id for key, account_id in named.items() if account_id in existing}
    if not rule.maps_people:
        return {key: account_id for key, account_id in ids.items() if account_id == rule.importer_id}
    return ids


async def reassign(tx: Tx, repository_id: int, people: Mapping[str, int]) -> None:
    """Reassign data of the ghost to accounts. ``people`` has their ids by lower-case login at the source.

    An event makes issues reassign its data, too. Data that an earlier call reassigned stays, because the
    ghost does not have it.
    """
    rows = await releases.list_of_ghost(tx, repository_id)
    logins = {row.id: row.original_author.lower() for row in rows}
    theirs = {row_id: people[login] for row_id, login in logins.items() if login in people}
    await releases.change_authors(tx, theirs)
    tx.emit(ImportReassigned(repository_id=repository_id, accounts=dict(people)), key=repository_id)


def read_people(table: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the table of a form: local logins by lower-case logins at the source. Raises Invalid."""
    rows, reason = read_table(text)
    if reason:
        raise Invalid.field("people_csv", "format", reason)
    lines = [("people", *one) for one in table.items()]
    for number, row in enumerate(rows, 1):
        if len(row) not in (0, 2):
            words = f"line {number} has {len(row)} cells instead of two: a login there and a login here"
            raise Invalid.field("people_csv", "format", words)
        if row:
            lines.append(("people_csv", row[0], row[1]))
    people = dict[str, str]()
    for field, there, here in lines:
        key, login = there.strip().lower(), here.strip()
        if not key or not login:
            raise Invalid.field(field, "required", "a login is empty")
        if people.setdefault(key, login).lower() != login.lower():
            raise Invalid.field(field, "duplicate", f"{there.strip()!r} has two accounts")
    if len(people) > MOST_PEOPLE:
        raise Invalid.field("people_csv", "too_many", f"has more than {MOST_PEOPLE:,} people")
    return people


async def find_people(
    database: Database, copies: AccountCopies, people: Mapping[str, str], principal: Principal
) -> dict[str, int]:
    """Return the ids of the accounts in a table of people, by login at the source.

    Raises Invalid with the names of unknown users. Raises Denied if a caller who is not an administrator
    names another account.
    """
    if not principal.admin and any(one.lower() != principal.name.lower() for one in people.values()):
        raise Denied("only administrators map people to other accounts than their own")
    async with database.read() as db:
        copied = await accounts.list_by_logins(db, set(people.values()))
    rows = {row.login.lower(): row for row in copied}
    unknown = list[str]()
    for login in dict.fromkeys(people.values()):
        if login.lower() not in rows and len(unknown) < NAMED:
            try:
                rows[login.lower()] = await copies.get_by_login(login)
            except NotFound:
                unknown.append(login)
    unknown += [row.login for row in rows.values() if row.kind != AccountKind.USER]
    if unknown:
        raise Invalid.field("people", "unknown", f"there is no user {', '.join(map(repr, unknown[:NAMED]))}")
    return {there: rows[here.lower()].id for there, here in people.items()}
