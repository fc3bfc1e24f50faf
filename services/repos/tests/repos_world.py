"""A repos service on real databases and a real disk, beside an identity that is told what to answer."""

import asyncio
import base64
import contextlib
import os
import socket
import time
import uuid
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec
import uvicorn
from sqlalchemy import event

from ingot_chassis.bus import Bus
from ingot_chassis.events import Envelope, event_type
from ingot_chassis.keys import Jwks, SigningKey
from ingot_chassis.migrations import upgrade
from ingot_chassis.peers import Peers
from ingot_chassis.principal import (
    PRINCIPAL_HEADER,
    SERVICE_HEADER,
    Membership,
    Principal,
    ServiceIdentity,
    sign_principal,
)
from ingot_chassis.tables import now
from ingot_contracts.hooks import HooksForgotten
from ingot_contracts.identity import Account, Ownership, OwnershipForgotten, Team
from ingot_contracts.issues import IssuesForgotten
from ingot_repos.app import SCRIPTS, create_app
from ingot_repos.settings import Settings

IDENTITY_KEY, REPOS_KEY, ISSUES_KEY = (SigningKey.generate() for _ in range(3))
SEALING_KEY = base64.urlsafe_b64encode(bytes(32)).decode()


class FakeIdentity:
    """Answers what repos asks identity, as an ASGI app; counts the questions."""

    def __init__(self):
        self.accounts = {}
        self.memberships = {}
        self.teams = {}
        self.concealed = set()
        self.asked = []
        self.owned = {}

    def add(self, account_id, login, **more):
        account = Account(id=account_id, kind=more.pop("kind", "user"), login=login, **more)
        self.accounts[account_id] = account
        return account

    def join(self, user_id, organization_id, *, concealed=False, **membership):
        if concealed:
            self.concealed.add((user_id, organization_id))
        self.memberships.setdefault(user_id, {})[organization_id] = Membership(**membership)

    def _organizations(self, user_id, *, public):
        held = self.memberships.get(user_id, {})
        return {id_: one for id_, one in held.items() if not public or (user_id, id_) not in self.concealed}

    def team(self, team_id, organization_id, permission="write"):
        self.teams[team_id] = Team(
            id=team_id, organization_id=organization_id, name=f"team{team_id}", permission=permission
        )

    def _answer(self, path, body, *, public):
        self.asked.append(path)
        if path == "/internal/jwks":
            return Jwks(keys=[IDENTITY_KEY.jwk()])
        last = path.rsplit("/", 1)[-1]
        if path.startswith("/internal/repositories/"):
            self.owned[int(last)] = msgspec.json.decode(body, type=Ownership)
            return {} if self.owned[int(last)].owner_id in self.accounts else None
        if last == "organizations":
            return self._organizations(int(path.split("/")[3]), public=public)
        if "/teams/" in path:
            return self.teams.get(int(last))
        if "/by-name/" in path:
            return next((a for a in self.accounts.values() if a.login.lower() == last.lower()), None)
        return self.accounts.get(int(last))

    async def __call__(self, scope, receive, send):
        told = (await receive())["body"]
        found = self._answer(scope["path"], told, public=scope["query_string"] == b"public=true")
        body = msgspec.json.encode({"message": "none", "url": ""} if found is None else found)
        await send({"type": "http.response.start", "status": 404 if found is None else 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


FORGOTTEN = (OwnershipForgotten, IssuesForgotten, HooksForgotten)
"""How sisters confirm that they have forgotten a deleted repository."""


class World:
    """One service, its database, its disk."""

    def __init__(self, database_url, folder: Path, *, nats="nats://127.0.0.1:1", **settings):
        self.identity = FakeIdentity()
        self.folder = folder
        self.settings = Settings(
            database_url=database_url,
            storage_root=str(folder / "storage"),
            private_key=REPOS_KEY.text(),
            public_keys={"issues": ISSUES_KEY.x},
            public_url="http://ingot.test/",
            background=False,
            nats_url=nats,
            **{"sealing_key": SEALING_KEY, "migration_wait_seconds": 0} | settings,
        )
        own = ServiceIdentity("repos", REPOS_KEY)
        self.app = create_app(
            self.settings,
            bus=Bus(nats, name="repos"),
            peers=Peers.in_process({"identity": self.identity}, own),
        )
        self.parts = self.app.state.repos
        self.database = self.app.state.database
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False), base_url="http://repos"
        )

    def user(self, account_id, login, **more):
        self.identity.add(account_id, login, email=f"{login}@example.org", **more)
        return Person(self, Principal(id=account_id, name=login, via="token"))

    def person(self, principal):
        return Person(self, principal)

    def organization(self, account_id, login, **more):
        return self.identity.add(account_id, login, kind="organization", **more)

    async def events(self, kind=""):
        """Emitted so far, in order, as plain values."""
        outbox = self.database.metadata.tables["outbox"]
        async with self.database.read() as db:
            rows = (await db.execute(outbox.select().order_by(outbox.c.seq))).all()
        return [msgspec.json.decode(row.payload) for row in rows if kind in row.type]

    async def hear(self, happened):
        """Apply an event of a sister through the inbox, as the consumer loop does; a copy of it changes nothing."""
        envelope = Envelope(
            id=str(uuid.uuid4()),
            type=event_type(type(happened)),
            key="1",
            seq=1,
            occurred_at=now(),
            data=msgspec.Raw(msgspec.json.encode(happened)),
        )
        consumers = self.app.state.parts.consumers
        assert await consumers.apply(envelope)
        assert not await consumers.apply(envelope)

    async def forget(self, repository_id):
        """All sisters confirm that they have forgotten a deleted repository."""
        for forgotten in FORGOTTEN:
            await self.hear(forgotten(repository_id=repository_id))

    async def rows(self, table):
        async with self.database.read() as db:
            return (await db.execute(self.database.metadata.tables[table].select())).all()

    @contextlib.contextmanager
    def counting(self):
        """A list that grows with every statement sent to the database."""
        statements = []

        def count(*happened):
            statements.append(happened[2])

        engines = (self.database.reading, self.database.writing)
        for engine in engines:
            event.listen(engine.sync_engine, "before_cursor_execute", count)
        yield statements
        for engine in engines:
            event.remove(engine.sync_engine, "before_cursor_execute", count)

    async def close(self):
        await self.http.aclose()
        await self.parts.proxy.close()
        await self.database.close()


