"""A repos service on a real database and disk, with a fake of identity and git as its client."""

import asyncio
import base64
import copy
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.db.migrations import upgrade
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.concurrency import ConcurrencyLimiter, ConcurrencyQueue
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import Principal, ServiceIdentity
from ingot_chassis.security.sealing import Seal
from ingot_contracts.hooks.events import HooksForgotten
from ingot_contracts.identity.accounts import Account
from ingot_contracts.identity.events import OwnershipForgotten
from ingot_contracts.issues.events import IssuesForgotten
from ingot_contracts.testing.identity import FakeIdentity
from ingot_git.history.archive import Archives
from ingot_git.hooks.hook_questions import HookQuestions
from ingot_git.protocol.fetch_cache import FetchCache
from ingot_git.storage.read_cache import ReadCache
from ingot_git.storage.storage import Storage
from ingot_remotes.connections.socks_proxy import SocksProxy
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.admission import Admission, LongRequests
from ingot_repos.access.rules.archive_cpu import ArchiveCpu
from ingot_repos.app import create_app
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.commits.rules.signatures import Signatures
from ingot_repos.imports.jobs.imports import ImportWorkers
from ingot_repos.lfs.rules.objects import LfsFiles, LfsObjects
from ingot_repos.lfs.rules.pushes import LfsPushes
from ingot_repos.migrations import SCRIPTS
from ingot_repos.mirrors.jobs.mirrors import MirrorWorkers
from ingot_repos.placement.clients import Shards
from ingot_repos.placement.rules.loads import RepositoryLoads
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.protection.rules.contents import ContentJudge
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.rules.sessions import PushParts
from ingot_repos.releases.rules.assets import AssetEditor, AssetFiles
from ingot_repos.repositories.jobs import RepositoryWorkers
from ingot_repos.settings import Settings
from ingot_repos.shards.jobs.moves import MoveWorkers
from ingot_repos.shards.jobs.replicas import Replicas
from ingot_repos.upkeep.jobs.upkeep import UpkeepJobs
from ingot_testing import service
from ingot_testing.databases import MakeDatabase
from ingot_testing.service import Callers

CALLERS = Callers("repos")
"""One for all worlds of a test, so a service that starts again, or another shard, knows the same callers."""
REPOS_KEY = SigningKey.generate()
SEALING_KEY = base64.urlsafe_b64encode(bytes(32)).decode()
CONFIRMATIONS = (OwnershipForgotten, IssuesForgotten, HooksForgotten)
"""Events by which peers confirm that they have forgotten a deleted repository."""


class Components:
    """The objects of the service, by short names."""

    KINDS: ClassVar = {
        "identity": HttpIdentity,
        "accounts": AccountCopies,
        "presenter": Presenter,
        "storage": Storage,
        "archives": Archives,
        "fetches": FetchCache,
        "objects": ObjectStore,
        "assets": AssetEditor,
        "asset_files": AssetFiles,
        "lfs": LfsObjects,
        "lfs_pushes": LfsPushes,
        "lfs_files": LfsFiles,
        "reads": ReadCache,
        "pushes": Pushes,
        "push_parts": PushParts,
        "signatures": Signatures,
        "server_keys": ServerKeys,
        "judge": ContentJudge,
        "loads": RepositoryLoads,
        "jobs": Jobs,
        "workers": RepositoryWorkers,
        "import_workers": ImportWorkers,
        "mirror_workers": MirrorWorkers,
        "move_workers": MoveWorkers,
        "seal": Seal,
        "proxy": SocksProxy,
        "shards": Shards,
        "limiter": ConcurrencyLimiter,
        "archive_queue": ConcurrencyQueue,
        "archive_cpu": ArchiveCpu,
        "admission": Admission,
        "long_requests": LongRequests,
        "questions": HookQuestions,
        "replicas": Replicas,
        "upkeep": UpkeepJobs,
    }

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __getattr__(self, name):
        return self._parts[self.KINDS[name]]


