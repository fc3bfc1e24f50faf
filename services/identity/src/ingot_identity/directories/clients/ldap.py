"""Requests to directories (LDAP version 3, RFC 4511), only to addresses that egress allows.

A host is resolved once for each request, and only checked addresses are used. TLS is always used, and the
certificate is always checked. Referrals are not followed. ldap3 blocks, so requests run in threads of their
own: a directory that hangs delays no other work. The module imports ldap3 when the first request is sent.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ingot_chassis.errors import Unavailable
from ingot_chassis.security.egress import Egress, Resolve, ResolveResult, resolve_host
from ingot_chassis.security.own_servers import OwnServers
from ingot_identity.directories.clients.queries import (
    DirectoryFailed,
    Entry,
    PersonQuery,
    Server,
    VerifiedPerson,
    escaped,
    filled,
    filter_of_everybody,
    filter_of_subject,
)

if TYPE_CHECKING:
    from ingot_identity.directories.clients.connections import Connection

SETTING = "INGOT_IDENTITY_ALLOWED_DIRECTORIES"
PORTS = (389, 636)
SECONDS = 10.0
"""Timeout of a sign-in."""
LIST_SECONDS = 300.0
"""Timeout of the list of all entries, and of the groups of a chunk of them."""
ANY_ENTRY = "(objectClass=*)"
CHUNK = 200
"""Number of entries whose groups are searched for with one connection."""
THREADS, LONGEST_QUEUE = 8, 100
_T = TypeVar("_T")


class Directories:
    """Sends requests to directories."""

    def __init__(
        self, allowed: Sequence[str], own_servers: OwnServers, *, resolve: Resolve = resolve_host
    ) -> None:
        """Read the allowed targets. Raises SettingsError for an invalid entry of ``allowed``."""
        self._egress = Egress(allowed, SETTING, ports=PORTS)
        self._own_servers, self._resolve = own_servers, resolve
        self._threads, self._count = ThreadPoolExecutor(THREADS, "directories"), 0

    async def find_person(
        self, server: Server, query: PersonQuery, name: str, password: str | None, *, subject: bytes = b""
    ) -> VerifiedPerson | None:
        """Return the person with that name and password, or None.

        A search is for the id ``subject``, if it is known, and otherwise for the name.
        Without ``password`` the answer is None, and the directory gets as many requests as for a wrong one.
        Raises DirectoryFailed, Unavailable.
        """
        if password == "":
            return None
        if query.user_dn:
            return await self._run(
                server, SECONDS, lambda connection: _find_directly(connection, query, name, password)
            )
        filter_ = filter_of_subject(query, subject) if subject else filled(query.user_filter, name=name)
        return await self._run(
            server, SECONDS, lambda connection: _find_by_search(connection, query, filter_, password)
        )

    async def list_people(self, server: Server, query: PersonQuery) -> list[Entry]:
        """Return the entries of all people. Raises DirectoryFailed for an incomplete list; Unavailable."""
        filter_ = filter_of_everybody(query.user_filter)
        return await self._run(
            server,
            LIST_SECONDS,
            lambda connection: _list(connection, query.base_dn, filter_, query.attributes),
        )

    async def find_entries(self, server: Server, query: PersonQuery, subject: bytes) -> list[Entry]:
        """Return the entries of people with this id. Raises DirectoryFailed, Unavailable."""
        filter_ = filter_of_subject(query, subject)
        return await self._run(
            server, SECONDS, lambda connection: _list(connection, query.base_dn, filter_, query.attributes)
        )

    async def find_groups(
        self, server: Server, query: PersonQuery, entries: Sequence[Entry]
    ) -> list[Sequence[str]]:
        """Return the groups of each entry by the search for groups. Raises DirectoryFailed, Unavailable.

        There is one search for each entry, so the time is limited for each ``CHUNK`` of them.
        """
        groups = list[Sequence[str]]()
        for start in range(0, len(entries), CHUNK):
            work = partial(_groups_of_all, query=query, entries=entries[start : start + CHUNK])
            groups += await self._run(server, LIST_SECONDS, work)
        return groups

    async def has_groups(self, server: Server, query: PersonQuery, names: Collection[str]) -> bool:
        """True if the account of the service finds a group with one of these names.

        Its members do not matter.

        Raises DirectoryFailed, Unavailable.
        """
        terms = "".join(f"({query.group_attribute}={escaped(name)})" for name in sorted(names))
        base_dn, attributes = query.group_base_dn or query.base_dn, [query.group_attribute]
        work = partial(_list, base_dn=base_dn, filter_=f"(|{terms})", attributes=attributes)
        return bool(await self._run(server, LIST_SECONDS, work))

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, server: Server, seconds: float, work: Callable[["Connection"], _T]) -> _T:
        """Return the result of ``work`` with a connection to the directory, which runs in a thread."""
        if self._count >= THREADS + LONGEST_QUEUE:
            raise Unavailable("too many sign-ins at once; try again")
        self._count += 1
        try:
            async with asyncio.timeout(seconds):
                addresses = await self._addresses(server)
                from ingot_identity.directories.clients.connections import Connection

                connection = Connection(server, addresses)
                try:
                    return await asyncio.get_running_loop().run_in_executor(
                        self._threads, connection.run, work
                    )
                finally:
                    connection.abort()  # a thread that still waits for the directory ends
        except TimeoutError as error:
            raise DirectoryFailed(f"{server.host} does not answer within {seconds:g} s") from error
        finally:
            self._count -= 1

    async def _addresses(self, server: Server) -> list[ResolveResult]:
        """Return the checked addresses of the directory. Raises DirectoryFailed."""
        try:
            answers = await self._resolve(server.host, server.port)
        except OSError as error:
            raise DirectoryFailed(f"the name {server.host} is unknown; check the url") from error
        addresses = [answer["host"] for answer in answers]
        refusal = self._egress.refusal(server.host, server.port, addresses)
        if refusal := refusal or await self._own_servers.refusal(server.host, server.port, addresses):
            raise DirectoryFailed(refusal)
        return answers


def _find_by_search(
    connection: "Connection", query: PersonQuery, filter_: str, password: str | None
) -> VerifiedPerson | None:
    """Find the entry with the account of the service, then bind as the entry."""
    connection.bind_as_service()
    entries = connection.search(query.base_dn, filter_, query.attributes, most=2)
    entry = entries[0] if len(entries) == 1 else None
    dn = entry.dn if entry else _decoy(query)
    groups = _groups(connection, query, dn, entry)
    is_right = connection.bind(*((dn, password) if entry and password else (_decoy(query), _any_password())))
    if len(entries) > 1:
        raise DirectoryFailed("several entries match a name; make user_filter match one")
    if entry is None or not password or not is_right:
        return None
    if query.late_attributes:
        connection.bind_as_service()
    return VerifiedPerson(_complete(connection, query, entry), groups)


def _find_directly(
    connection: "Connection", query: PersonQuery, name: str, password: str | None
) -> VerifiedPerson | None:
    """Bind with the DN for ``name``, and read its entry.

    Return None if the bind fails, or the entry does not match the filter. Without ``password``, bind as an
    unknown entry and return None.
    """
    dn = filled(query.user_dn, name=name)
    if not connection.bind(*((dn, password) if password else (_decoy(query), _any_password()))):
        return None
    entries = connection.search(dn, filled(query.user_filter, name=name), query.attributes, only_base=True)
    if len(entries) != 1 or not password:
        return None
    entry = _complete(connection, query, entries[0])
    return VerifiedPerson(entry, _groups(connection, query, entry.dn, entry))


def _complete(connection: "Connection", query: PersonQuery, entry: Entry) -> Entry:
    """Return the entry of a verified person with its ``late_attributes``, of which some may be empty.

    They are missing if the directory shows no such entry.
    """
    if not query.late_attributes:
        return entry
    rows = connection.search(entry.dn, ANY_ENTRY, query.late_attributes, only_base=True)
    if not rows:
        return entry
    empty = {name.lower(): () for name in query.late_attributes}
    return Entry(entry.dn, {**entry.attributes, **empty, **rows[0].attributes})


def _list(connection: "Connection", base_dn: str, filter_: str, attributes: Sequence[str]) -> list[Entry]:
    connection.bind_as_service()
    return connection.search_all(base_dn, filter_, attributes)


def _groups_of_all(
    connection: "Connection", query: PersonQuery, entries: Sequence[Entry]
) -> list[Sequence[str]]:
    connection.bind_as_service()
    return [_groups(connection, query, entry.dn, entry) for entry in entries]


def _groups(connection: "Connection", query: PersonQuery, dn: str, entry: Entry | None) -> list[str]:
    """Search for the groups of an entry. The typed name is not used: it may be the address of the person."""
    if not query.group_filter:
        return []
    names = entry.attributes.get(query.login_attribute.lower()) if entry else None
    filter_ = filled(query.group_filter, dn=dn, name=names[0] if names else _unknown_name())
    attribute = query.group_attribute.lower()
    rows = connection.search(query.group_base_dn or query.base_dn, filter_, [attribute])
    return [value.decode(errors="replace") for row in rows for value in row.attributes.get(attribute, ())]


def _decoy(query: PersonQuery) -> str:
    """Return the name of an entry that does not exist."""
    return f"cn={secrets.token_hex(8)},{query.base_dn}"


def _unknown_name() -> str:
    """Return a name that no group has."""
    return secrets.token_hex(16)


def _any_password() -> str:
    return secrets.token_hex(16)