class Person:
    """Somebody who sends requests. ``as_service`` makes them come through a sister."""

    def __init__(self, world, principal):
        self.world, self.principal = world, principal

    def but(self, **changes):
        return Person(self.world, msgspec.structs.replace(self.principal, **changes))

    def headers(self, as_service=None):
        headers = {}
        if self.principal.id:
            headers[PRINCIPAL_HEADER] = sign_principal(
                self.principal, IDENTITY_KEY, audience=["repos"], lifetime=600
            )
        if as_service:
            headers[SERVICE_HEADER] = ServiceIdentity(as_service, ISSUES_KEY).statement("repos")
        return headers

    async def call(self, method, path, body=None, *, as_service=None, **more):
        return await self.world.http.request(
            method, path, json=body, headers=self.headers(as_service) | more.pop("headers", {}), **more
        )

    async def get(self, path, **more):
        return await self.call("GET", f"/api/v1{path}", **more)

    async def post(self, path, body=None, **more):
        return await self.call("POST", f"/api/v1{path}", body or {}, **more)

    async def internal(self, method, path, body=None, **more):
        return await self.call(method, f"/internal/repositories/{path}", body, as_service="issues", **more)

    async def create(self, name, **more):
        answer = await self.post("/user/repos", {"name": name, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()


async def git(*args, cwd, person=None, check=True):
    """The real git; ``person`` is who it is to the service."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "NO_PROXY": "*",
        **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
    }
    extra = [
        option
        for name, value in (person.headers() if person else {}).items()
        for option in ("-c", f"http.extraHeader={name}: {value}")
    ]
    process = await asyncio.create_subprocess_exec(
        "git", *extra, *args, cwd=cwd, env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    text = output.decode()
    assert not check or process.returncode == 0, text
    return text if check else (process.returncode, text)


async def commit(work, name="file.txt", text=None, message="a commit"):
    """Write a file, commit it, give its id."""
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_text(text if text is not None else f"{time.monotonic_ns()}")
    await git("add", ".", cwd=work)
    await git("commit", "-q", "-m", message, cwd=work)
    return (await git("rev-parse", "HEAD", cwd=work)).strip()


async def work_tree(folder, name="work", branch="master"):
    """An empty repository with a work tree."""
    work = folder / name
    work.mkdir()
    await git("init", "-q", "-b", branch, cwd=work)
    return work


def migrate(url):
    asyncio.run(upgrade(url, SCRIPTS))


@asynccontextmanager
async def served(app):
    """The URL of an app behind a socket."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, interface="asgi3", lifespan="off", ws="none", log_config=None)
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    await serving
    listener.close()


@asynccontextmanager
async def counted(database):
    """The statements that run inside the block, each with its parameters."""
    statements = []

    def note(_connection, _cursor, statement, parameters, *_):
        if not statement.startswith(("PRAGMA", "BEGIN")):
            statements.append((statement, parameters))

    engines = [database.reading.sync_engine, database.writing.sync_engine]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield statements
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


class GitLog:
    """Command lines out of the file that the recording git writes."""

    def __init__(self, file):
        self._file = file

    def __iter__(self):
        text = self._file.read_bytes() if self._file.exists() else b""
        return (line.decode(errors="replace").split("\x1f")[:-1] for line in text.split(b"\x1e")[:-1])

    def clear(self):
        self._file.unlink(missing_ok=True)
