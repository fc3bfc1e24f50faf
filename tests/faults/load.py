"""A mixed load on one Ingot, and the ledger of all acknowledged writes.

Each worker repeats one kind of action and waits for no other. A write without a response may have happened or
not: the ledger has it as an attempt. Any rejection except a 5xx or a broken connection fails the test.
"""

import asyncio
import base64
import itertools
import ssl
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from ingot_git.hooks.hook_questions import UNKNOWN

from ..e2e.deployments import ADMINISTRATOR
from ..e2e.history import GitFailed, commit_file, git

OWNER = ADMINISTRATOR[0]
REPOSITORIES = ("one", "two")
FORKS = "forks"
"""The organization that has them."""
EVENTS = ["push", "delete", "issues_only", "issue_comment", "pull_request_only", "fork"]
REQUEST_SECONDS = 40
"""Longer than any request may take, so one that does is noticed."""
PAUSE = 0.2
TLS = ssl.create_default_context()
"""An unused context. Without one, each client reads all certificates of the machine, which costs more than a
request."""


@dataclass
class Ledger:
    """By repository: what was acknowledged, and what was only attempted."""

    issues: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    comments: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    attempted: set[str] = field(default_factory=set)
    """Titles of issues and texts of comments without an answer."""
    pushes: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    """The tips of a branch, in the order in which their pushes began. ``tips`` has the last acknowledged one.
    """
    tips: dict[tuple[str, str], str] = field(default_factory=dict)
    merged: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    """Pull request to the commit that it brought."""
    forks: dict[str, str] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    deletions: dict[tuple[str, str, int | str], bool] = field(default_factory=dict)
    """Issues, comments, branches and releases by repository, kind and number or name. True if acknowledged.
    """
    stars: dict[str, bool | None] = field(default_factory=dict)
    """None while the state is unknown, because the last change got no response."""
    closed: dict[tuple[str, int], str] = field(default_factory=dict)
    """The milestone of each issue that was closed."""
    releases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    acknowledged: int = 0
    unanswered: int = 0
    longest: tuple[float, str] = (0.0, "")
    """The request that took longest, with an answer or without."""
    unexpected: list[str] = field(default_factory=list)


class Unanswered(Exception):
    """No answer, or one that says that nothing is certain."""


