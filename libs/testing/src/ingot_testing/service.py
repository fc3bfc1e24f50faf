"""The test harness of every service: callers, events, SQL statements, and a real port."""

import asyncio
import itertools
import socket
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
import uvicorn
from sqlalchemy import event, text

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.envelope import Envelope, event_type
from ingot_chassis.http.paging import Page
from ingot_chassis.security.keys import Jwks, SigningKey
from ingot_chassis.security.principal import (
    PRINCIPAL_HEADER,
    SERVICE_HEADER,
    Principal,
    ServiceIdentity,
    sign_principal,
)

_E = TypeVar("_E", bound=msgspec.Struct)


class Callers:
    """Signs tokens for callers of the service under test, instead of identity and the other services."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.identity_key = SigningKey.generate()
        self._peer_keys: defaultdict[str, SigningKey] = defaultdict(SigningKey.generate)

    async def jwks(self) -> Jwks:
        """Return the keys with which the service verifies principals."""
        return Jwks(keys=[self.identity_key.jwk()])

    def public_keys(self, *peers: str) -> dict[str, str]:
        """Return the setting with the public keys of ``peers``."""
        return {peer: self._peer_keys[peer].x for peer in peers}

    def principal_token(self, principal: Principal, *, lifetime: int = 600) -> str:
        """Return ``principal`` as a token for the service; empty for an anonymous caller."""
        if not principal.signed_in:
            return ""
        return sign_principal(principal, self.identity_key, audience=[self.service], lifetime=lifetime)

    def headers(self, principal: Principal, *, peer: str = "") -> dict[str, str]:
        """Return the headers of a request by ``principal``, sent by the service ``peer`` if it is given."""
        token = self.principal_token(principal)
        headers = {PRINCIPAL_HEADER: token} if token else {}
        if peer:
            headers[SERVICE_HEADER] = ServiceIdentity(peer, self._peer_keys[peer]).token(self.service)
        return headers


def envelope_of(happening: msgspec.Struct, *, key: str = "1", seq: int = 1, event_id: str = "") -> Envelope:
    """Return the envelope of an event, as its emitter would send it."""
    return Envelope(
        id=event_id or str(uuid.uuid4()),
        type=event_type(type(happening)),
        key=key,
        seq=seq,
        occurred_at=now(),
        data=msgspec.Raw(msgspec.json.encode(happening)),
    )


async def deliver_event(consumers: Consumers, happening: msgspec.Struct, *, event_id: str = "") -> bool:
    """Apply an event of another service like the consumer does. Return whether it was new.

    It is delivered twice, as happens in production, and the second delivery must change nothing.
    """
    envelope = envelope_of(happening, event_id=event_id)
    applied = await consumers.apply(envelope)
    assert not await consumers.apply(envelope)
    return applied


async def emitted_events(database: Database, cls: type[_E]) -> list[_E]:
    """Return the events of one type that were emitted so far, in order."""
    rows = await _outbox_rows(database)
    return [msgspec.json.decode(row.payload, type=cls) for row in rows if row.type == event_type(cls)]


async def emitted_payloads(database: Database, *types: str) -> list[dict[str, Any]]:
    """Return the payloads of all emitted events, or of events of ``types``, as sent over the wire."""
    rows = await _outbox_rows(database)
    return [msgspec.json.decode(row.payload) for row in rows if not types or row.type in types]


async def emitted_types(database: Database) -> list[str]:
    """Return the types of all emitted events."""
    return [row.type for row in await _outbox_rows(database)]


async def _outbox_rows(database: Database) -> list[Any]:
    outbox = database.metadata.tables["outbox"]
    async with database.read() as db:
        return list((await db.execute(outbox.select().order_by(outbox.c.seq))).all())


@contextmanager
def count_statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """Yield a list that grows with every statement inside the block, with its parameters.

    The list is complete on both databases: prepared statements use SQLAlchemy inside the block, too.
    """
    short_reads, database.short_reads = database.short_reads, None
    database.uses_drivers = False
    try:
        with unprepared_statements(database) as statements:
            yield statements
    finally:
        database.short_reads = short_reads
        database.uses_drivers = True


@contextmanager
def unprepared_statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """Yield a list that grows with every statement that SQLAlchemy runs inside the block.

    Prepared statements, which the driver runs, are missing.
    """
    statements: list[tuple[str, Any]] = []

    def record(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.startswith(("PRAGMA", "BEGIN")):
            statements.append((statement, parameters))

    engines = [engine.sync_engine for engine in (database.reading, database.writing)]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", record)


_TUPLES = text(
    "SELECT sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))"
    " FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"
)
STEPS = 10
"""Number of SQLite instructions that are counted together."""


async def rows_touched(database: Database, read: Callable[[Tx], Awaitable[object]]) -> int:
    """Return the cost of ``read``: scanned rows on PostgreSQL, instructions on SQLite."""
    async with database.transaction() as tx:
        if tx.sqlite_driver is None:
            before = (await tx.execute(_TUPLES)).scalar_one()
            await read(tx)
            return int((await tx.execute(_TUPLES)).scalar_one() - before)
        count = itertools.count()
        await tx.sqlite_driver.set_progress_handler(lambda: next(count) < 0, STEPS)
        try:
            await read(tx)
        finally:
            await tx.sqlite_driver.set_progress_handler(cast("Any", None), 0)
        return next(count) * STEPS


ListPage: TypeAlias = Callable[[Tx, Page], Awaitable[tuple[Sequence[Any], int]]]
"""A store function that returns a page of a list: its rows, and the length of the list."""


class PageCosts(NamedTuple):
    """Costs of three pages of a list."""

    first: int
    middle: int
    last: int


async def page_costs(database: Database, list_page: ListPage, total: int, limit: int = 20) -> PageCosts:
    """Return the costs of pages of a list with ``total`` rows, a multiple of ``limit``."""

    def page(number: int) -> Callable[[Tx], Awaitable[None]]:
        async def read(tx: Tx) -> None:
            rows, number_of_rows = await list_page(tx, Page(number, limit))
            assert (len(rows), number_of_rows) == (limit, total)

        return read

    last = total // limit
    return PageCosts(*[await rows_touched(database, page(number)) for number in (1, last // 2, last)])


async def rows_of_pages(database: Database, list_page: ListPage, limit: int = 50) -> list[Any]:
    """Return the rows of all pages of a list, until a page is empty."""
    rows: list[Any] = []
    async with database.transaction() as tx:
        for number in itertools.count(1):
            page, total = await list_page(tx, Page(number, limit))
            rows += page
            if not page:
                assert total == len(rows)
                break
    return rows


async def analyze(database: Database) -> None:
    """Update PostgreSQL's statistics, as autovacuum does over time."""
    if not database.is_sqlite:
        async with database.transaction() as tx:
            await tx.execute(text("ANALYZE"))


