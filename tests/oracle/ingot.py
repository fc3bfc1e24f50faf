"""The Ingot under test: its API over kept connections, and git that talks to it."""

import base64
import fcntl
import os
import secrets
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from ..e2e.deployments import ADMINISTRATOR, Deployment
from .comparisons import Status
from .histories import ENVIRONMENT, SECONDS, run_git

PASSWORD = "what they know"
UPKEEP_SECONDS = FORK_SECONDS = 120.0
PLAN = "repos_plan_upkeep"


@dataclass
class Ingot:
    """One user of a deployment."""

    deployment: Deployment
    login: str = field(default_factory=lambda: f"ann-{secrets.token_hex(3)}")

    def __post_init__(self) -> None:
        limits = httpx.Limits(max_keepalive_connections=4)
        self.http = httpx.Client(
            base_url=f"{self.deployment.url}api/v1/", timeout=120, auth=(self.login, PASSWORD), limits=limits
        )
        new = {"username": self.login, "email": f"{self.login}@example.org", "password": PASSWORD}
        answer = self.http.post("admin/users", json=new, auth=ADMINISTRATOR)
        assert answer.status_code == 201, answer.text
        self.organization = f"{self.login}-forks"
        answer = self.http.post("orgs", json={"username": self.organization})
        assert answer.status_code == 201, answer.text

    def close(self) -> None:
        self.http.close()

    def create(self, name: str) -> "Repository":
        new = {"name": name, "default_branch": "main"}
        answer = self.http.post("user/repos", json=new)
        assert answer.status_code == 201, answer.text
        host = self.deployment.url.partition("://")[2]
        url = f"http://{self.login}:{quote(PASSWORD)}@{host}{self.login}/{name}.git"
        return Repository(self, name, int(answer.json()["id"]), url, self.login)

    def plan_upkeep(self) -> None:
        """Let the services plan what is due now."""
        answer = self.http.post(f"admin/cron/{PLAN}", auth=ADMINISTRATOR)
        assert answer.status_code == 204, answer.text


@dataclass(frozen=True)
class Repository:
    """A repository that the user may do everything with."""

    ingot: Ingot
    name: str
    id: int
    url: str
    owner: str

    @property
    def api(self) -> str:
        return f"repos/{self.owner}/{self.name}"

    def get(self, *path: str, **query: str | int) -> httpx.Response:
        """Return the response for a path below the repository. Its parts are escaped, except for slashes."""
        url = "/".join((self.api, *(quote(part) for part in path)))
        parameters = {key.rstrip("_"): value for key, value in query.items()}
        return self.ingot.http.get(url, params=parameters or None)

    def json(self, *path: str, **query: str | int) -> Any:
        """The JSON of an answer, or the Status of a refusal."""
        answer = self.get(*path, **query)
        return answer.json() if answer.status_code == 200 else Status(answer.status_code)

    def bytes(self, *path: str, **query: str | int) -> Any:
        """The body of an answer, or the Status of a refusal."""
        answer = self.get(*path, **query)
        return answer.content if answer.status_code == 200 else Status(answer.status_code)

    def post(self, path: str, body: dict[str, Any], method: str = "POST") -> httpx.Response:
        return self.ingot.http.request(method, f"{self.api}/{path}", json=body)

    def push(self, source: Path, *refspecs: str) -> None:
        """Raises CalledProcessError."""
        run_git("push", "-q", self.url, *refspecs, cwd=source)

    def refs(self) -> dict[str, str]:
        """Return the refs of git-ls-remote(1), without the refs of pull requests."""
        lines = run_git("ls-remote", "--refs", self.url, cwd=Path.cwd()).decode().splitlines()
        listed = {name: oid for oid, name in (line.split("\t", 1) for line in lines)}
        return {name: oid for name, oid in listed.items() if not name.startswith("refs/pull/")}

    def refs_of_fork(self) -> Any:
        """Return the branches and tags of a new fork, and delete the fork."""
        name = f"{self.name}-fork-{secrets.token_hex(3)}"
        answer = self.post("forks", {"name": name, "organization": self.ingot.organization})
        if answer.status_code != 202:
            return Status(answer.status_code)
        own = self.ingot.login
        fork = Repository(
            self.ingot,
            name,
            int(answer.json()["id"]),
            self.url.replace(f"/{own}/{self.name}.git", f"/{self.ingot.organization}/{name}.git"),
            self.ingot.organization,
        )
        deadline = time.monotonic() + FORK_SECONDS
        while not (refs := fork.refs()):
            if time.monotonic() > deadline:
                return f"no refs after {FORK_SECONDS} s"
            time.sleep(0.1)
        fork.delete()
        return refs

    def delete(self) -> None:
        answer = self.ingot.http.delete(self.api)
        assert answer.status_code == 204, answer.text

    def folder(self) -> Path:
        """The folder of its files on a server.

        No pattern goes into the folders of repositories, because git removes some of its own.
        """
        root = self.ingot.deployment.folder
        patterns = (f"{start}/repositories/*/*/{self.id}.git" for start in ("*", "*/*"))
        return next(path for pattern in patterns for path in root.glob(pattern))

    def wait_packed(self) -> None:
        """Wait until upkeep has packed it. Raises TimeoutError."""
        deadline = time.monotonic() + UPKEEP_SECONDS
        while not self.is_packed():
            if time.monotonic() > deadline:
                raise TimeoutError(f"repository {self.id} is not packed after {UPKEEP_SECONDS} s")
            self.ingot.plan_upkeep()
            time.sleep(0.2)

    def is_packed(self) -> bool:
        """True if a bitmap exists and no packing runs: packing holds a lock."""
        objects = self.folder() / "objects"
        if not any(objects.glob("pack/*.bitmap")):
            return False
        folder = os.open(objects, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(folder)
        return True


def git_of(*arguments: str | Path, cwd: Path) -> tuple[int, str]:
    """Exit code of git, and what it said."""
    done = subprocess.run(
        ["git", *map(str, arguments)],
        check=False,
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=SECONDS,
    )
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def from_base64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