class World:
    """One service, its database, its disk. Worlds may share an ``identity``."""

    def __init__(
        self,
        database_url: str,
        folder: Path,
        *,
        nats: str = "nats://127.0.0.1:1",
        identity: FakeIdentity | None = None,
        **settings: Any,
    ) -> None:
        jwk = CALLERS.identity_key.jwk()
        self.identity = identity or FakeIdentity(kid=jwk.kid, x=jwk.x)
        self.arranged: Any = None
        self.folder = folder
        self.settings = Settings(
            database_url=database_url,
            storage_root=str(folder / "storage"),
            private_key=REPOS_KEY.text(),
            public_keys=CALLERS.public_keys("issues", "hooks", "mail", "web") | {"repos": REPOS_KEY.x},
            public_url="http://ingot.test/",
            background=False,
            nats_url=nats,
            **{
                "sealing_key": SEALING_KEY,
                "migration_wait_seconds": 0,
                "fork_wait_seconds": 0,
                "default_branch": "master",
            }
            | settings,
        )
        own = ServiceIdentity("repos", REPOS_KEY)
        self.app = create_app(
            self.settings,
            bus=Bus(nats, name="repos"),
            peers=Peers.in_process({"identity": self.identity}, own),
        )
        self.components = Components(self.app.state[PARTS])
        # No push is late by chance: on a busy machine its hook would ask, and few tests answer.
        self.components.questions.late_seconds = 3600
        self.database: Database = self.app.state.database
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False), base_url="http://repos"
        )

    def user(self, account_id: int, login: str, **fields: Any) -> "Person":
        """A new user of identity."""
        if account_id:
            self.identity.add_account(account_id, login, email=f"{login}@example.org", **fields)
        credential = f"token:{account_id}"
        self.identity.principals[account_id, credential] = {"via": "token"}
        return Person(self, Principal(id=account_id, name=login, via="token", credential=credential))

    def person(self, principal: Principal) -> "Person":
        return Person(self, principal)

    def organization(self, account_id: int, login: str, **fields: Any) -> Account:
        """A new organization of identity."""
        return self.identity.add_account(account_id, login, kind="organization", **fields)

    async def events(self, kind: str = "") -> list[dict[str, Any]]:
        """The payloads of the events whose type contains ``kind``, in order."""
        types = await service.emitted_types(self.database)
        payloads = await service.emitted_payloads(self.database)
        return [payload for type_, payload in zip(types, payloads, strict=True) if kind in type_]

    async def deliver(self, event: msgspec.Struct) -> None:
        """Apply an event of a peer, twice."""
        assert await service.deliver_event(self.app.state.parts.consumers, event)

    async def confirm_deletion(self, repository_id: int) -> None:
        """All peers confirm that they have forgotten a deleted repository."""
        for confirmation in CONFIRMATIONS:
            await self.deliver(confirmation(repository_id=repository_id))

    async def rows(self, table: str) -> Sequence[Any]:
        async with self.database.read() as db:
            return (await db.execute(self.database.metadata.tables[table].select())).all()

    def count_statements(self) -> AbstractContextManager[list[tuple[str, Any]]]:
        return service.count_statements(self.database)

    async def close(self) -> None:
        await self.http.aclose()
        await self.components.proxy.close()
        await self.database.close()


class Person:
    """A user who sends requests. ``peer`` sends them through another service."""

    def __init__(self, world: World, principal: Principal) -> None:
        self.world, self.principal = world, principal

    def but(self, **fields: Any) -> "Person":
        return Person(self.world, msgspec.structs.replace(self.principal, **fields))

    def headers(self, peer: str = "") -> dict[str, str]:
        return CALLERS.headers(self.principal, peer=peer)

    async def call(
        self, method: str, path: str, body: Any = None, *, peer: str = "", **options: Any
    ) -> httpx.Response:
        headers = self.headers(peer) | options.pop("headers", {})
        return await self.world.http.request(method, path, json=body, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.call("GET", f"/api/v1{path}", **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return await self.call("POST", f"/api/v1{path}", body or {}, **options)

    async def internal(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """A request of issues about a repository."""
        return await self.call(method, f"/internal/repositories/{path}", body, peer="issues", **options)

    async def create(self, name: str, **fields: Any) -> dict[str, Any]:
        """A new repository of the person, as the API shows it."""
        answer = await self.post("/user/repos", {"name": name, **fields})
        assert answer.status_code == 201, answer.text
        repository: dict[str, Any] = answer.json()
        return repository


async def git(*args: str, cwd: Path, person: Person | None = None, check: bool = True) -> Any:
    """The output of the real git; without ``check`` its exit code and output. ``person`` is its user."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "NO_PROXY": "*",
        **{f"GIT_{role}_NAME": "Ann" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "ann@example.org" for role in ("AUTHOR", "COMMITTER")},
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


async def commit(
    work: Path, name: str = "file.txt", text: str | None = None, message: str = "a commit"
) -> str:
    """Write a file, commit it, give its id."""
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_text(text if text is not None else f"{time.monotonic_ns()}")
    await git("add", ".", cwd=work)
    await git("commit", "-q", "-m", message, cwd=work)
    return str(await git("rev-parse", "HEAD", cwd=work)).strip()


async def work_tree(folder: Path, name: str = "work", branch: str = "master") -> Path:
    """An empty repository with a work tree."""
    work = folder / name
    work.mkdir()
    await git("init", "-q", "-b", branch, cwd=work)
    return work


def migrate(url: str) -> None:
    asyncio.run(upgrade(url, SCRIPTS))


Arrange = Callable[["World", Path], Awaitable[Any]]
_ARRANGED: dict[str, tuple[Path, FakeIdentity, Any]] = {}
"""Folder, identity and result of an arrangement, by its name and the kind of database."""


def arranged_world(
    make_database: MakeDatabase,
    new_folder: Callable[[str], Path],
    folder: Path,
    arrange: Arrange,
    **settings: Any,
) -> "World":
    """Return a world in ``folder``, as ``arrange(world, <a folder for work trees>)`` left it.

    ``world.arranged`` is its result. It runs once per worker and kind of database, in a folder of
    ``new_folder(name)``, without ``settings``; each test gets copies.
    """
    name = f"{arrange.__module__}-{arrange.__name__}"

    def build(url: str) -> None:
        migrate(url)
        place = new_folder("arranged")

        async def run() -> None:
            world = World(url, place)
            try:
                _ARRANGED[name + url.partition("+")[0]] = (place, world.identity, await arrange(world, place))
            finally:
                await world.close()

        asyncio.run(run())

    url = make_database(name, build)
    place, identity, result = _ARRANGED[name + url.partition("+")[0]]
    shutil.copytree(place, folder, symlinks=True, dirs_exist_ok=True)
    world = World(url, folder, identity=copy.deepcopy(identity), **settings)
    world.arranged = result
    return world
