"""A load on an Ingot: reads, pages, issues, pushes and clones over HTTP and SSH, and long downloads.

It retries nothing: ``failures`` has every failure that a user would see. ``refused`` has the responses with
503 and `Retry-After`, and their equivalent over SSH. At the end, ``lost`` checks every acknowledged write.
"""

import asyncio
import contextlib
import hashlib
import itertools
import math
import os
import secrets
import shlex
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncssh
import httpx

from ingot_chassis.peers.peers import TIMEOUT

from ..e2e.history import GitFailed, commit_file, git

READERS = 4
LONG_RATE = 600_000
"""Bytes a second of long downloads and clones."""
REQUEST_SECONDS = 60
PATIENCE = 600.0
"""Seconds for each kind of work to be done once more, on a busy host."""


REFUSALS_OF_GIT = (
    "returned error: 503",
    "ingot: the shard of the repository does not answer",
    "ingot: the database does not answer",
    "remote: the database does not answer",
    "ingot: identity does not answer",
    "the service does not answer; try again later",
)
"""The text of git for a 503 over HTTP, and the message over SSH, which has no such status."""


class TryLater(AssertionError):
    """It was answered by 503 with `Retry-After`."""


class Load:
    """A person of its own, with one repository."""

    def __init__(
        self,
        url: str,
        administrator: tuple[str, str],
        folder: Path,
        *,
        ssh: str = "",
        long_seconds: float = 10,
        pause: float = 0.3,
    ) -> None:
        """``ssh`` is the address of git over SSH, as ssh://git@host:port, or empty. ``pause`` follows each
        request."""
        self.url, self._folder = url.rstrip("/"), folder
        self._administrator, self._ssh, self._pause = administrator, ssh, pause
        self.name, self._password = f"load-{secrets.token_hex(4)}", secrets.token_hex(12)
        self._file, self._token = os.urandom(round(LONG_RATE * long_seconds)), ""
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self.refused: list[str] = []
        self.refused_soon: list[str] = []
        """Refused requests that did not wait for the timeout of a call. A busy machine alone does not explain
        them."""
        self.slowest = self.slowest_calm = (0.0, "")
        """Seconds and kind of the slowest request or git command: now, and before the disturbance.

        Requests that are slow on purpose are left out.
        """
        self._titles: set[str] = set()
        self._commits: defaultdict[str, list[str]] = defaultdict(list)
        self._ending = asyncio.Event()

    async def prepare(self) -> None:
        """The account, its token, and a repository with a history and a large file."""
        new = {"username": self.name, "email": f"{self.name}@example.org", "password": self._password}
        async with self._client() as client:
            await ask(client, "POST", "admin/users", new, auth=self._administrator)
            token = await ask(
                client,
                "POST",
                f"users/{self.name}/tokens",
                {"name": "load"},
                auth=(self.name, self._password),
            )
            self._token = token["sha1"]
            await ask(client, "POST", "user/repos", {"name": "app"}, headers=self._headers)
            if self._ssh:
                await self._add_key(client)
        work = self._folder / "work"
        work.mkdir()
        await git("init", "-q", "-b", "main", cwd=work)
        await commit_file(work, "large.bin", self._file, "A large file")
        await git("push", "-q", self._remote, "main", cwd=work)

    async def _add_key(self, client: httpx.AsyncClient) -> None:
        """A key for SSH, and how git uses it."""
        key, file = asyncssh.generate_private_key("ssh-ed25519"), self._folder / "key"
        file.write_bytes(key.export_private_key())
        file.chmod(0o600)
        body = {"title": "load", "key": key.export_public_key().decode()}
        await ask(client, "POST", "user/keys", body, headers=self._headers)
        options = (
            *("IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=accept-new"),
            f"UserKnownHostsFile={self._folder}/hosts",
        )
        command = ["ssh", "-F", "none", "-i", str(file), *(f"-o{option}" for option in options)]
        work = self._folder / "ssh-work"
        work.mkdir()
        await git("init", "-q", "-b", "ssh", cwd=work)
        await git("config", "core.sshCommand", shlex.join(command), cwd=work)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The load goes on in the meantime; afterwards what has begun ends."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._ending.set()
            await task

    async def goes_on(self) -> None:
        """Wait until everything that is done again and again was done once more. Raises TimeoutError."""
        before = Counter(self.done)
        async with asyncio.timeout(PATIENCE):
            while any(self.done[kind] <= count for kind, count in before.items()):
                await asyncio.sleep(self._pause)

    def end_calm(self) -> None:
        """Compare later answers with the answers so far."""
        self.slowest_calm, self.slowest = self.slowest, (0.0, "")

    def report(self) -> str:
        """One line of figures."""
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.done.items()))
        (seconds, kind), (calm, calm_kind) = self.slowest, self.slowest_calm
        line = (
            f"{counts}; {len(self.failures)} failed, {len(self.refused)} were refused; "
            f"the slowest took {seconds:.1f} s ({kind})"
        )
        return f"{line}, {seconds - calm:.1f} s more than before ({calm_kind})" if calm else line

    @contextmanager
    def measured(self, kind: str) -> Iterator[None]:
        """One request, or one command of git."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.slowest = max(self.slowest, (time.monotonic() - start, kind))

    async def _ask(self, client: httpx.AsyncClient, method: str, path: str, body: object = None) -> Any:
        with self.measured(f"{method} {path}"):
            return await ask(client, method, path, body, headers=self._headers)

    async def read_repository(self) -> None:
        """A clone and a file, of what is there since ``prepare``. Raises GitFailed, AssertionError."""
        await git("clone", "-q", "--bare", self._remote, "read", cwd=self._folder)
        async with self._client() as client:
            answer = await client.get(f"repos/{self.name}/app/raw/large.bin", headers=self._headers)
        assert answer.content == self._file, answer.status_code

    async def lost(self) -> list[str]:
        """Issues and commits that were acknowledged and are not there."""
        repository = f"repos/{self.name}/app"
        titles = await self._all(f"{repository}/issues?state=all", "title")
        lost = self._titles - titles
        for branch, commits in self._commits.items():
            lost |= set(commits) - await self._all(f"{repository}/commits?sha={branch}", "sha")
        return sorted(lost)

    async def _all(self, path: str, field: str) -> set[str]:
        """This field of all rows of a list."""
        values = set[str]()
        async with self._client() as client:
            for page in itertools.count(1):
                rows = await ask(client, "GET", f"{path}&limit=50&page={page}", headers=self._headers)
                values.update(row[field] for row in rows)
                if not rows:
                    return values
        raise AssertionError

    @property
    def _headers(self) -> dict[str, str]:
        return {"authorization": f"token {self._token}"}

    @property
    def _remote(self) -> str:
        return self.url.replace("://", f"://{self.name}:{self._token}@") + f"/{self.name}/app.git"

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=f"{self.url}/api/v1/", timeout=REQUEST_SECONDS)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(READERS):
                group.create_task(self._read(is_new=number % 2 == 0))
            for work in (
                self._read_pages,
                self._open_issues,
                self._push,
                self._clone,
                self._clone_slowly,
                self._download,
                *((self._exchange_by_ssh,) if self._ssh else ()),
            ):
                group.create_task(work())

    async def _again(self, kind: str, do: Callable[[int], Awaitable[Any]]) -> None:
        """Do it until the end, one after the other."""
        self.done[kind] += 0
        for number in itertools.count():
            if self._ending.is_set():
                return
            start = time.monotonic()
            try:
                await do(number)
            except (httpx.HTTPError, GitFailed, AssertionError) as error:
                is_refused = isinstance(error, TryLater) or any(
                    words in str(error) for words in REFUSALS_OF_GIT
                )
                (self.refused if is_refused else self.failures).append(f"{kind}: {error!r}")
                if is_refused and time.monotonic() - start < TIMEOUT:
                    self.refused_soon.append(f"{kind}: {error!r}")
            self.done[kind] += 1
            await asyncio.sleep(self._pause)

    async def _read(self, *, is_new: bool) -> None:
        repository = f"repos/{self.name}/app"
        paths = (
            "version",
            "user",
            repository,
            f"{repository}/issues",
            f"{repository}/branches",
            f"{repository}/hooks",
        )

        async def on_new(number: int) -> None:
            async with self._client() as client:
                await self._ask(client, "GET", paths[number % len(paths)])

        if is_new:
            await self._again("reads on new connections", on_new)
            return
        async with self._client() as client:
            await self._again(
                "reads on kept connections",
                lambda number: self._ask(client, "GET", paths[number % len(paths)]),
            )

    async def _read_pages(self) -> None:
        """As a browser does, on a kept connection."""
        paths = ("", f"{self.name}/app", f"{self.name}/app/issues", f"{self.name}/app/commits/branch/main")
        async with httpx.AsyncClient(base_url=f"{self.url}/", timeout=REQUEST_SECONDS) as client:

            async def read(number: int) -> None:
                path = paths[number % len(paths)]
                with self.measured(f"page /{path}"):
                    answer = await client.get(path)
                require_success(answer)
                assert path.split("/")[0] in answer.text, answer.text[:300]

            await self._again("pages", read)

    async def _open_issues(self) -> None:
        path = f"repos/{self.name}/app/issues"
        async with self._client() as client:

            async def open_issue(number: int) -> None:
                title = f"It creaks {number}"
                await self._ask(client, "POST", path, {"title": title})
                self._titles.add(title)

            await self._again("issues", open_issue)

    async def _push(self) -> None:
        work = self._folder / "work"

        async def push(number: int) -> None:
            commit = await commit_file(work, "count", b"%d" % number, f"Count {number}")
            with self.measured("git push"):
                await git("push", "-q", self._remote, "main", cwd=work)
            self._commits["main"].append(commit)

        await self._again("pushes", push)

    async def _clone(self) -> None:
        async def clone(number: int) -> None:
            with self.measured("git clone"):
                await git("clone", "-q", "--bare", self._remote, f"clone-{number}", cwd=self._folder)

        await self._again("clones", clone)

    async def _exchange_by_ssh(self) -> None:
        work, remote = self._folder / "ssh-work", f"{self._ssh}/{self.name}/app.git"

        async def exchange(number: int) -> None:
            commit = await commit_file(work, "count", b"%d" % number, f"Count {number}")
            with self.measured("git push over SSH"):
                await git("push", "-q", remote, "ssh", cwd=work)
            self._commits["ssh"].append(commit)
            with self.measured("git fetch over SSH"):
                await git("fetch", "-q", remote, "ssh", cwd=work)

        await self._again("exchanges over SSH", exchange)

    async def _clone_slowly(self) -> None:
        """Git itself, over a line that is slow."""
        async with slow_line(self.url) as url:
            remote = self._remote.replace(self.url.partition("://")[2], url)
            await self._again(
                "slow clones",
                lambda number: git("clone", "-q", "--bare", remote, f"slow-{number}", cwd=self._folder),
            )

    async def _download(self) -> None:
        """As slowly as over a bad line."""

        async def download(_number: int) -> None:
            digest, size, start = hashlib.sha256(), 0, time.monotonic()
            path = f"repos/{self.name}/app/raw/large.bin"
            async with self._client() as client, client.stream("GET", path, headers=self._headers) as answer:
                require_success(answer)
                async for chunk in answer.aiter_bytes(64 * 1024):
                    digest.update(chunk)
                    size += len(chunk)
                    await asyncio.sleep(max(start + size / LONG_RATE - time.monotonic(), 0))
            assert digest.digest() == hashlib.sha256(self._file).digest(), (
                f"{size} of {len(self._file)} bytes"
            )

        await self._again("downloads", download)


@asynccontextmanager
async def slow_line(url: str) -> AsyncIterator[str]:
    """Host and port that lead to ``url``; answers come at ``LONG_RATE``, and end as they end there."""
    target = urlsplit(url)

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rate: float) -> None:
        start, size = time.monotonic(), 0
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(64 * 1024):
                writer.write(data)
                await writer.drain()
                size += len(data)
                await asyncio.sleep(max(start + size / rate - time.monotonic(), 0))
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection(target.hostname, target.port or 80)
        await asyncio.gather(pass_on(reader, to_there, math.inf), pass_on(there, writer, LONG_RATE))

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask(client: httpx.AsyncClient, method: str, path: str, body: object = None, **options: Any) -> Any:
    """The JSON of an answer of success. Raises AssertionError with what came else."""
    answer = await client.request(method, path, json=body, **options)
    require_success(answer)
    return answer.json() if answer.content else None


def require_success(answer: httpx.Response) -> None:
    """Raises TryLater, AssertionError."""
    if answer.status_code == 503 and answer.headers.get("Retry-After", "").isdecimal():
        raise TryLater(f"{answer.request.method} {answer.request.url}: 503")
    text = answer.text[:300] if answer.is_closed else ""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {text}"
