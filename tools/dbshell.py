r"""Open an SQL shell on the database of a service, SQLite or PostgreSQL.

``python tools/dbshell.py SERVICE [--data DIR] [--write]``. The database is that of
INGOT_<SERVICE>_DATABASE_URL. Without that it is a file of `.dev`, or of `data` if that folder does not exist.
``\d`` lists the tables, ``\d TABLE`` the columns of one. A statement ends with a semicolon, and cannot change
anything without ``--write``.
"""

import argparse
import asyncio
import code
import contextlib
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

TOP = Path(__file__).parent.parent
SERVICES = ("identity", "repos", "issues", "hooks", "mail")
WIDEST = 60
"""Characters of a value that are shown."""
READ_ONLY = {"sqlite": "PRAGMA query_only = 1", "postgresql": "SET default_transaction_read_only = on"}


class SqlConsole(code.InteractiveConsole):
    """Reads statements and prints their rows."""

    def __init__(self, runner: asyncio.Runner, connection: AsyncConnection) -> None:
        super().__init__()
        self._runner, self._connection = runner, connection

    def runsource(self, source: str, filename: str = "", symbol: str = "") -> bool:  # noqa: ARG002
        """Run one statement; True if it is not complete."""
        text = source.strip()
        if text.startswith("\\d"):
            self._run(self._describe(text.removeprefix("\\d").strip()))
        elif text.endswith(";"):
            self._run(self._execute(text))
        else:
            return bool(text)
        return False

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._runner.run(work)
        except SQLAlchemyError as error:
            print(f"error: {getattr(error, 'orig', None) or error}")

    async def _execute(self, text: str) -> None:
        try:
            result = await self._connection.exec_driver_sql(text)
            if result.returns_rows:
                show(list(result.keys()), result.all())
            else:
                print("done" if result.rowcount < 0 else f"{result.rowcount} rows")
            await self._connection.commit()
        finally:
            await self._connection.rollback()

    async def _describe(self, table: str) -> None:
        def rows(connection: sqlalchemy.Connection) -> list[tuple[object, ...]]:
            inspector = sqlalchemy.inspect(connection)
            if not table:
                return [(name,) for name in inspector.get_table_names()]
            return [(one["name"], one["type"], one["nullable"]) for one in inspector.get_columns(table)]

        show(["column", "type", "null"] if table else ["table"], await self._connection.run_sync(rows))
        await self._connection.rollback()


def show(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table."""
    cells = [list(names), *([str(value)[:WIDEST] for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"{len(rows)} rows")


def url_of(service: str, data: Path | None) -> str | sqlalchemy.URL:
    """Return the URL of the database of a service. Raises SystemExit if none is found."""
    if data is None and (url := os.environ.get(f"INGOT_{service.upper()}_DATABASE_URL")):
        return url
    folders = [data] if data else [TOP / ".dev", Path(os.environ.get("INGOT_DATA") or TOP / "data")]
    for folder in folders:
        if (file := folder / f"{service}.db").exists():
            return sqlalchemy.URL.create("sqlite+aiosqlite", database=str(file))
    raise SystemExit(f"no {service}.db in {' or '.join(map(str, folders))}; `make dev` starts an instance")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("service", choices=SERVICES)
    parser.add_argument("--data", type=Path, help="data folder of `ingot up`")
    parser.add_argument("--write", action="store_true", help="let statements change the database")
    options = parser.parse_args()
    engine = create_async_engine(url_of(options.service, options.data))

    async def connect() -> AsyncConnection:
        connection = await engine.connect()
        if not options.write:
            await connection.exec_driver_sql(READ_ONLY[engine.dialect.name])
            await connection.commit()
        return connection

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - for keys and history
    with asyncio.Runner() as runner:
        connection = runner.run(connect())
        SqlConsole(runner, connection).interact(f"{engine.url!r}; \\d lists the tables", exitmsg="")
        runner.run(connection.close())
        runner.run(engine.dispose())


if __name__ == "__main__":
    main()
