"""The main job of a forge, in named steps through its public interfaces. Tests may act between steps."""

import asyncio
import base64
import hashlib
import hmac
import io
import json
import secrets
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from standardwebhooks.webhooks import Webhook

from ingot_testing.receiver import ReceivedRequest, Receiver

from .deployments import ADMINISTRATOR
from .history import commit_file, git, make_history, refs, remote_refs

Hook = Callable[[], Awaitable[None]]
Credential = tuple[str, str] | str

DEADLINE = 60.0
STEPS = (
    "create_people",
    "create_an_organization",
    "make_tokens",
    "create_repositories",
    "add_a_webhook",
    "push_the_history",
    "clone_it_back",
    "read_files",
    "open_an_issue",
    "close_the_issue",
    "fork",
    "wait_for_the_fork",
    "push_to_the_fork",
    "open_a_pull_request",
    "merge_it",
    "see_the_merge",
    "see_what_followed",
    "receive_deliveries",
    "push_to_the_organization",
)


def check_signatures(secret: str, request: ReceivedRequest) -> None:
    """Check a delivery of any age. `Webhook.verify` accepts five minutes, and the whole job takes longer."""
    digest = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers["X-Hub-Signature-256"] == f"sha256={digest}"
    headers = {name.lower(): value for name, value in request.headers.items()}
    moment = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signature = Webhook(secret).sign(headers["webhook-id"], moment, request.body.decode())
    assert signature in headers["webhook-signature"].split()


