"""Makers of what the tests of hooks need: events, principals, and the sister services as far as hooks asks them."""

import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

from ingot_chassis.events import Envelope, event_type
from ingot_chassis.keys import Jwks, SigningKey
from ingot_chassis.principal import ANONYMOUS, Membership, Principal, sign_principal
from ingot_contracts.identity import Account, User
from ingot_contracts.issues import (
    Comment,
    Issue,
    Label,
    Milestone,
    PullRequest,
    PullRequestBranch,
)
from ingot_contracts.repos import (
    BranchTip,
    Commit,
    CommitAuthor,
    CommitStatus,
    HeldLevel,
    Level,
    PushReceived,
    Release,
    ReleaseChanged,
    Repository,
    RepositoryAccess,
    StatusCreated,
)

THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
OLD, NEW = "a" * 40, "b" * 40
ANN = User(id=1, login="ann", full_name="Ann", email="ann@example.org")
ACME = User(id=50, login="acme")


def repository(id_: int = 7, *, owner: User = ANN, name: str = "app") -> Repository:
    return Repository(
        id=id_,
        owner=owner,
        name=name,
        full_name=f"{owner.login}/{name}",
        html_url=f"http://forge/{owner.login}/{name}",
        default_branch="main",
        created_at=THEN,
        updated_at=THEN,
    )


def commit(message: str = "change", id_: str = NEW) -> Commit:
    author = CommitAuthor(name="Ann", email="ann@example.org", username="ann")
    return Commit(
        id=id_,
        message=message,
        url=f"http://forge/c/{id_}",
        author=author,
        committer=author,
        timestamp=THEN,
        modified=["README.md"],
    )


def push(
    *,
    ref: str = "refs/heads/main",
    before: str = OLD,
    after: str = NEW,
    of: Repository | None = None,
    commits: int = 1,
) -> PushReceived:
    of = of or repository()
    return PushReceived(
        repository=of,
        pusher=ANN,
        ref=ref,
        before=before,
        after=after,
        compare_url=f"http://forge/{of.full_name}/compare",
        commits=[commit() for _ in range(commits)],
        total_commits=commits,
    )


def status(state: Any = "failure") -> StatusCreated:
    said = CommitStatus(
        id=1,
        status=state,
        url="http://forge/s",
        target_url="http://ci/1",
        description="it <burns>",
        context="ci/build",
        creator=ANN,
        created_at=THEN,
        updated_at=THEN,
    )
    return StatusCreated(repository=repository(), sender=ANN, sha=NEW, status=said)


def release(action: Any = "published") -> ReleaseChanged:
    made = Release(
        id=5,
        tag_name="v1.0",
        name="The <first>",
        body="what is new",
        url="http://forge/api/r",
        html_url="http://forge/r",
        created_at=THEN,
        published_at=THEN,
        author=ANN,
    )
    return ReleaseChanged(action=action, repository=repository(), sender=ANN, release=made)


def issue(number: int = 3) -> Issue:
    return Issue(
        id=30,
        url="http://forge/i",
        number=number,
        user=ANN,
        title="It <burns>",
        body="all of it",
        labels=[Label(id=1, name="bug", color="ee0701")],
        milestone=Milestone(id=2, title="1.0", due_on=THEN),
        assignee=ANN,
        assignees=[ANN],
        created_at=THEN,
        updated_at=THEN,
    )


def comment() -> Comment:
    return Comment(
        id=40, html_url="http://forge/i#1", user=ANN, body="me too", created_at=THEN, updated_at=THEN
    )


def pull_request(number: int = 4) -> PullRequest:
    side = PullRequestBranch(label="main", ref="main", sha=NEW, repo_id=7, repo=repository())
    return PullRequest(
        id=60,
        url="http://forge/p",
        html_url="http://forge/p",
        number=number,
        user=ANN,
        title="Fix",
        state="closed",
        merged=True,
        merged_at=THEN,
        merge_commit_sha=NEW,
        merged_by=ANN,
        base=side,
        head=side,
    )


def envelope(event: msgspec.Struct, *, key: str = "7", id_: str = "") -> Envelope:
    return Envelope(
        id=id_ or str(uuid.uuid4()),
        type=event_type(type(event)),
        key=key,
        seq=1,
        occurred_at=THEN,
        data=msgspec.Raw(msgspec.json.encode(event)),
    )


