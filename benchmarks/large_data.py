"""Fill the databases of a deployment as its services would: many users, repositories, issues and hooks.

The API creates one of each. Its rows are then copied in all databases that have them, with other ids, names,
texts and times. Git folders share the files of the repository that the API created.
"""

import asyncio
import hashlib
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import asyncpg
import httpx
from asyncpg.transaction import Transaction
from large_plan import Plan, Repository, Sizes
from run import ADMINISTRATOR

from ingot_git.storage.storage import Storage

Row = dict[str, Any]

LOGIN, NAME = "originallogin", "originalname"
"""Names of the user and the repository to copy. In texts, each copy gets its own names instead."""
COLLABORATOR = "collaborator"
SHARD = "shard-0"
SECONDS = 300.0
"""The longest time for background work of the services, on a busy machine."""


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    connected = await asyncpg.connect(url.replace("+asyncpg", ""), ssl=False)
    try:
        yield connected
    finally:
        await connected.close()


class Tables:
    """The tables of one service while they are filled."""

    def __init__(self, connected: asyncpg.Connection) -> None:
        self._connection = connected

    def transaction(self) -> Transaction:
        return self._connection.transaction()

    async def original(self, table: str, condition: str) -> Row:
        """Wait for the row to copy, and return it."""
        deadline = time.monotonic() + SECONDS
        while (row := await self._connection.fetchrow(f"SELECT * FROM {table} WHERE {condition}")) is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"{table} has no row with {condition}")
            await asyncio.sleep(0.1)
        return dict(row)

    async def fill(self, table: str, original: Row, changes: Iterable[Mapping[str, Any]]) -> None:
        """Add a copy of a row for each change. Indexes without a constraint are dropped and created again, to
        save time."""
        indexes = await self._connection.fetch(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1 AND indexname NOT IN"
            " (SELECT conname FROM pg_constraint)",
            table,
        )
        for index in indexes:
            await self._connection.execute(f"DROP INDEX {index['indexname']}")
        records = (tuple((original | change).values()) for change in changes)
        await self._connection.copy_records_to_table(table, records=records, columns=list(original))
        await self._connection.execute("SET maintenance_work_mem = '512MB'")
        for index in indexes:
            await self._connection.execute(index["indexdef"])
        if "id" in original and (
            sequence := await self._connection.fetchval("SELECT pg_get_serial_sequence($1, 'id')", table)
        ):
            await self._connection.execute(f"SELECT setval('{sequence}', (SELECT max(id) FROM {table}))")

    async def change(self, statement: str, *values: object) -> None:
        await self._connection.execute(statement, *values)

    async def next_id(self, table: str) -> int:
        return int(await self._connection.fetchval(f"SELECT coalesce(max(id), 0) + 1 FROM {table}"))


def make_originals(url: str) -> None:
    """Create one of each through the API."""
    with httpx.Client(base_url=f"{url}api/v1/", auth=ADMINISTRATOR, timeout=30) as client:

        def send(method: str, path: str, **body: object) -> None:
            deadline = time.monotonic() + SECONDS
            while (answer := client.request(method, path, json=body)).status_code == 503:
                if time.monotonic() > deadline:
                    break
                time.sleep(1)
            answer.raise_for_status()

        for login in (LOGIN, COLLABORATOR):
            person = {
                "username": login,
                "email": f"{login}@example.org",
                "password": "a password that is long",
            }
            send("POST", "admin/users", **person, must_change_password=False)
        client.headers["Sudo"] = LOGIN
        send(
            "POST", "user/repos", name=NAME, auto_init=True, default_branch="main", description="description"
        )
        repository = f"repos/{LOGIN}/{NAME}"
        send("PUT", f"{repository}/collaborators/{COLLABORATOR}", permission="write")
        send("POST", f"{repository}/issues", title="title", body="body")
        # Another user writes it: the owner is notified, and for that issues copies the repository.
        client.headers["Sudo"] = COLLABORATOR
        send("POST", f"{repository}/issues/1/comments", body="comment")
        client.headers["Sudo"] = LOGIN
        address = {"url": "http://127.0.0.1:9/", "content_type": "json", "secret": "secret"}
        send(
            "POST",
            f"{repository}/hooks",
            type="gitea",
            active=True,
            events=["push", "issues"],
            config=address,
        )


