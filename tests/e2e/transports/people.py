"""A user with a password and a key, who runs the real git over HTTP or over SSH."""

import asyncio
import secrets
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import asyncssh
import httpx
from tests.e2e.deployments import ADMINISTRATOR
from tests.e2e.history import ENVIRONMENT, GitFailed

PASSWORD = "what they know"
SECONDS = 1200.0
"""For one call of git: 2 GiB take minutes."""
Transport = Literal["http", "ssh"]


class Key:
    """A key for SSH, in a file as ssh reads it, and in the words of the API."""

    def __init__(self, folder: Path, name: str) -> None:
        key, self._file = asyncssh.generate_private_key("ssh-ed25519"), folder / name
        self._file.write_bytes(key.export_private_key())
        self._file.chmod(0o600)
        self.body = {"title": "laptop", "key": key.export_public_key().decode()}

    @property
    def command(self) -> str:
        """Return the command with which git calls ssh."""
        options = ("IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=accept-new",
                   "LogLevel=ERROR",
                   f"UserKnownHostsFile={self._file.parent}/hosts",
                   # The SSH server of a cluster may be about to start.
                   "ConnectionAttempts=60")  # fmt: skip
        words = ["ssh", "-F", "none", "-i", str(self._file)]
        return shlex.join([*words, *(word for option in options for word in ("-o", option))])


async def run_git(*arguments: str | Path, cwd: Path, key: Key, **variables: str) -> str:
    """All that git prints, with this key where it calls ssh. Raises GitFailed."""
    process = await asyncio.create_subprocess_exec(
        "git", *map(str, arguments), cwd=cwd, env=ENVIRONMENT | {"GIT_SSH_COMMAND": key.command} | variables,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        raise GitFailed(f"git {' '.join(map(str, arguments))}: not done in {SECONDS} s") from None
    text = output.decode(errors="replace")
    if process.returncode != 0:
        raise GitFailed(text)
    return text


class Person:
    """A user; ``transport`` is how their git reaches the server."""

    def __init__(self, http: httpx.AsyncClient, login: str, key: Key, transport: Transport) -> None:
        self.login, self.key, self.transport, self._http = login, key, transport, http

    def over(self, transport: Transport) -> "Person":
        return Person(self._http, self.login, self.key, transport)

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer of the API. Raises AssertionError if it refuses."""
        answer = await self._http.request(method, path, json=body, auth=(self.login, PASSWORD))
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def create(self, name: str, **fields: Any) -> Any:
        """A new repository, as the API shows it."""
        return await self.call("POST", "user/repos", {"name": name, "default_branch": "main"} | fields)

    async def fork(self, path: str) -> Any:
        """A fork of the repository with that path in the API, once its commits are there."""
        fork = await self.call("POST", f"{path}/forks", {})
        branch = f"repos/{fork['full_name']}/branches/{fork['default_branch']}"
        await self.wait_until(branch, lambda answer: answer.status_code == 200)
        return fork

    async def wait_until(
        self, path: str, is_so: Callable[[httpx.Response], bool], *, seconds: float = SECONDS
    ) -> None:
        """Read what the API has at a path until the answer is so. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not is_so(await self._http.get(path, auth=(self.login, PASSWORD))):
                await asyncio.sleep(0.1)

    def url(self, repository: Any, password: str = PASSWORD) -> str:
        """Return the URL for git of a repository that the API shows."""
        if self.transport == "ssh":
            return str(repository["ssh_url"])
        return str(repository["clone_url"]).replace("://", f"://{self.login}:{quote(password)}@", 1)

    async def git(self, *arguments: str | Path, cwd: Path, **variables: str) -> str:
        """All that git prints. Raises GitFailed."""
        return await run_git(*arguments, cwd=cwd, key=self.key, **variables)

    async def refusal(self, *arguments: str | Path, cwd: Path) -> str:
        """All that git prints, which must not succeed."""
        try:
            output = await self.git(*arguments, cwd=cwd)
        except GitFailed as error:
            return str(error)
        raise AssertionError(f"git {' '.join(map(str, arguments))} has succeeded: {output}")

    async def refs(self, repository: Any, *patterns: str) -> dict[str, str]:
        """The refs that the server lists, all of them or those that a pattern names, with their commits."""
        listed = await self.git("ls-remote", "--refs", self.url(repository), *patterns, cwd=Path.cwd())
        return {name: sha for sha, name in (line.split("\t", 1) for line in listed.splitlines())}


class People:
    """Makes them."""

    def __init__(self, http: httpx.AsyncClient, folder: Path, transport: Transport) -> None:
        self.http, self._folder, self._transport = http, folder, transport

    async def add(self, name: str) -> Person:
        """A new user, under a name of their own."""
        login = f"{name}-{secrets.token_hex(3)}"
        new = {"username": login, "email": f"{login}@example.org", "password": PASSWORD}
        answer = await self.http.post("admin/users", json=new, auth=ADMINISTRATOR)
        assert answer.status_code == 201, answer.text
        person = Person(self.http, login, Key(self._folder, login), self._transport)
        await person.call("POST", "user/keys", person.key.body)
        return person