class Load:
    """The workers of the load."""

    def __init__(self, url: str, folder: Path, hook_url: str) -> None:
        self.url, self.ledger = url, Ledger()
        self._folder, self._hook_url = folder, hook_url
        self._ending = asyncio.Event()
        self._token = ""
        self._absent: set[str] = set()
        """Forks that were deleted, or never there."""

    async def prepare(self) -> None:
        token = await self._request("POST", f"users/{OWNER}/tokens", {"name": "load"}, auth=ADMINISTRATOR)
        self._token = token.json()["sha1"]
        await self._request("POST", "orgs", {"username": FORKS})
        for name in REPOSITORIES:
            new = {"name": name, "auto_init": True, "default_branch": "main"}
            await self._request("POST", "user/repos", new)
            await self._hook(f"repos/{OWNER}/{name}", name, EVENTS)
        await self._hook(f"orgs/{FORKS}", FORKS, ["repository"])

    async def _hook(self, target: str, name: str, events: list[str]) -> None:
        config = {"url": f"{self._hook_url}/{name}", "content_type": "json"}
        hook = {"type": "gitea", "config": config, "events": events, "active": True}
        await self._request("POST", f"{target}/hooks", hook)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work during the block, and finish running actions at its end; stop at once if the block fails."""
        async with asyncio.TaskGroup() as workers:
            for name in REPOSITORIES:
                for work in (self._push, self._open_issues, self._merge, self._plan, self._release):
                    workers.create_task(self._again(work(name)))
            workers.create_task(self._again(self._fork_and_delete()))
            yield
            self._ending.set()

    async def _again(self, steps: Any) -> None:
        """Step after step; one that is not answered is over."""
        async for step in steps:
            if self._ending.is_set():
                return
            try:
                await step()
                self.ledger.acknowledged += 1
            except Unanswered:
                self.ledger.unanswered += 1
                await asyncio.sleep(PAUSE)

    async def _push(self, name: str) -> Any:
        """Commits on a branch of its own; every third one is forced."""
        work, branch = self._folder / f"work-{name}", f"refs/heads/pushed-{name}"
        await git("init", "-q", "-b", "work", work)
        for number in itertools.count():
            if number % 3 == 2:
                await git("commit", "-q", "--amend", "-m", f"Write it again, {number}", cwd=work)
                commit = (await git("rev-parse", "HEAD", cwd=work)).strip()
            else:
                commit = await commit_file(work, "number", str(number).encode(), f"Count {number}")
            yield partial(self._push_commit, name, work, branch, commit)

    async def _push_commit(self, name: str, work: Path, branch: str, commit: str) -> None:
        url = f"{self.url.replace('://', f'://{OWNER}:{self._token}@')}{OWNER}/{name}.git"
        self.ledger.pushes[name, branch].append(commit)
        try:
            await git("push", "-q", "--force", url, f"{commit}:{branch}", cwd=work)
        except GitFailed as failure:
            # A long push is authorized again, which fails while identity or PostgreSQL is down. Then the push
            # is rejected.
            is_refused = "pre-receive hook declined" in str(failure) or "denied" in str(failure)
            if is_refused and UNKNOWN not in str(failure):
                self.ledger.unexpected.append(str(failure))
            raise Unanswered from failure
        self.ledger.tips[name, branch] = commit

    async def _open_issues(self, name: str) -> Any:
        for number in itertools.count():
            yield partial(self._open_issue, name, f"{name} {number}")
            for issue in list(self.ledger.issues[name])[-1:]:
                if (name, "issues", issue) in self.ledger.deletions:
                    continue  # no newer one was acknowledged
                yield partial(self._comment, name, issue, f"to {name} {number}")
                # A pull request may be merged at the same moment.
                if number % 5 == 4 and self.ledger.issues[name][issue].startswith(f"{name} "):
                    yield partial(self._delete_one, name, "issues", issue)

    async def _open_issue(self, name: str, title: str) -> None:
        self.ledger.attempted.add(title)
        answer = await self._request("POST", f"repos/{OWNER}/{name}/issues", {"title": title})
        self.ledger.issues[name][answer.json()["number"]] = title

    async def _comment(self, name: str, issue: int, text: str) -> None:
        self.ledger.attempted.add(text)
        path = f"repos/{OWNER}/{name}/issues"
        answer = await self._request("POST", f"{path}/{issue}/comments", {"body": text})
        self.ledger.comments[name, issue].append(text)
        if text.endswith("3"):
            self.ledger.deletions[name, "comments", text] = False
            await self._request("DELETE", f"{path}/comments/{answer.json()['id']}")
            self.ledger.deletions[name, "comments", text] = True

    async def _delete_one(self, name: str, kind: str, one: int | str) -> None:
        """It may be gone: what got no answer is deleted again."""
        deletions = self.ledger.deletions
        deletions.setdefault((name, kind, one), False)
        await self._request("DELETE", f"repos/{OWNER}/{name}/{kind}/{one}", accepted=404)
        deletions[name, kind, one] = True

    async def _plan(self, name: str) -> Any:
        """Issues in milestones, which are closed; and stars."""
        for number in itertools.count():
            title = f"plan {number}"
            yield partial(self._close_in_milestone, name, title)
            yield partial(self._star, name, is_starred=number % 2 == 0)

    async def _close_in_milestone(self, name: str, title: str) -> None:
        path = f"repos/{OWNER}/{name}"
        milestone = (await self._request("POST", f"{path}/milestones", {"title": title})).json()["id"]
        self.ledger.attempted |= {title, f"{title} open"}
        for each in (title, f"{title} open"):
            new = {"title": each, "milestone": milestone}
            issue = (await self._request("POST", f"{path}/issues", new)).json()["number"]
            self.ledger.issues[name][issue] = each
            if each == title:
                await self._request("PATCH", f"{path}/issues/{issue}", {"state": "closed"})
                self.ledger.closed[name, issue] = title

    async def _star(self, name: str, *, is_starred: bool) -> None:
        self.ledger.stars[name] = None
        await self._request("PUT" if is_starred else "DELETE", f"user/starred/{OWNER}/{name}")
        self.ledger.stars[name] = is_starred

    async def _release(self, name: str) -> Any:
        """Releases with their tags; every second release is deleted again."""
        for number in itertools.count():
            tag = f"v{number}"
            yield partial(self._release_one, name, tag)
            if number % 2 and tag in self.ledger.releases[name]:
                yield partial(self._delete_one, name, "releases/tags", tag)

    async def _release_one(self, name: str, tag: str) -> None:
        new = {"tag_name": tag, "target_commitish": "main", "name": tag}
        await self._request("POST", f"repos/{OWNER}/{name}/releases", new)
        self.ledger.releases[name].add(tag)

    async def _merge(self, name: str) -> Any:
        for number in itertools.count():
            branch = f"topic-{number}"
            yield partial(self._merge_one, name, branch)
            if number % 3 == 0 and branch in map(self.ledger.issues[name].get, self.ledger.merged[name]):
                yield partial(self._delete_one, name, "branches", branch)

    async def _merge_one(self, name: str, branch: str) -> None:
        repository = f"repos/{OWNER}/{name}"
        content = base64.b64encode(branch.encode()).decode()
        new = {"content": content, "message": branch, "branch": "main", "new_branch": branch}
        answer = await self._request("POST", f"{repository}/contents/{branch}.txt", new)
        self.ledger.attempted.add(branch)
        body = {"title": branch, "head": branch, "base": "main"}
        pull = (await self._request("POST", f"{repository}/pulls", body)).json()["number"]
        self.ledger.issues[name][pull] = branch
        merge = f"{repository}/pulls/{pull}/merge"
        await self._request("POST", merge, {"Do": "merge"}, until_ready=True)
        self.ledger.merged[name][pull] = answer.json()["commit"]["sha"]

    async def _fork_and_delete(self) -> Any:
        for number in itertools.count():
            name = f"fork-{number}"
            yield partial(self._fork, name)
            while name not in self._absent:  # an organization has one fork of a repository at a time
                yield partial(self._delete, name)

    async def _fork(self, name: str) -> None:
        new = {"name": name, "organization": FORKS}
        await self._request("POST", f"repos/{OWNER}/{REPOSITORIES[0]}/forks", new)
        self.ledger.forks[name] = REPOSITORIES[0]

    async def _delete(self, name: str) -> None:
        was_there = self.ledger.forks.pop(name, None)  # without an answer it may be there or not
        answer = await self._request("DELETE", f"repos/{FORKS}/{name}", accepted=404)
        self._absent.add(name)
        if was_there and answer.status_code != 404:
            self.ledger.deleted.append(name)

    async def _request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        auth: Any = None,
        until_ready: bool = False,
        accepted: int | None = None,
    ) -> httpx.Response:
        """Return a successful response, or one of ``accepted``. Raises Unanswered. ``until_ready`` retries if
        not ready."""
        headers = {} if auth else {"authorization": f"token {self._token}"}
        url = f"{self.url}api/v1/"
        async with httpx.AsyncClient(base_url=url, timeout=REQUEST_SECONDS, verify=TLS) as client:
            while True:
                start = time.monotonic()
                try:
                    answer = await client.request(method, path, json=body, headers=headers, auth=auth)
                except httpx.TransportError as error:
                    raise Unanswered from error
                finally:
                    wait = (time.monotonic() - start, f"{method} {path}")
                    self.ledger.longest = max(self.ledger.longest, wait)
                if answer.status_code == 500:
                    self.ledger.unexpected.append(f"{method} {path}: 500 {answer.text}")
                if answer.status_code >= 500:
                    raise Unanswered(answer.text)
                if answer.status_code == 405 and until_ready and not self._ending.is_set():
                    await asyncio.sleep(PAUSE)
                    continue
                if answer.is_success or answer.status_code == accepted:
                    return answer
                # A fork may be gone; what the owner has is there.
                is_lost = answer.status_code == 404 and path.startswith(f"repos/{OWNER}/")
                if is_lost or answer.status_code not in (404, 405, 409, 429):
                    self.ledger.unexpected.append(f"{method} {path}: {answer.status_code} {answer.text}")
                raise Unanswered(answer.text)