async def fill(urls: Mapping[str, str], folder: Path, sizes: Sizes, *, links: bool = True) -> Plan:
    """Add all data to the databases of the services. Return the plan of the data.

    Without ``links`` each repository has a folder of its own.
    """
    async with connection(urls["repos"]) as connected:
        tables = Tables(connected)
        original = await tables.original("repository", f"name = '{NAME}'")
        async with connection(urls["identity"]) as identity:
            first_user = await Tables(identity).next_id("account")
        plan = Plan(sizes, first_user, await tables.next_id("repository"))
        await tables.original("repository", f"name = '{NAME}' AND open_issues_count = 1")
        await _fill_repos(tables, plan, original)
    async with connection(urls["identity"]) as connected:
        await _fill_identity(Tables(connected), plan, original["id"])
    async with connection(urls["issues"]) as connected:
        await _fill_issues(Tables(connected), plan, original["id"])
    async with connection(urls["hooks"]) as connected:
        await _fill_hooks(Tables(connected), plan)
    await asyncio.to_thread(_add_folders, Storage(folder / SHARD), plan, original["id"], links)
    await analyze(urls)
    return plan


async def analyze(urls: Mapping[str, str]) -> None:
    """Update statistics, as a server does regularly and a test server does not."""
    for url in urls.values():
        async with connection(url) as connected:
            await connected.execute("VACUUM (ANALYZE)")


def _people(plan: Plan, account: Row) -> Iterator[Row]:
    """Yield the columns that differ in a copy of an account."""
    for user_id in range(plan.first_user, plan.first_user + plan.sizes.users):
        login = plan.login(user_id)
        row = {"id": user_id, "login": login, "lower_login": login, "email": f"{login}@example.org"}
        if "avatar_url" in account:
            digest = hashlib.md5(row["email"].encode(), usedforsecurity=False).hexdigest()
            row["avatar_url"] = f"{account['avatar_url'][:-32]}{digest}"
        yield row


async def _fill_identity(tables: Tables, plan: Plan, original_id: int) -> None:
    account = await tables.original("account", f"login = '{LOGIN}'")
    await tables.fill("account", account, _people(plan, account))
    email = await tables.original("email", f"account_id = {account['id']}")
    first = await tables.next_id("email")
    addresses = (
        {
            "id": first + number,
            "account_id": person["id"],
            "address": person["email"],
            "spelling": person["email"],
        }
        for number, person in enumerate(_people(plan, account))
    )
    await tables.fill("email", email, addresses)
    repository = await tables.original("owned_repository", f"repository_id = {original_id}")
    copies = (
        {
            "repository_id": one.id,
            "owner_id": one.owner_id,
            "name": one.name,
            "lower_name": one.name,
            "private": one.private,
        }
        for one in plan.repositories
    )
    await tables.fill("owned_repository", repository, copies)
    collaborator = await tables.original("repository_collaborator", f"repository_id = {original_id}")
    await tables.fill("repository_collaborator", collaborator, _collaborators(plan))


def _collaborators(plan: Plan) -> Iterator[Row]:
    """Yield one more collaborator for each private repository."""
    for one in plan.repositories:
        if one.private:
            yield {"repository_id": one.id, "user_id": plan.other(one.owner_id)}


async def _fill_repos(tables: Tables, plan: Plan, original: Row) -> None:
    account = await tables.original("account", f"login = '{LOGIN}'")
    await tables.fill("account", account, _people(plan, account))
    count = len(plan.repositories)
    repositories = (
        {
            "id": one.id,
            "owner_id": one.owner_id,
            "name": one.name,
            "lower_name": one.name,
            "description": plan.text(3, 12)[:250],
            "private": one.private,
            "size": int(plan.chance.lognormvariate(13, 2)),
            "open_issues_count": one.open_issues,
            "created_at": plan.time(one.number / count / 2),
            "updated_at": plan.time(0.5 + plan.chance.random() / 2),
        }
        for one in plan.repositories
    )
    # A worker adds this row after its first check of the repository. The copies count as checked just now.
    upkeep = await tables.original("upkeep", f"repository_id = {original['id']} AND checked_at IS NOT NULL")
    async with tables.transaction():
        await tables.fill("repository", original, repositories)
        await tables.fill("upkeep", upkeep, ({"repository_id": one.id} for one in plan.repositories))
    for table, person in (("ref", None), ("watch", "user_id")):
        row = await tables.original(table, f"repository_id = {original['id']}")
        owners = (
            {"repository_id": one.id} | ({person: one.owner_id} if person else {})
            for one in plan.repositories
        )
        await tables.fill(table, row, owners)
    collaboration = await tables.original("collaboration", f"repository_id = {original['id']}")
    await tables.fill("collaboration", collaboration, _collaborators(plan))
    await tables.change(
        "UPDATE repository SET open_issues_count = open_issues_count + $1 WHERE name = 'bench'", plan.in_bench
    )


