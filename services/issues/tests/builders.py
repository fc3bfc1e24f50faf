"""Makers of what the tests of issues need, and the sister services as far as issues asks them."""

import contextlib
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from ingot_chassis.database import Database, insert
from ingot_chassis.errors import ApiError, Conflict, NotAllowed, NotFound
from ingot_chassis.events import Envelope, event_type
from ingot_chassis.keys import Jwks, SigningKey
from ingot_chassis.principal import Principal, sign_principal
from ingot_contracts.identity import Account, User
from ingot_contracts.pulls import (
    ChangedPath,
    ChangedPaths,
    Compare,
    CompareHeads,
    Comparison,
    History,
    HistoryCommit,
    Merge,
    Merged,
    Signature,
)
from ingot_contracts.repos import Commit, CommitAuthor, Level, PushReceived, Repository, RepositoryAccess
from ingot_issues.store import tables

THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
NAMES = {1: "ann", 2: "bob", 3: "cat", 4: "dan"}
"""Ann owns the repository, Bob may write to it, Cat may read it, Dan has a fork of it."""
BASE, HEAD, JOINED, NEXT = "a" * 40, "b" * 40, "c" * 40, "d" * 40
APP, FORK = 7, 8


def account(account_id: int, **fields: Any) -> Account:
    login = NAMES[account_id]
    values = {"kind": "user", "login": login, "email": f"{login}@example.org"}
    return Account(id=account_id, **values | fields)


def repository(repository_id: int = APP, *, owner: int = 1, **fields: Any) -> Repository:
    login, name = NAMES[owner], fields.pop("name", "app")
    values = {"empty": False, "created_at": THEN, "updated_at": THEN, "default_branch": "main"}
    user = User(id=owner, login=login)
    return Repository(id=repository_id, owner=user, name=name, full_name=f"{login}/{name}", **values | fields)


def comparison(**fields: Any) -> Comparison:
    values = {"base_sha": BASE, "head_sha": HEAD, "merge_base": BASE, "mergeable": True, "commits": 1}
    return Comparison(**values | fields)


def push(ref: str = "refs/heads/main", after: str = NEXT, **fields: Any) -> PushReceived:
    values = {"repository": fields.pop("of", None) or repository(), "pusher": User(id=2, login="bob")}
    return PushReceived(ref=ref, before=BASE, after=after, **values | fields)


def pushed_commit(sha: str, message: str) -> Commit:
    who = CommitAuthor(name="Bob", email="bob@example.org")
    return Commit(id=sha, message=message, url="", author=who, committer=who, timestamp=THEN)


def history_commit(sha: str, message: str = "a commit\n", login: str = "bob") -> HistoryCommit:
    who = Signature(name="Bob", email="bob@example.org", when=THEN, login=login)
    return HistoryCommit(sha=sha, tree="e" * 40, parents=[BASE], message=message, author=who, committer=who)


def envelope(event: msgspec.Struct) -> Envelope:
    return Envelope(
        id=str(uuid.uuid4()),
        type=event_type(type(event)),
        key=str(APP),
        seq=1,
        occurred_at=THEN,
        data=msgspec.Raw(msgspec.json.encode(event)),
    )


@dataclass
class FakeIdentity:
    """Signs principals and knows accounts."""

    key: SigningKey = field(default_factory=SigningKey.generate)
    accounts: dict[int, Account] = field(
        default_factory=lambda: {number: account(number) for number in NAMES}
    )
    statements: dict[tuple[int, str], str] = field(default_factory=dict)

    async def keys(self) -> Jwks:
        return Jwks(keys=[self.key.jwk()])

    def statement(self, user_id: int, **fields: Any) -> str:
        who = Principal(id=user_id, name=NAMES[user_id], via="basic", **fields)
        return self.statements.setdefault(
            (user_id, repr(fields)), sign_principal(who, self.key, audience=["issues"], lifetime=600)
        )

    def who(self, statement: str) -> int:
        """Whose statement it is, 0 for nobody's."""
        return next((key[0] for key, made in self.statements.items() if made == statement), 0)

    async def account(self, account_id: int) -> Account:
        if account_id not in self.accounts:
            raise NotFound
        return self.accounts[account_id]

    async def account_named(self, login: str) -> Account:
        for known in self.accounts.values():
            if known.login == login.lower():
                return known
        raise NotFound