def config(url: str = "http://ci.example.org/hook", **more: Any) -> dict[str, Any]:
    return {"url": url, "content_type": "json", **more}


def hook(url: str = "http://ci.example.org/hook", *, events: Any = None, **more: Any) -> dict[str, Any]:
    """A request body that makes an active hook."""
    body = {"type": "gitea", "active": True, "config": config(url), **more}
    return body if events is None else body | {"events": events}


class Sisters:
    """Identity and repos, as ASGI apps that answer from tables."""

    def __init__(self) -> None:
        self.key = SigningKey.generate()
        self.accounts = {
            "ann": Account(id=1, kind="user", login="ann"),
            "bob": Account(id=2, kind="user", login="bob"),
            "acme": Account(id=50, kind="organization", login="acme"),
            "secret": Account(id=51, kind="organization", login="secret", visibility="private"),
        }
        self.memberships: dict[int, dict[int, Membership]] = {}
        self.repositories = {"ann/app": repository(), "ann/other": repository(8, name="other")}
        self.levels: dict[tuple[str, int], Level] = {("ann/app", 1): "owner", ("ann/other", 1): "owner"}
        self.public = {"ann/app"}
        self.silent, self.asked = False, 0
        """How often repos was asked what somebody may do who is not calling."""

    def add(self, found: Repository, levels: dict[int, Level]) -> None:
        self.repositories[found.full_name] = found
        self.levels |= {(found.full_name, user): level for user, level in levels.items()}

    def statement(self, user_id: int, *, held: dict[int, Membership] | None = None, **more: Any) -> str:
        principal = Principal(
            id=user_id, name=f"user{user_id}", organizations=held or {}, **{"via": "token", **more}
        )
        return sign_principal(principal, self.key, audience=["hooks", "repos", "identity"])

    async def identity(self, scope: Any, receive: Any, send: Any) -> None:
        path, answer = scope["path"].removeprefix("/internal/"), None
        by_id = {str(account.id): account for account in self.accounts.values()}
        if path == "jwks":
            answer = Jwks([self.key.jwk()])
        elif path.endswith("/organizations"):
            answer = self.memberships.get(int(path.split("/")[1]), {})
        elif path.startswith("accounts/by-name/"):
            answer = self.accounts.get(path.rsplit("/", 1)[1])
        elif path.startswith("accounts/"):
            answer = by_id.get(path.rsplit("/", 1)[1])
        await _answer(send, answer)

    async def repos(self, scope: Any, receive: Any, send: Any) -> None:
        if self.silent:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        parts = scope["path"].removeprefix("/internal/repositories/").split("/")
        if parts[1] == "branches":
            await _answer(send, BranchTip(name=parts[2], sha=NEW))
        elif parts[0] == "by-id":
            self.asked += 1
            user = int(scope["query_string"].decode().removeprefix("user="))
            name = next((n for n, found in self.repositories.items() if found.id == int(parts[1])), None)
            account = next((a for a in self.accounts.values() if a.id == user and a.active), None)
            held = self._level(name, Principal(id=user, admin=account.admin)) if account else "none"
            await _answer(send, None if name is None else HeldLevel(level=held))
        else:
            name = "/".join(parts[:2])
            statement = dict(scope["headers"]).get(b"ingot-principal", b"").decode()
            level = self._level(name, _principal_of(statement))
            found = self.repositories.get(name) if level != "none" else None
            await _answer(send, found and RepositoryAccess(repository=found, level=level))

    def _level(self, name: str | None, who: Principal) -> Level:
        if name not in self.repositories:
            return "none"
        who = who.towards(self.repositories[name].id)
        if who.admin:
            return "owner"
        return self.levels.get((name, who.id), "read" if name in self.public else "none")


def _principal_of(statement: str) -> Principal:
    import jwt

    if not statement:
        return ANONYMOUS
    claims = jwt.decode(statement, options={"verify_signature": False})
    return msgspec.convert(claims["principal"], Principal, strict=False, str_keys=True)


async def _answer(send: Any, value: Any) -> None:
    body = b'{"message": "Not found.", "url": ""}' if value is None else msgspec.json.encode(value)
    status = 404 if value is None else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})
