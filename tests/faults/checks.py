"""What must be true after faults: the ledger of the load against the API, the databases, the disk and what hooks received."""

import asyncio
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import nats
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from ingot_chassis.clock import now
from ingot_chassis.testing.receiver import ReceivedRequest

from ..e2e.deployments import ADMINISTRATOR  # noqa: TID252 - the folder above is no package with a name
from ..e2e.history import git, refs  # noqa: TID252
from .load import FORKS, OWNER, REPOSITORIES, Ledger

SETTLED_SECONDS = 15
"""Nothing waits for longer once everything is up."""
PATIENCE = 300
"""So long is waited all the same: what is compared afterwards says more than that something was late."""
POLL = 0.2
MANY = 400
"""Acknowledged writes among which there are forks and deletions; a short run may have none."""
NOTHING = "0" * 40
WAITING = {
    "identity": ("outbox WHERE sent_at IS NULL", "job WHERE state IN ('waiting', 'running')"),
    "repos": (
        "outbox WHERE sent_at IS NULL",
        "push",
        "job WHERE state IN ('waiting', 'running')",
    ),
    "issues": ("outbox WHERE sent_at IS NULL", "job WHERE state IN ('waiting', 'running')"),
    "hooks": (
        "outbox WHERE sent_at IS NULL",
        "job WHERE state IN ('waiting', 'running')",
        "delivery WHERE state IN ('pending', 'running')",
    ),
}
"""Rows that go away when everything is settled."""
OPEN = "state = 'open' AND repository_id = counter.repository_id"
COUNTED = {
    "repos": (
        (
            "repository",
            "id",
            "branch_count",
            "ref WHERE repository_id = repository.id AND name LIKE 'refs/heads/%'",
        ),
        (
            "repository",
            "id",
            "forks_count",
            "repository AS f WHERE f.fork_of = repository.id AND f.state = 'ready'",
        ),
        ("repository", "id", "watchers_count", "watch WHERE repository_id = repository.id"),
    ),
    "issues": (
        ("counter", "repository_id", "open_issues", f"issue WHERE NOT is_pull AND {OPEN}"),
        ("counter", "repository_id", "open_pulls", f"issue WHERE is_pull AND {OPEN}"),
        ("issue", "id", "comments", "comment WHERE issue_id = issue.id AND kind = 0"),
    ),
}
"""By service: a table, its key, a counter in it, and the rows that this counts."""
SWEPT = (
    "objects/tmp_objdir-*",
    "objects/pack/tmp_*",
    "objects/pack/.tmp*",
    "objects/[0-9a-f][0-9a-f]/tmp_obj_*",
)
"""What a killed git leaves; it is swept when no push can need it any more."""
DEAD = dict.fromkeys(("repos", "issues", "hooks"), "inbox WHERE error IS NOT NULL")


async def rows(url: str, query: str) -> list[Any]:
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return list(await connection.execute(text(query)))
    finally:
        await engine.dispose()


async def events_on_their_way(nats_url: str) -> dict[str, int]:
    """By consumer, how many events it has not acknowledged yet, where there are any."""
    client = await nats.connect(nats_url)
    try:
        jetstream = client.jetstream()
        consumers = [
            consumer
            for stream in await jetstream.streams_info()
            for consumer in await jetstream.consumers_info(str(stream.config.name))
        ]
    finally:
        await client.close()
    counts = {each.name: (each.num_pending or 0) + (each.num_ack_pending or 0) for each in consumers}
    return {f"events for {name}": count for name, count in counts.items() if count}


async def waiting(databases: Mapping[str, str], nats_url: str) -> dict[str, int]:
    """How many events and rows wait, where there are any."""
    counts = await events_on_their_way(nats_url)
    for service, tables in WAITING.items():
        for what in tables:
            counts[f"{service}: {what}"] = (await rows(databases[service], f"SELECT count(*) FROM {what}"))[
                0
            ][0]
    return {what: count for what, count in counts.items() if count}