async def _fill_issues(tables: Tables, plan: Plan, original_id: int) -> None:
    account = await tables.original("account", f"login = '{LOGIN}'")
    await tables.fill("account", account, _people(plan, account))
    copy = await tables.original("repository", f"id = {original_id}")
    text = copy["view"].decode()
    views = (
        {"id": one.id, "owner_id": one.owner_id, "view": _view(plan, one, text)} for one in plan.repositories
    )
    await tables.fill("repository", copy, views)
    counter = await tables.original("counter", f"repository_id = {original_id}")
    counts = (
        {"repository_id": one.id, "last_number": one.issues, "open_issues": one.open_issues}
        for one in plan.repositories
        if one.issues
    )
    await tables.fill("counter", counter, counts)
    first_number = await _grow_bench(tables, plan)
    issue = await tables.original("issue", f"repository_id = {original_id}")
    numbered = partial(_issues, plan, first_number, await tables.next_id("issue"))
    texts = (row | {"title": plan.text(3, 8)[:250], "body": plan.text(10, 50)} for row in numbered())
    await tables.fill("issue", issue, texts)
    comment = await tables.original("comment", f"repository_id = {original_id}")
    first = await tables.next_id("comment")
    comments = (
        {
            "id": first + row["id"],
            "issue_id": row["id"],
            "repository_id": row["repository_id"],
            "author_id": plan.other(row["author_id"]),
            "body": plan.text(5, 30),
            "created_at": row["updated_at"],
            "updated_at": row["updated_at"],
        }
        for row in numbered()
        if row["comments"]
    )
    await tables.fill("comment", comment, comments)
    notification = await tables.original("notification", f"repository_id = {original_id}")
    first_notification = await tables.next_id("notification")
    notifications = (
        {
            "id": first_notification + row["id"],
            "account_id": row["author_id"],
            "repository_id": row["repository_id"],
            "issue_id": row["id"],
            "comment_id": first + row["id"],
            "updated_at": row["updated_at"],
        }
        for row in numbered()
        if row["comments"]
    )
    await tables.fill("notification", notification, notifications)


async def _grow_bench(tables: Tables, plan: Plan) -> int:
    """Add the new issues of the benchmark's repository to its counters. Return the first number."""
    before = await tables.original("counter", "repository_id = 1")
    await tables.change(
        (
            "UPDATE counter SET last_number = last_number + $1, open_issues = open_issues + $1 WHERE "
            "repository_id = 1"
        ),
        plan.in_bench,
    )
    return int(before["last_number"]) + 1


def _view(plan: Plan, one: Repository, text: str) -> bytes:
    """Return the copy of a repository that issues stores."""
    view = json.loads(text.replace(LOGIN, plan.login(one.owner_id)).replace(NAME, one.name))
    view["id"], view["owner"]["id"], view["private"] = one.id, one.owner_id, one.private
    return json.dumps(view, separators=(",", ":")).encode()


def _issues(plan: Plan, first_number: int, first_id: int) -> Iterator[Row]:
    """Yield all issues without texts, by id. Issues of the benchmark's repository come first."""
    in_bench = ((1, 1, first_number + number, "open") for number in range(plan.in_bench))
    in_others = (
        (one.id, one.owner_id, number + 1, "closed" if number % 3 == 2 else "open")
        for one in plan.repositories
        for number in range(one.issues)
    )
    for number, (repository_id, author_id, issue_number, state) in enumerate(chain(in_bench, in_others)):
        created = plan.time(number / plan.sizes.issues)
        yield {
            "id": first_id + number,
            "repository_id": repository_id,
            "number": issue_number,
            "author_id": author_id,
            "state": state,
            "comments": int(number % 5 == 0),
            "created_at": created,
            "updated_at": created,
            "closed_at": created if state == "closed" else None,
        }


async def _fill_hooks(tables: Tables, plan: Plan) -> None:
    hook = await tables.original("hook", "true")
    first = await tables.next_id("hook")
    hooks = (
        {
            "id": first + number,
            "repository_id": one.id,
            "creator_id": one.owner_id,
            "url": f"http://127.0.0.1:9/{number}",
        }
        for number, one in enumerate(plan.repositories[: plan.sizes.hooks])
    )
    await tables.fill("hook", hook, hooks)


def _add_folders(storage: Storage, plan: Plan, original_id: int, links: bool) -> None:
    """Give each repository the files of the original: its folder, or a folder with hard links."""
    files = storage.path(original_id)
    for one in plan.repositories:
        path = storage.path(one.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        if links:
            path.symlink_to(files)
        else:
            shutil.copytree(files, path, copy_function=os.link)