class MainJob:
    """Ann and Bob, under names of their own, work on one project."""

    def __init__(self, url: str, folder: Path, receiver: Receiver) -> None:
        self.url, self._folder, self._receiver = url, folder, receiver
        marker = secrets.token_hex(3)
        self.ann, self.bob, self.acme = f"ann-{marker}", f"bob-{marker}", f"acme-{marker}"
        self._tokens: dict[str, str] = {}
        self._secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        self.source = folder

    async def run(
        self, *, before: Mapping[str, Hook] | None = None, after: Mapping[str, Hook] | None = None
    ) -> None:
        """Take every step, with what is to happen before and after some of them."""
        before, after = before or {}, after or {}
        assert {*before, *after} <= {*STEPS}
        self.source = await make_history(self._folder)
        for step in STEPS:
            if step in before:
                await before[step]()
            print("step", step)  # shown when it fails
            await getattr(self, step)()
            if step in after:
                await after[step]()

    def git_url(self, path: str, user: str, *, base: str = "") -> str:
        """With the user's token as password."""
        return (base or self.url).replace("://", f"://{user}:{self._tokens[user]}@", 1) + path

    @property
    def project(self) -> str:
        return f"{self.ann}/project"

    @property
    def forked(self) -> str:
        return f"{self.bob}/project"

    async def push(self, url: str) -> None:
        """All branches and tags."""
        await git("push", "-q", url, "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*", cwd=self.source)

    async def create_people(self) -> None:
        for name in (self.ann, self.bob):
            new = {"username": name, "email": f"{name}@example.org", "password": f"what {name} knows"}
            created = await self._ask(201, "POST", "admin/users", ADMINISTRATOR, new)
            assert created["login"] == name

    async def create_an_organization(self) -> None:
        new = {"username": self.acme, "full_name": "Acme"}
        await self._ask(201, "POST", f"admin/users/{self.ann}/orgs", ADMINISTRATOR, new)

    async def make_tokens(self) -> None:
        for name in (self.ann, self.bob):
            created = await self._ask(
                201, "POST", f"users/{name}/tokens", (name, f"what {name} knows"), {"name": "work"}
            )
            self._tokens[name] = created["sha1"]

    async def create_repositories(self) -> None:
        project = await self._ask(201, "POST", "user/repos", self.ann, {"name": "project"})
        handbook = await self._ask(
            201, "POST", f"org/{self.acme}/repos", self.ann, {"name": "handbook", "auto_init": True}
        )
        assert project["full_name"] == self.project
        assert project["empty"]
        assert handbook["owner"]["login"] == self.acme

    async def add_a_webhook(self) -> None:
        config = {"url": f"{self._receiver.url}/{self.ann}", "content_type": "json", "secret": self._secret}
        new = {"type": "gitea", "config": config, "events": ["push", "pull_request"], "active": True}
        created = await self._ask(201, "POST", f"repos/{self.project}/hooks", self.ann, new)
        assert created["events"] == ["push", "pull_request"]

    async def push_the_history(self) -> None:
        await self.push(self.git_url(f"{self.project}.git", self.ann))

    async def clone_it_back(self) -> None:
        copy = self._folder / "copy.git"
        url = f"{self.url}{self.project}.git"
        await git("clone", "-q", "--mirror", url, copy)
        await git("fsck", "--strict", cwd=copy)
        expected = await refs(self.source)
        assert await refs(copy) == expected
        assert await remote_refs(url) == expected
        assert len(expected) == 8

    async def read_files(self) -> None:
        path = "docs/über uns.md"
        content = (self.source / path).read_bytes()
        raw = await self._answer(200, "GET", f"repos/{self.project}/raw/main/{quote(path)}")
        archive = await self._answer(200, "GET", f"repos/{self.project}/archive/v0.2.zip")
        html = await self._answer(
            200, "POST", "markdown", None, {"Text": content.decode(), "Mode": "gfm", "Context": self.project}
        )
        assert raw.content == content
        assert zipfile.ZipFile(io.BytesIO(archive.content)).read(f"project/{path}") == content
        assert "<em>Hallo</em>" in html.text

    async def open_an_issue(self) -> None:
        repository = f"repos/{self.project}"
        label = await self._ask(
            201, "POST", f"{repository}/labels", self.ann, {"name": "bug", "color": "#ee0701"}
        )
        issue = await self._ask(
            201, "POST", f"{repository}/issues", self.bob, {"title": "It creaks", "body": "Listen!"}
        )
        labels = {"labels": [label["id"]]}
        labelled = await self._ask(
            200, "POST", f"{repository}/issues/{issue['number']}/labels", self.ann, labels
        )
        await self._ask(
            201, "POST", f"{repository}/issues/{issue['number']}/comments", self.ann, {"body": "I hear"}
        )
        assert [label["name"] for label in labelled] == ["bug"]
        self._issue = f"{repository}/issues/{issue['number']}"
        rust = await self._ask(201, "POST", f"{repository}/issues", self.bob, {"title": "It rusts"})
        self._rust = rust["number"]

    async def close_the_issue(self) -> None:
        await self._ask(201, "PATCH", self._issue, self.ann, {"state": "closed"})
        issue = await self._ask(200, "GET", self._issue)
        comments = await self._ask(200, "GET", f"{self._issue}/comments")
        assert (issue["state"], issue["comments"]) == ("closed", 1)
        assert [label["name"] for label in issue["labels"]] == ["bug"]
        assert [comment["body"] for comment in comments] == ["I hear"]

    async def fork(self) -> None:
        await self._ask(202, "POST", f"repos/{self.project}/forks", self.bob, {})

    async def wait_for_the_fork(self) -> None:
        expected = {name.removeprefix("refs/heads/") for name in await refs(self.source) if "/heads/" in name}

        async def is_there() -> bool:
            answer = await self._send("GET", f"repos/{self.forked}/branches?limit=50", self.bob)
            return answer.status_code == 200 and {branch["name"] for branch in answer.json()} == expected

        await self._until("the fork has all branches", is_there)
        fork = await self._ask(200, "GET", f"repos/{self.forked}", self.bob)
        assert fork["fork"]
        assert fork["parent"]["full_name"] == self.project

    async def push_to_the_fork(self) -> None:
        work = self._folder / "bob"
        await git("clone", "-q", "-b", "main", self.git_url(f"{self.forked}.git", self.bob), work)
        await git("checkout", "-q", "-b", "improve", cwd=work)
        message = f"Oil it\n\nSee {self.project}#{self._issue.rsplit('/', 1)[1]}."
        self._improvement = await commit_file(work, "oil.txt", b"a drop\n", message)
        await git("push", "-q", "origin", "improve", cwd=work)

    async def open_a_pull_request(self) -> None:
        new = {
            "title": "Oil it",
            "head": f"{self.bob}:improve",
            "base": "main",
            "body": f"Fixes #{self._rust}.",
        }
        created = await self._ask(201, "POST", f"repos/{self.project}/pulls", self.bob, new)
        assert created["head"]["sha"] == self._improvement
        self._pull = f"repos/{self.project}/pulls/{created['number']}"
        (commit,) = await self._ask(200, "GET", f"{self._pull}/commits")
        (file,) = await self._ask(200, "GET", f"{self._pull}/files")
        assert (commit["sha"], file["filename"], file["additions"]) == (self._improvement, "oil.txt", 1)
        async with httpx.AsyncClient(timeout=DEADLINE) as people:
            diff = await people.get(created["diff_url"])
        assert (diff.status_code, "+a drop" in diff.text) == (200, True)

    async def merge_it(self) -> None:
        async def is_mergeable() -> bool:
            return bool((await self._ask(200, "GET", self._pull))["mergeable"])

        await self._until("the pull request is mergeable", is_mergeable)
        await self._answer(200, "POST", f"{self._pull}/merge", self.ann, {})

    async def see_the_merge(self) -> None:
        pull = await self._ask(200, "GET", self._pull)
        await self._answer(204, "GET", f"{self._pull}/merge")
        clone = self._folder / "after"
        await git("clone", "-q", "-b", "main", f"{self.url}{self.project}.git", clone)
        tip, *parents = (await git("rev-list", "--parents", "-1", "HEAD", cwd=clone)).split()
        assert pull["merged"]
        assert pull["merge_commit_sha"] == tip
        assert self._improvement in parents
        assert (clone / "oil.txt").read_bytes() == b"a drop\n"
        self._merged = tip

    async def see_what_followed(self) -> None:
        """Check both effects: the pull request closes its issue, and the commit of the fork is mentioned in
        the other."""

        async def has_followed() -> bool:
            rust = await self._ask(200, "GET", f"repos/{self.project}/issues/{self._rust}")
            payload = await self._ask(200, "GET", f"{self._issue}/timeline")
            named = [row["ref_commit_sha"] for row in payload if row["type"] == "commit_ref"]
            return rust["state"] == "closed" and self._improvement in named

        await self._until("the issue is closed and the commit is noted", has_followed)

    async def receive_deliveries(self) -> None:
        """Every ref that was pushed, and the pull request from its beginning to its end."""
        names = {f"push {ref}" for ref in await refs(self.source)}
        names |= {"pull_request opened", "pull_request closed merged", f"push to {self._merged}"}

        async def have_come() -> bool:
            return names <= {name for request in self._received() for name in self._names(request)}

        await self._until(f"deliveries of {sorted(names)}", have_come)
        for request in self._received():
            check_signatures(self._secret, request)

    async def push_to_the_organization(self) -> None:
        work = self._folder / "handbook"
        url = self.git_url(f"{self.acme}/handbook.git", self.ann)
        await git("clone", "-q", url, work)
        commit = await commit_file(work, "page.md", b"# Welcome\n", "Begin the handbook")
        await git("push", "-q", "origin", "HEAD", cwd=work)
        assert commit in (await remote_refs(url)).values()

    def _received(self) -> list[ReceivedRequest]:
        return [request for request in self._receiver.requests if request.path == f"/{self.ann}"]

    @staticmethod
    def _names(request: ReceivedRequest) -> list[str]:
        payload = json.loads(request.body)
        if request.headers["X-GitHub-Event"] == "push":
            return [f"push {payload['ref']}", f"push to {payload['after']}"]
        merged = " merged" if payload["pull_request"]["merged"] else ""
        return [f"{request.headers['X-GitHub-Event']} {payload['action']}{merged}"]

    async def _ask(
        self, status: int, method: str, path: str, who: Credential | None = None, body: Any = None
    ) -> Any:
        """The JSON of an answer that has the status."""
        return (await self._answer(status, method, path, who, body)).json()

    async def _answer(
        self, status: int, method: str, path: str, who: Credential | None = None, body: Any = None
    ) -> httpx.Response:
        answer = await self._send(method, path, who, body)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    async def _send(
        self, method: str, path: str, who: Credential | None = None, body: Any = None
    ) -> httpx.Response:
        """Send one request on a new connection. ``who``: a name with a token, or name and password."""
        headers = {"Authorization": f"token {self._tokens[who]}"} if isinstance(who, str) else {}
        basic = who if isinstance(who, tuple) else None
        async with httpx.AsyncClient(base_url=f"{self.url}api/v1/", timeout=DEADLINE) as client:
            return await client.request(method, path, headers=headers, auth=basic, json=body)

    async def _until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        try:
            async with asyncio.timeout(DEADLINE):
                while not await holds():
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"not within {DEADLINE} s: {what}") from None
