"""The service under test: the real app and database, with fakes of identity and repos as its peers."""

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qs

import httpx
import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.http.parts import PARTS
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import PRINCIPAL_HEADER, Principal, ServiceIdentity
from ingot_contracts.repos.comparisons import Compare, CompareHeads
from ingot_contracts.repos.merges import Merge
from ingot_contracts.testing.identity import FakeIdentity
from ingot_contracts.testing.repos import FakeRepos
from ingot_issues.access.components import AccessComponents
from ingot_issues.app import create_app, job_handlers
from ingot_issues.attachments.components import AttachmentComponents
from ingot_issues.merges.jobs.scheduled import ScheduledMerges
from ingot_issues.pull_heads.jobs import PullHeads
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.repositories.jobs import OpenCountsAnnouncer
from ingot_issues.settings import Settings
from ingot_testing.service import Callers, count_statements, deliver_event, emitted_payloads

from .builders import APP, FORK, HEAD, NAMES, comparison, repository

PULL = {"title": "Fix", "head": "fix", "base": "main"}


class World:
    """One running service. Ann (1) owns ann/app (7), Bob (2) may write to it, Cat (3) may read it.

    Dan (4) has the fork dan/app (8). Jobs and counts run when a test calls ``workers.step`` and
    ``open_counts.step``.
    """

    def __init__(self, url: str, **more: Any) -> None:
        key_text = SigningKey.generate().text()
        settings = Settings(database_url=url, private_key=key_text, background=False, **more)
        self.callers = Callers("issues")
        key = self.callers.identity_key.jwk()
        self.identity, self.repos = FakeIdentity(kid=key.kid, x=key.x), FakeRepos()
        for account_id, login in NAMES.items():
            self.identity.add_account(account_id, login, email=f"{login}@example.org")
        self.repos.add(repository(), {2: "write"})
        self.repos.add(repository(FORK, owner=4, parent=repository(), fork=True))
        self.repos.comparison = comparison()
        self.repos.branches |= {(APP, "fix"): HEAD}
        self.former_names: dict[str, str] = {}
        """Former name of a repository to its present one; repos answers under both."""
        own = ServiceIdentity("issues", SigningKey.read(settings.private_key))
        peers = Peers.in_process({"identity": self.identity, "repos": self._repos_with_former_names}, own)
        self.app = create_app(settings, peers=peers)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://forge")
        self.db: Database = self.app.state.database
        self.components: AccessComponents = self.app.state[PARTS][AccessComponents]
        presenter, jobs = Presenter(settings.public_url), self.components.jobs
        clients = (self.db, jobs, self.components.repos, presenter)
        self.scheduled_merges = ScheduledMerges(*clients)
        editor = self.app.state[PARTS][AttachmentComponents].editor
        handlers = job_handlers(*clients, self.components.identity, editor)
        self.workers = Workers("issues", jobs, handlers)
        self.pull_heads = PullHeads(self.db, jobs)
        self.announcer = OpenCountsAnnouncer(self.db)
        self._tokens: dict[str, str] = {}

    async def close(self) -> None:
        await self.http.aclose()
        await self.db.close()

    async def _repos_with_former_names(
        self, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        path = scope["path"]
        for former, present in self.former_names.items():
            path = path.replace(f"/by-name/{former}/", f"/by-name/{present}/")
        await self.repos({**scope, "path": path}, receive, send)

    def headers(self, user_id: int, **principal: Any) -> dict[str, str]:
        """Return the headers of a caller; ``user_id`` 0 is anonymous. The same caller has the same token."""
        if not user_id:
            return {}
        key = repr((user_id, principal))
        if key not in self._tokens:
            caller = Principal(id=user_id, name=NAMES[user_id], **{"via": "basic"} | principal)
            self._tokens[key] = self.callers.principal_token(caller)
        return {PRINCIPAL_HEADER: self._tokens[key]}

    def forget_grants(self) -> None:
        for repository_id in self.repos.repositories:
            self.components.repos.drop_grants(repository_id)

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        as_: int = 1,
        scopes: list[str] | None = None,
        restricted_to: list[int] | None = None,
        granted_only: bool = False,
        remember: bool = False,
        **more: Any,
    ) -> httpx.Response:
        """Send a request below the repository ann/app, unless ``path`` begins with two slashes.

        ``as_`` 0 is anonymous. With ``remember`` grants of earlier calls count.
        """
        if not remember:
            self.forget_grants()
        principal: dict[str, Any] = {} if scopes is None else {"scopes": scopes}
        if restricted_to is not None:
            principal["restricted_to"] = restricted_to
        if granted_only:
            principal["granted_only"] = True
        whole = f"/api/v1{path[1:]}" if path.startswith("//") else f"/api/v1/repos/ann/app{path}"
        return await self.http.request(
            method, whole, json=body, headers=self.headers(as_, **principal), **more
        )

    async def create(self, path: str, body: Any, *, as_: int = 1) -> dict[str, Any]:
        """Return the object that a POST creates."""
        answer = await self.call("POST", path, body, as_=as_)
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    async def open_issue(self, title: str = "It burns", *, as_: int = 1, **fields: Any) -> dict[str, Any]:
        return await self.create("/issues", {"title": title, **fields}, as_=as_)

    async def propose(self, *, as_: int = 2, **fields: Any) -> dict[str, Any]:
        """Open a pull request."""
        return await self.create("/pulls", PULL | fields, as_=as_)

    async def propose_many(self, *heads: str) -> None:
        """Open pull requests of Bob and Dan, and compare them."""
        for head in heads:
            await self.propose(head=head, as_=4 if head.startswith("dan:") else 2)
        await self.work()
        self.repos.calls.clear()

    async def comment_on_line(self, pull: int = 1, *, as_: int = 1, event: str = "COMMENT") -> int:
        """The id of a comment on the first line of a file, in a review of its own."""
        path, comment = f"/pulls/{pull}/reviews", {"path": "a", "body": "hm", "new_position": 1}
        written = await self.call("POST", path, {"event": event, "comments": [comment]}, as_=as_)
        assert written.status_code == 200, written.text
        listed = await self.call("GET", f"{path}/{written.json()['id']}/comments", as_=as_)
        return int(listed.json()[-1]["id"])

    async def create_label(self, name: str = "bug", color: str = "#ff0000") -> dict[str, Any]:
        return await self.create("/labels", {"name": name, "color": color})

    async def create_milestone(self, title: str = "one", **fields: Any) -> dict[str, Any]:
        return await self.create("/milestones", {"title": title, **fields})

    def add_library(self, *, private: bool = False) -> None:
        """The repository ann/lib (9), which Bob may read."""
        self.repos.add(repository(9, name="lib", private=private), {2: "read"})

    async def timeline(self, number: int = 1, *, as_: int = 1, query: str = "") -> list[dict[str, Any]]:
        answer = await self.call("GET", f"/issues/{number}/timeline{query}", as_=as_)
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, Any]] = answer.json()
        assert query or int(answer.headers["x-total-count"]) == len(rows)
        return rows

    async def kinds(self, number: int = 1, *, as_: int = 1) -> list[str]:
        """The types of the rows of a timeline."""
        return [row["type"] for row in await self.timeline(number, as_=as_)]

    async def issue_states(self, *numbers: int, repository: str = "ann/app") -> list[str]:
        path = f"//repos/{repository}/issues"
        return [(await self.call("GET", f"{path}/{number}")).json()["state"] for number in numbers]

    async def deliver(self, event: msgspec.Struct) -> None:
        """Apply an event of identity or repos."""
        await deliver_event(self.app.state.parts.consumers, event)

    async def work(self) -> None:
        """Do all jobs, also those that jobs add."""
        while await self.workers.step():
            pass

    async def open_counts(self) -> tuple[int, int]:
        """Return the counts of open issues and pull requests in the last event."""
        await self.announcer.step()
        [*_, event] = await self.payloads("issues.open.counted.v1")
        return event["open_issues"], event["open_pulls"]

    async def payloads(self, *types: str) -> list[dict[str, Any]]:
        """The events of these types that were emitted so far, in order."""
        return await emitted_payloads(self.db, *types)

    async def actions(self, kind: str = "issue") -> list[str]:
        """The actions of the events of issues, comments or pull requests, in order."""
        return [event["action"] for event in await self.payloads(f"issues.{kind}.changed.v1")]

    async def pull_actions(self) -> list[tuple[str, bool]]:
        """The actions of the events of pull requests, and whether the pull request is merged then."""
        payloads = await self.payloads("issues.pull.changed.v1")
        return [(event["action"], event["pull_request"]["merged"]) for event in payloads]

    def merges(self) -> list[Merge]:
        """The merges that repos was asked for."""
        return self.repos.bodies("merge", Merge)

    def comparisons(self) -> list[Compare]:
        """The comparisons that repos was asked for, each head by itself."""
        comparisons: list[Compare] = []
        for call in self.repos.calls:
            if call.operation == "compare":
                comparisons.append(msgspec.json.decode(call.body, type=Compare))
            if call.operation == "comparisons":
                heads = msgspec.json.decode(call.body, type=CompareHeads)
                comparisons += [
                    Compare(
                        base_branch=heads.base_branch,
                        head_repository_id=head.repository_id,
                        head_branch=head.branch,
                        number=head.number,
                        counted_base=head.counted_base,
                        counted_head=head.counted_head,
                    )
                    for head in heads.heads
                ]
        return comparisons

    def histories(self) -> list[tuple[str, str]]:
        """Base and head of the lists of commits that repos was asked for."""
        queries = [parse_qs(call.query) for call in self.repos.calls if call.operation == "commits"]
        return [(query.get("base", [""])[0], query["head"][0]) for query in queries]

    def deleted_branches(self) -> list[tuple[int, str]]:
        """Repository and name of the branches that were deleted in repos, once for each request."""
        paths = [call.path.split("/", 5) for call in self.repos.calls if call.method == "DELETE"]
        branches = [(int(repository_id), branch) for *_, repository_id, _, branch in paths]
        return [branch for branch in branches if branch not in self.repos.branches]

    async def sql(self, path: str) -> list[str]:
        """The SQL statements of one GET."""
        with count_statements(self.db) as statements:
            assert (await self.call("GET", path)).status_code == 200
        return [statement for statement, _ in statements]
