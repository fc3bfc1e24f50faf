"""Checks after faults: the load's ledger against the API, the databases, the disk and deliveries."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from ingot_testing.receiver import ReceivedRequest

from ..e2e.deployments import ADMINISTRATOR
from ..e2e.history import git, refs
from .arrivals import of_forks, of_repository
from .load import FORKS, OWNER, REPOSITORIES, Ledger
from .pending import rows

MANY = 400
"""Acknowledged writes among which there are forks and deletions; a short run may have none."""
OPEN = "state = 'open' AND repository_id = counter.repository_id"
NOTED_LISTS = (
    "SELECT list, CAST(sum(number) AS bigint) FROM list_count GROUP BY 1 HAVING sum(number) <> 0 ORDER BY 1"
)
COUNTED_LISTS = """
    SELECT list, count(*) FROM (
        SELECT CASE kind WHEN 'user' THEN 'users' ELSE visibility || ' organizations' END AS list FROM account
        UNION ALL SELECT 'emails' FROM email
    ) AS counted GROUP BY 1 ORDER BY 1"""
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
        ("repository", "id", "stars_count", "star WHERE repository_id = repository.id"),
        ("repository", "id", "releases_count", "release WHERE NOT draft AND repository_id = repository.id"),
    ),
    "issues": (
        ("counter", "repository_id", "open_issues", f"issue WHERE NOT is_pull AND {OPEN}"),
        ("counter", "repository_id", "open_pulls", f"issue WHERE is_pull AND {OPEN}"),
        (
            "counter",
            "repository_id",
            "last_number - deleted_issues",
            "issue WHERE repository_id = counter.repository_id",
        ),
        ("issue", "id", "comments", "comment WHERE issue_id = issue.id AND kind = 0"),
        ("milestone", "id", "open_issues", "issue WHERE milestone_id = milestone.id AND state = 'open'"),
        ("milestone", "id", "closed_issues", "issue WHERE milestone_id = milestone.id AND state = 'closed'"),
    ),
}
"""By service: a table, its key, a counter in it, and the rows that this counts."""
SWEPT = (
    "objects/tmp_objdir-*",
    "objects/pack/tmp_*",
    "objects/pack/.tmp*",
    "objects/[0-9a-f][0-9a-f]/tmp_obj_*",
    "objects/tmp_object_git2_*",
)
"""Files that a killed git leaves. They are swept when no push can need them any more."""
ABANDONED = {
    "outbox WHERE dead_lettered_at IS NOT NULL": ("identity", "repos", "issues", "hooks"),
    "inbox WHERE error IS NOT NULL": ("repos", "issues", "hooks", "mail"),
    "job WHERE state = 'failed'": ("identity", "repos", "issues", "hooks", "mail"),
    "repository WHERE state = 'failed'": ("repos",),
    "mail WHERE state = 'failed'": ("mail",),
    # The receiver never stops, so each delivery arrives.
    "delivery WHERE state <> 'delivered'": ("hooks",),
}
"""Rows of what will never happen, by the services that have the table."""
NOTED_REPOSITORIES = """
    SELECT visibility, private, sum(number) FROM repository_count GROUP BY 1, 2 HAVING sum(number) <> 0
    ORDER BY 1, 2
"""
COUNTED_REPOSITORIES = """
    SELECT visibility, private, count(*) FROM repository JOIN account ON account.id = owner_id
    WHERE state <> 'creating' GROUP BY 1, 2 ORDER BY 1, 2
"""
MOST_SECONDS = 30
"""Longest wait of a request in seconds, also while a server is down."""
TROUBLE = re.compile(
    r"unexpected error|was never (?:awaited|retrieved)"
    r"|^(?:  \+ Exception Group )?Traceback \(most recent call last\)"
    r'|"exception": ?"'
)
"""Lines of a traceback in text logs, and of a process that crashes. In JSON logs a traceback is a field.

