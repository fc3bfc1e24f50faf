"""Database commands of a service: migrate, replay, doctor, and the wait for the schema.

This module is separate, because a service without a database starts faster and needs less memory without it.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ingot_chassis.db.driver import is_away
from ingot_chassis.db.migrations import check_connection, pending, upgrade
from ingot_chassis.errors import CannotStart
from ingot_chassis.events.doctor import examine
from ingot_chassis.events.relay import send_again
from ingot_chassis.events.replay import replay
from ingot_chassis.service import ServiceParts

log = structlog.get_logger()

SCHEMA_POLL_SECONDS = 1.0
FIRST_SCHEMA_POLL_SECONDS = 0.1
"""Seconds until the second check: a new pod may reach its database only some tenths of a second later."""
MIGRATE_WAIT_SECONDS = 60.0
"""Seconds to wait for a database that starts or fails over before the command fails."""


async def migrate(url: str, scripts: Path, *, patience: float = MIGRATE_WAIT_SECONDS) -> None:
    """Bring the database to this release. Raises DatabaseNewer, and CannotStart if it cannot be used.

    Waits up to ``patience`` seconds for an unreachable database. Other errors are reported at once.
    """
    try:
        await _wait_for_database(url, patience)
        await upgrade(url, scripts)
    except (OSError, SQLAlchemyError) as error:
        raise CannotStart(f"cannot use the database: {_first_line(error)}") from error


async def _wait_for_database(url: str, patience: float) -> None:
    """Wait up to ``patience`` seconds for a database, then raise the last error.

    Errors of a reachable database are raised at once.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience
    for pause in schema_pauses():
        try:
            await check_connection(url)
        except (OSError, SQLAlchemyError) as error:
            is_restart = isinstance(error, OSError) or is_away(error)
            if not is_restart or clock() + pause > deadline:
                raise
            _log_wait(error)
        else:
            return
        await asyncio.sleep(pause)


async def replay_events(app: Any) -> None:
    """Apply the dead-lettered events of other services again, and publish dead-lettered own events again.

    Raises CannotStart if the database cannot be used, or if some events stay dead-lettered.
    """
    parts: ServiceParts = app.state.parts
    async with app.lifespan():
        if parts.consumers is None:
            raise CannotStart(f"{parts.name} consumes no events")
        try:
            applied, left = await replay(parts.require_database(), parts.consumers)
            again = await send_again(parts.require_database())
        except (OSError, SQLAlchemyError) as error:
            raise CannotStart(f"cannot use the database: {_first_line(error)}") from error
    if again:
        print(f"{again} queued for the relay")  # noqa: T201 - this is what the operator asked for
    print(f"{applied} applied, {left} left")  # noqa: T201 - this is what the operator asked for
    if left:
        raise CannotStart("some events stay dead-lettered; see the log for the causes")


async def require_schema(parts: ServiceParts, scripts: Path) -> None:
    """Raise DatabaseNewer, or CannotStart if the database cannot be used or is older than this release."""
    try:
        is_older = await pending(parts.settings.database_url, scripts)
    except (OSError, SQLAlchemyError) as error:
        raise CannotStart(f"cannot use the database: {_first_line(error)}") from error
    if is_older:
        raise CannotStart(
            f"the database of {parts.name} is older than this release; run `ingot-{parts.name} migrate`"
        )


async def find_problems(parts: ServiceParts, *, repair: bool) -> list[str]:
    """Return problems of a service and its database. Raises CannotStart if the database cannot be used."""
    try:
        return [
            *await examine(parts.name, parts.require_database()),
            *await parts.examine(repair=repair),
        ]
    except (OSError, SQLAlchemyError) as error:
        raise CannotStart(f"cannot use the database: {_first_line(error)}") from error


async def wait_for_schema(url: str, scripts: Path) -> None:
    """Wait for the database, and for the migration of this release. Raises DatabaseNewer."""
    for pause in schema_pauses():
        try:
            if not await pending(url, scripts):
                return
            log.warning("the database is older than this release; waiting for `migrate`")
        except (OSError, SQLAlchemyError) as error:
            _log_wait(error)
        await asyncio.sleep(pause)


def schema_pauses() -> Iterator[float]:
    """Yield the seconds between checks of the schema, forever.

    They are short at first, then ``SCHEMA_POLL_SECONDS``.
    """
    pause = FIRST_SCHEMA_POLL_SECONDS
    while True:
        yield pause
        pause = min(pause * 2, SCHEMA_POLL_SECONDS)


def _log_wait(error: Exception) -> None:
    log.warning("the database does not answer; waiting", error=_first_line(error))


def _first_line(error: Exception) -> str:
    """Return the first line of an error, because SQLAlchemy adds the statement and a link."""
    return str(getattr(error, "orig", None) or error).split("\n", 1)[0]