async def wait_settled(databases: Mapping[str, str], nats_url: str) -> tuple[float, dict[str, int]]:
    """Seconds until nothing waits any more, and what waited for too long. Raises AssertionError with the rows that wait on."""
    start, late = time.monotonic(), dict[str, int]()
    while counts := await waiting(databases, nats_url):
        seconds = time.monotonic() - start
        if seconds > SETTLED_SECONDS and not late:
            late = counts
            print(f"after {seconds:.1f} s these wait: {late}")
        if seconds > PATIENCE:
            samples = {
                f"{service}: {what}": await rows(databases[service], f"SELECT * FROM {what} LIMIT 10")
                for service, tables in WAITING.items()
                for what in tables
            }
            raise AssertionError(f"still waiting at {now()}: {counts}, {samples}")
        await asyncio.sleep(POLL)
    return time.monotonic() - start, late


class Checker:
    """Collects what is wrong; ``checked`` counts what was looked at."""

    def __init__(self, url: str, ledger: Ledger, databases: Mapping[str, str], storage: Path) -> None:
        self._ledger, self._databases, self._storage = ledger, databases, storage
        self._client = httpx.AsyncClient(base_url=f"{url}api/v1/", auth=ADMINISTRATOR, timeout=60)
        self.wrong: list[str] = [f"unexpected answer: {each}" for each in ledger.unexpected]
        self.checked = 0

    async def run(self, received: list[ReceivedRequest]) -> None:
        async with self._client:
            for service, what in DEAD.items():
                for row in await rows(self._databases[service], f"SELECT * FROM {what}"):
                    self.wrong.append(f"{service} could not apply an event: {row}")
            for name in REPOSITORIES:
                await self._issues(name)
                await self._refs(name)
                await self._merges(name)
                self._deliveries(name, [each for each in received if each.path == f"/{name}"])
            await self._forks()
            self._repository_deliveries(received)
            await self._counters()
            await self._disk()

    def _expect(self, what: str, actual: object, expected: object) -> None:
        self.checked += 1
        if actual != expected:
            self.wrong.append(f"{what}: {actual!r} and not {expected!r}")

    async def _pages(self, path: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        joint = "&" if "?" in path else "?"
        for page in range(1, 1000):
            answer = await self._client.get(f"{path}{joint}limit=50&page={page}")
            answer.raise_for_status()
            if not answer.json():
                break
            items += answer.json()
        return items

    async def _issues(self, name: str) -> None:
        """Each acknowledged one has its title, and no number is missing or double."""
        listed = await self._pages(f"repos/{OWNER}/{name}/issues?state=all&type=all")
        listed += await self._pages(f"repos/{OWNER}/{name}/pulls?state=all")
        titles = {issue["number"]: issue["title"] for issue in listed}
        self._expect(f"numbers in {name}", sorted(titles), list(range(1, len(titles) + 1)))
        for number, title in self._ledger.issues[name].items():
            self._expect(f"{name}#{number}", titles.get(number), title)
        for title in titles.values():
            self._expect(f"{title} was asked for", title in self._ledger.attempted, True)
        comments = defaultdict(list)
        for comment in await self._pages(f"repos/{OWNER}/{name}/issues/comments"):
            comments[int((comment["issue_url"] or comment["pull_request_url"]).rsplit("/", 1)[1])].append(
                comment["body"]
            )
        for number in titles:
            bodies = comments[number]
            self._expect(f"double comments of {name}#{number}", len(bodies), len(set(bodies)))
            for body in self._ledger.comments[name, number]:
                self._expect(f"comment {body} of {name}#{number}", body in bodies, True)

    async def _refs(self, name: str) -> None:
        """API, disk and ledger of refs say the same; the tip is the last acknowledged one or was attempted after it."""
        repository = (await self._client.get(f"repos/{OWNER}/{name}")).json()
        on_disk = await refs(self._path(repository["id"]))
        branches = await self._pages(f"repos/{OWNER}/{name}/branches")
        branch_tips = {f"refs/heads/{branch['name']}": branch["commit"]["id"] for branch in branches}
        self._expect(
            f"branches of {name}", branch_tips, {ref: oid for ref, oid in on_disk.items() if "heads" in ref}
        )
        query = f"SELECT name, oid FROM ref WHERE repository_id = {repository['id']}"
        noted = {row.name: row.oid for row in await rows(self._databases["repos"], query)}
        self._expect(f"the ledger of {name}", noted, on_disk)
        for (repository_name, branch), tips in self._ledger.pushes.items():
            acknowledged = self._ledger.tips.get((repository_name, branch))
            if repository_name == name and acknowledged:
                allowed = tips[tips.index(acknowledged) :]
                self._expect(f"{branch} of {name}", on_disk.get(branch) in allowed, True)

    async def _merges(self, name: str) -> None:
        repository = (await self._client.get(f"repos/{OWNER}/{name}")).json()
        history = set((await git("rev-list", "main", cwd=self._path(repository["id"]))).split())
        for number, commit in self._ledger.merged[name].items():
            pull = (await self._client.get(f"repos/{OWNER}/{name}/pulls/{number}")).json()
            self._expect(f"{name}!{number} is merged", pull.get("merged"), True)
            self._expect(f"the commit of {name}!{number} is in main", commit in history, True)

    def _deliveries(self, name: str, received: list[ReceivedRequest]) -> None:
        """Every issue, comment and merge once, every tip by a chain without gaps, and all in the order of the hook."""
        first: dict[str, ReceivedRequest] = {}
        for request in received:
            first.setdefault(request.headers["X-Gitea-Delivery"], request)
        sequences = [int(request.headers["X-Ingot-Sequence"]) for request in first.values()]
        self._expect(f"order of deliveries of {name}", sequences, list(range(1, len(sequences) + 1)))
        payloads = [(each.headers["X-Gitea-Event"], json.loads(each.body)) for each in first.values()]
        opened = [
            body["issue"]["number"]
            for event, body in payloads
            if event == "issues" and body["action"] == "opened"
        ]
        numbers = [
            number for number, title in self._ledger.issues[name].items() if not title.startswith("topic")
        ]
        self._expect(f"issues of {name} told twice", len(opened), len(set(opened)))
        self._expect(f"issues of {name} not told", sorted(set(numbers) - set(opened)), [])
        comments = [body["comment"]["body"] for event, body in payloads if event == "issue_comment"]
        texts = {
            text
            for (repository, _), texts in self._ledger.comments.items()
            if repository == name
            for text in texts
        }
        self._expect(f"comments of {name} not told", sorted(texts - set(comments)), [])
        self._expect(f"comments of {name} told twice", len(comments), len(set(comments)))
        merged = {
            body["number"] for event, body in payloads
            if event == "pull_request" and body["action"] == "closed" and body["pull_request"]["merged"]
        }  # fmt: skip
        self._expect(f"merges of {name} not told", sorted(set(self._ledger.merged[name]) - merged), [])
        tips: dict[str, str] = {}
        for event, body in payloads:
            if event == "push":
                previous = tips.get(body["ref"])
                if previous is not None:
                    self._expect(f"before of {body['ref']} in {name}", body["before"], previous)
                tips[body["ref"]] = body["after"]
        for (repository, branch), tip in self._ledger.tips.items():
            pushes = self._ledger.pushes[repository, branch]
            if repository == name:
                later = pushes[pushes.index(tip) :]
                self._expect(f"the tip of {branch} in {name} was told", tips.get(branch) in later, True)

    async def _forks(self) -> None:
        if self._ledger.acknowledged > MANY:
            self._expect("forks were made and deleted", bool(self._ledger.deleted), True)
        for name, parent in self._ledger.forks.items():
            answer = await self._client.get(f"repos/{FORKS}/{name}")
            self._expect(f"the fork {name}", (answer.status_code, answer.json().get("fork")), (200, True))
            self._expect(f"its parent {parent}", answer.json().get("parent", {}).get("name"), parent)
        for name in self._ledger.deleted:
            self._expect(
                f"{name}, deleted", (await self._client.get(f"repos/{FORKS}/{name}")).status_code, 404
            )

    def _repository_deliveries(self, received: list[ReceivedRequest]) -> None:
        """Every fork at the hook of its parent, and its creation and deletion in this order at that of the organization.

        A fork that was deleted before it was ready is told of to nobody, or as deleted only.
        """
        first: dict[str, ReceivedRequest] = {}
        for request in received:
            first.setdefault(request.headers["X-Gitea-Delivery"], request)
        bodies = [(each.headers["X-Gitea-Event"], json.loads(each.body)) for each in first.values()]
        forked = [body["repository"]["name"] for event, body in bodies if event == "fork"]
        actions = defaultdict(list)
        for event, body in bodies:
            if event == "repository":
                actions[body["repository"]["name"]].append(body["action"])
        self._expect("forks told twice", len(forked), len(set(forked)))
        self._expect("forks not told", sorted(set(self._ledger.forks) - set(forked)), [])
        for name in self._ledger.forks:
            self._expect(f"what was told of {name}", actions[name], ["created"])
        for name in self._ledger.deleted:
            expected = ["created", "deleted"] if name in forked else ["deleted"] if actions[name] else []
            self._expect(f"what was told of {name}, deleted", actions[name], expected)

    async def _counters(self) -> None:
        """Every counter is the number of its rows, also the copies that repos has of those of issues."""
        for service, counters in COUNTED.items():
            for table, key, counter, counted in counters:
                query = f"SELECT {key}, {counter}, (SELECT count(*) FROM {counted}) FROM {table}"
                for number, value, actual in await rows(self._databases[service], query):
                    self._expect(f"{counter} of {table} {number} in {service}", value, actual)
        query = "SELECT repository_id, open_issues, open_pulls FROM counter"
        of_issues = {row[0]: tuple(row[1:]) for row in await rows(self._databases["issues"], query)}
        query = "SELECT id, open_issues_count, open_pulls_count FROM repository WHERE state = 'ready'"
        for row in await rows(self._databases["repos"], query):
            self._expect(f"open issues of {row.id}", tuple(row[1:]), of_issues.get(row.id, (0, 0)))

    async def _disk(self) -> None:
        """Every repository is clean, and every folder of one belongs to a row."""
        ids = {
            row.id
            for row in await rows(self._databases["repos"], "SELECT id FROM repository WHERE state = 'ready'")
        }
        for number in ids:
            path = self._path(number)
            self._expect(
                f"git fsck of {number}", await git("fsck", "--strict", "--no-dangling", cwd=path), ""
            )
            locks = [str(each.relative_to(path)) for each in path.rglob("*.lock")]
            self._expect(f"locks in {number}", locks, [])
            swept = {each for pattern in SWEPT for each in path.glob(pattern)}
            temporary = {each for each in path.rglob("*tmp*") if not swept & {each, *each.parents}}
            self._expect(f"what no sweep removes in {number}", sorted(map(str, temporary)), [])
        query = "SELECT id FROM repository UNION SELECT repository_id FROM tombstone"
        repository_ids = {row[0] for row in await rows(self._databases["repos"], query)}
        there = {int(path.stem) for path in self._storage.glob("repositories/*/*/*.git")}
        self._expect("folders of no repository", sorted(there - repository_ids), [])

    def _path(self, number: int) -> Path:
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        return self._storage / "repositories" / digest[:2] / digest[2:4] / f"{number}.git"