async def wait_until_blocked(tx: Tx, task: asyncio.Task[Any]) -> None:
    """Wait until the task is done or waits for a lock that ``tx`` holds. Only on PostgreSQL."""
    waits = text("SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
    while not task.done() and not (await tx.execute(waits)).scalar_one():
        pass


async def change_at_once(
    database: Database, first: Callable[[Tx], Awaitable[Any]], second: Callable[[Tx], Awaitable[Any]]
) -> None:
    """Run two changes in overlapping transactions. The second waits for a lock of the first.

    Only on PostgreSQL.
    """

    async def follow() -> None:
        async with database.transaction() as tx:
            await second(tx)

    async with database.transaction() as tx:
        await first(tx)
        task = asyncio.create_task(follow())
        await wait_until_blocked(tx, task)
        assert not task.done()
    await task


@asynccontextmanager
async def serve(app: Any) -> AsyncIterator[str]:
    """Yield the URL of ``app`` served over a socket. The caller runs its lifespan."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, interface="asgi3", lifespan="off", ws="none", log_config=None)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    await server.on_tick(0)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # Not `Server.serve`, which polls every tenth of a second for its end, and waits as long when it ends.
        for listening in server.servers:
            listening.close()
        state = server.server_state
        for connection in list(state.connections):
            connection.shutdown()
        while state.tasks or state.connections:
            await asyncio.sleep(0.002)