@dataclass
class FakeRepos:
    """Repositories, levels and branches as the test says; counts what it is asked."""

    identity: FakeIdentity
    repositories: dict[int, Repository] = field(default_factory=dict)
    levels: dict[tuple[int, int], Level] = field(default_factory=dict)
    issues_enabled: bool = True
    pulls_enabled: bool = True
    compared: Comparison | ApiError = field(default_factory=comparison)
    heads: dict[str, Comparison | ApiError] = field(default_factory=dict)
    merged: Merged | ApiError = field(default_factory=lambda: Merged(sha=JOINED))
    lately: RepositoryAccess | None = None
    taking: ApiError | None = None
    taken: list[tuple[int, str, str]] = field(default_factory=list)
    takers: list[int] = field(default_factory=list)
    commits: list[HistoryCommit] = field(default_factory=list)
    changed: list[ChangedPath] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    compares: list[Compare] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.repositories |= {
            APP: repository(),
            FORK: repository(FORK, owner=4, parent=repository(), fork=True),
        }
        self.levels |= {(APP, 1): "owner", (APP, 2): "write", (FORK, 4): "owner"}

    def remembered(self, owner: str, name: str, statement: str) -> RepositoryAccess | None:
        return self.lately

    def forget(self, repository_id: int) -> None:
        self.lately = None

    async def access(self, owner: str, name: str, statement: str) -> RepositoryAccess:
        self.asked.append("access")
        for known in self.repositories.values():
            if known.full_name == f"{owner}/{name}".lower():
                return self._access(known, statement)
        raise NotFound

    async def access_by_id(self, repository_id: int, statement: str) -> RepositoryAccess:
        return self._access(self.repositories[repository_id], statement)

    async def access_of(self, account_id: int, owner: str, name: str) -> RepositoryAccess:
        for known in self.repositories.values():
            if known.full_name == f"{owner}/{name}".lower():
                return self._held(known, account_id)
        raise NotFound

    async def access_of_by_id(self, account_id: int, repository_id: int) -> RepositoryAccess:
        return self._held(self.repositories[repository_id], account_id)

    async def seen(self, repository_ids: Collection[int], statement: str) -> set[int]:
        self.asked.append("seen")
        visible = set()
        for found in set(repository_ids) & set(self.repositories):
            with contextlib.suppress(NotFound):
                self._access(self.repositories[found], statement)
                visible.add(found)
        return visible

    def _access(self, known: Repository, statement: str) -> RepositoryAccess:
        return self._held(known, self.identity.who(statement))

    def _held(self, known: Repository, user_id: int) -> RepositoryAccess:
        level = self.levels.get((known.id, user_id), "none" if known.private else "read")
        if level == "none":
            raise NotFound
        return RepositoryAccess(
            repository=known,
            level=level,
            issues_enabled=self.issues_enabled,
            pulls_enabled=self.pulls_enabled,
        )

    async def compare(self, repository_id: int, wanted: Compare, statement: str | None) -> Comparison:
        self.asked.append("compare")
        self.compares.append(wanted)
        if isinstance(self.compared, ApiError):
            raise self.compared
        return self.compared

    async def compare_heads(self, repository_id: int, wanted: CompareHeads) -> list[Comparison | None]:
        self.asked.append("comparisons")
        found: list[Comparison | None] = []
        for head in wanted.heads:
            self.compares.append(
                Compare(
                    base_branch=wanted.base_branch,
                    head_repository_id=head.repository_id,
                    head_branch=head.branch,
                    number=head.number,
                )
            )
            known = self.heads.get(head.branch, self.compared)
            found.append(None if isinstance(known, ApiError) else known)
        return found

    async def merge(self, repository_id: int, wanted: Merge, statement: str) -> Merged:
        """As repos does: the head must be where the caller thinks, unless it is gone, and fit."""
        self.merges.append(wanted)
        if isinstance(self.merged, ApiError):
            raise self.merged
        if isinstance(self.compared, Comparison) and wanted.head_sha != self.compared.head_sha:
            raise Conflict("the head of the pull request has moved")
        if isinstance(self.compared, Comparison) and not self.compared.mergeable:
            raise NotAllowed("the branches conflict")
        return self.merged

    async def take_branch(
        self, repository_id: int, branch: str, tip: str, statement: str | None, *, actor_id: int
    ) -> None:
        if isinstance(self.taking, ApiError):
            raise self.taking
        self.taken.append((repository_id, branch, tip))
        self.takers.append(actor_id if statement is None else self.identity.who(statement))

    async def history(
        self, repository_id: int, base: str, head: str, statement: str | None, *, offset: int = 0, limit: int
    ) -> History:
        self.asked.append(f"history {base[:1]} {head[:1]}")
        return History(commits=self.commits[offset : offset + limit], total=len(self.commits))

    async def files(
        self, repository_id: int, base: str, head: str, statement: str, *, offset: int, limit: int
    ) -> ChangedPaths:
        return ChangedPaths(files=self.changed[offset : offset + limit], total=len(self.changed))

    async def diff(self, repository_id: int, base: str, head: str, form: str, statement: str) -> bytes:
        return f"{form} {base[:1]} {head[:1]}".encode()


async def fill(db: Database, first: int, count: int) -> None:
    """``count`` issues from number ``first`` on, each with all that surrounds one."""
    issues = [
        {
            "id": number, "repository_id": APP, "number": number, "is_pull": number % 2 == 0, "author_id": 2,
            "title": f"number {number}", "state": "open", "milestone_id": 1, "created_at": THEN, "updated_at": THEN,
        }
        for number in range(first, first + count)
    ]  # fmt: skip
    pulls = [
        {
            "issue_id": row["id"], "base_branch": "main", "base_sha": BASE, "head_repository_id": FORK,
            "head_branch": f"b{row['id']}", "head_sha": HEAD, "merge_base": BASE, "mergeable": True,
        }
        for row in issues
        if row["is_pull"]
    ]  # fmt: skip
    comments = [
        {
            "issue_id": row["id"], "repository_id": APP, "author_id": 3, "kind": 0, "body": "me too",
            "created_at": THEN, "updated_at": THEN,
        }
        for row in issues
    ]  # fmt: skip
    async with db.transaction() as tx:
        await tx.execute(tables.issue.insert(), issues)
        await tx.execute(tables.pull.insert(), pulls)
        await tx.execute(tables.comment.insert(), comments)
        await tx.execute(
            tables.issue_label.insert(), [{"issue_id": row["id"], "label_id": 1} for row in issues]
        )
        people = [{"issue_id": row["id"], "account_id": 3, "position": 0} for row in issues]
        await tx.execute(tables.assignee.insert(), people)
        pulled = len(pulls)
        counted = {"last_number": first + count - 1, "open_issues": count - pulled, "open_pulls": pulled}
        for number, (name, more) in enumerate(counted.items()):
            column = tables.counter.c[name]
            await tx.execute(
                insert(tx, tables.counter)
                .values({"repository_id": APP, name: more})
                .on_conflict_do_update(
                    index_elements=["repository_id"], set_={name: column + more if number else more}
                )
            )