The error of a job that will be retried is in another field.
"""


class Checker:
    """Collects what is wrong; ``checked`` counts what was looked at."""

    def __init__(
        self, url: str, ledger: Ledger, databases: Mapping[str, str], storage: Path, logs: Path
    ) -> None:
        self._ledger, self._databases, self._storage = ledger, databases, storage
        self._logs = logs
        self._client = httpx.AsyncClient(base_url=f"{url}api/v1/", auth=ADMINISTRATOR, timeout=60)
        self.wrong: list[str] = [f"unexpected answer: {each}" for each in ledger.unexpected]
        self.checked = 0

    async def run(self, received: list[ReceivedRequest]) -> None:
        async with self._client:
            await self._abandoned_rows()
            self._log_lines()
            seconds, request = self._ledger.longest
            self._expect(f"{request} took {seconds:.1f} s, which is quick", seconds <= MOST_SECONDS, True)
            for name in REPOSITORIES:
                await self._issues(name)
                await self._refs(name)
                await self._merges(name)
                for claim in of_repository(
                    self._ledger, name, (each for each in received if each.path == f"/{name}")
                ):
                    self._expect(*claim)
                await self._stars_and_releases(name)
            await self._forks()
            for claim in of_forks(self._ledger, received):
                self._expect(*claim)
            await self._counters()
            await self._disk()

    def _expect(self, what: str, actual: object, expected: object) -> None:
        self.checked += 1
        if actual != expected:
            self.wrong.append(f"{what}: {actual!r} and not {expected!r}")

    async def _abandoned_rows(self) -> None:
        for what, services in ABANDONED.items():
            for service in services:
                abandoned = await rows(self._databases[service], f"SELECT * FROM {what}")
                self._expect(f"{service}: {what}", [str(row) for row in abandoned], [])

    def _log_lines(self) -> None:
        """No process logged an unexpected error."""
        for log in sorted(self._logs.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()
            self._expect(f"trouble in {log.name}", [line for line in lines if TROUBLE.search(line)][:3], [])

    def _deletion(self, name: str, kind: str, one: int | str) -> bool | None:
        """Return True if the deletion was acknowledged, None if none was tried."""
        return self._ledger.deletions.get((name, kind, one))

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
        """Each acknowledged issue has its title. No number is missing or double, except for deleted ones."""
        listed = await self._pages(f"repos/{OWNER}/{name}/issues?state=all&type=all")
        listed += await self._pages(f"repos/{OWNER}/{name}/pulls?state=all")
        titles = {issue["number"]: issue["title"] for issue in listed}
        absent = set(range(1, max(titles) + 1)) - set(titles)
        deleted = {number for number in absent if self._deletion(name, "issues", number) is not None}
        self._expect(f"missing numbers in {name}", sorted(absent - deleted), [])
        states = {issue["number"]: issue["state"] for issue in listed}
        for number, title in self._ledger.issues[name].items():
            deletion = self._deletion(name, "issues", number)
            is_deleted = bool(deletion) or (deletion is False and number not in titles)
            self._expect(f"{name}#{number}", titles.get(number), None if is_deleted else title)
        for (repository, number), milestone in self._ledger.closed.items():
            if repository == name and self._deletion(name, "issues", number) is None:
                self._expect(f"{name}#{number} in {milestone}", states.get(number), "closed")
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
                deletion = self._deletion(name, "comments", body)
                if deletion is None or deletion:
                    self._expect(f"comment {body} of {name}#{number}", body in bodies, deletion is None)

    async def _refs(self, name: str) -> None:
        """API, disk and ledger of refs agree. The tip is the last acknowledged one, or a later attempt."""
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

        for (repository_name, kind, branch), acknowledged in self._ledger.deletions.items():
            if repository_name == name and kind == "branches" and acknowledged:
                self._expect(f"{branch} of {name}, deleted", f"refs/heads/{branch}" in on_disk, False)

    async def _stars_and_releases(self, name: str) -> None:
        starred = (await self._client.get(f"user/starred/{OWNER}/{name}")).status_code == 204
        expected = self._ledger.stars.get(name)
        if expected is not None:
            self._expect(f"{name} is starred", starred, expected)
        tags = {release["tag_name"] for release in await self._pages(f"repos/{OWNER}/{name}/releases")}
        for tag in self._ledger.releases[name]:
            deletion = self._deletion(name, "releases/tags", tag)
            if deletion is None or deletion:
                self._expect(f"release {tag} of {name}", tag in tags, deletion is None)

    async def _merges(self, name: str) -> None:
        repository = (await self._client.get(f"repos/{OWNER}/{name}")).json()
        history = set((await git("rev-list", "main", cwd=self._path(repository["id"]))).split())
        for number, commit in self._ledger.merged[name].items():
            pull = (await self._client.get(f"repos/{OWNER}/{name}/pulls/{number}")).json()
            self._expect(f"{name}!{number} is merged", pull.get("merged"), True)
            self._expect(f"the commit of {name}!{number} is in main", commit in history, True)

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

    async def _counters(self) -> None:
        """Every counter equals the number of its rows, also repos' copies of the counters of issues.

        The counts that triggers keep of repositories are exact here, because the visibility of owners never
        changes.
        """
        for service, counters in COUNTED.items():
            for table, key, counter, counted in counters:
                query = f"SELECT {key}, {counter}, (SELECT count(*) FROM {counted}) FROM {table}"
                for number, value, actual in await rows(self._databases[service], query):
                    self._expect(f"{counter} of {table} {number} in {service}", value, actual)
        for service, queries in {
            "repos": (NOTED_REPOSITORIES, COUNTED_REPOSITORIES),
            "identity": (NOTED_LISTS, COUNTED_LISTS),
        }.items():
            noted, counted = [
                [tuple(map(str, row)) for row in await rows(self._databases[service], query)]
                for query in queries
            ]
            self._expect(f"what {service} notes of the lengths of lists", noted, counted)
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
