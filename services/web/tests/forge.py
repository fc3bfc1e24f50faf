"""Answers of the services behind the pages: a repository of ann's, and the additions of a test."""

from collections.abc import Callable
from functools import cache

import msgspec

from ingot_chassis.http.paging import MAX_LIMIT
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.choices import CHOICES, CLOSED
from ingot_contracts.issues.issues import Comment, Issue
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.pulls import PullRequest, PullRequestBranch
from ingot_contracts.issues.reviews import PullReview, PullReviewComment
from ingot_contracts.rendering import MOST_TEXTS, RenderedTexts
from ingot_contracts.repos.access import permission_of
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository
from ingot_contracts.testing.calls import parameter_of, recorded_call

HOME = "/repos/ann/demo"
MOMENT = "2026-01-02T03:04:05Z"
SHAPES = (
    Repository, Issue, PullRequest, PullRequestBranch, PullReview, PullReviewComment, Comment, Release, Label,
    Milestone, User,
)  # fmt: skip
"""Structs that answers of the API are."""
ALWAYS = {"permissions", "repository", "created_at"}
"""Fields that every release has, and that have a default in the contracts for events alone."""
UNPAGED = ("/branch_protections", "/tag_protections", "/assignees", "/timeline/ids")
"""Lists that the API answers whole."""


def plain(struct, **changed):
    """An answer of the API that is a struct of the contracts, with other values of some fields."""
    return msgspec.to_builtins(struct) | changed


ANN = User(id=1, login="ann", email="ann@example.org", full_name="Ann")
ANN_USER = plain(ANN)
REPOSITORY = Repository(
    id=1,
    owner=ANN,
    name="demo",
    full_name="ann/demo",
    empty=False,
    clone_url="http://forge/ann/demo.git",
    default_branch="main",
    created_at=MOMENT,
    updated_at=MOMENT,
    permissions=permission_of("admin"),
)


def repository(**changed):
    """A repository of ann's as the API shows it, with other values of some fields."""
    return plain(REPOSITORY, **changed)


def issue(**changed):
    """The first issue of the repository."""
    one = Issue(
        id=1,
        url="",
        number=1,
        user=ANN,
        title="Old",
        body="first\nsecond",
        created_at=MOMENT,
        updated_at=MOMENT,
        html_url="http://forge/ann/demo/issues/1",
    )
    return plain(one, **changed)


def release(**changed):
    """A release whose tag is `v1`."""
    one = Release(
        id=1,
        name="One",
        tag_name="v1",
        url="",
        author=ANN,
        created_at=MOMENT,
        published_at=MOMENT,
    )
    return plain(one, **changed)


def pull(**changed):
    """A pull request from the branch ``topic`` of the repository into ``main``."""
    base = PullRequestBranch(label="main", ref="main", sha="0" * 40, repo_id=1, repo=REPOSITORY)
    head = PullRequestBranch(label="topic", ref="topic", sha="1" * 40, repo_id=1, repo=REPOSITORY)
    one = PullRequest(
        id=1,
        url="",
        number=1,
        user=ANN,
        title="Old",
        body="first\nsecond",
        created_at=MOMENT,
        updated_at=MOMENT,
        html_url="http://forge/ann/demo/pulls/1",
        base=base,
        head=head,
        mergeable=True,
    )
    return plain(one, **changed)


def _ownership():
    rights = dict.fromkeys(("is_owner", "is_admin", "can_read", "can_write", "can_create_repository"), True)
    return {"/users/ann/orgs/crew/permissions": rights}


def older(answer):
    """The answer of a release that has none of the fields with a default in the contracts."""
    if isinstance(answer, list):
        return [older(one) for one in answer]
    shape = next((one for one in SHAPES if isinstance(answer, dict) and _names(one) <= answer.keys()), None)
    if shape is None:
        return answer
    optional = {field.encode_name for field in msgspec.structs.fields(shape) if not field.required} - ALWAYS
    return {name: older(value) for name, value in answer.items() if name not in optional}


@cache
def _names(shape):
    fields = msgspec.structs.fields(shape)
    return {field.encode_name for field in fields if field.default is not msgspec.UNSET}


class FakeForge:
    """The public API of all services. ``answers`` has the responses by path; other paths return an empty
    list.

    Lists are paginated. A path may end in ``?ref=`` and a name, for that ref only, or in ``?output=`` or
    ``?state=``. Requests that change something are recorded in ``sent``. Their responses are in ``answers``
    by method and path.
    """

    def __init__(self) -> None:
        self.answers = {HOME: repository(), f"{HOME}/issues/1": issue(), **_ownership()}
        # The caller has signed in just now.
        self.answers["/user/proof"] = {
            "needed": False, "password": True, "code": False, "first_password": False, "passkey_options": "",
            "state": "",
        }  # fmt: skip
        # The sessions began with a password.
        sessions = (f"/user/sessions/{number}/provider" for number in (11, 12, 19))
        self.failures: dict[str, int] = dict.fromkeys(sessions, 404)
        """Path to the status with which it fails."""
        self.refusals: dict[str, tuple[int, bytes]] = {}
        """Path to the status and the answer with which changes are refused.

        For internal routes: path and query, also of reads.
        """
        self.refuses = 0
        """The status with which all changes are refused, if they are."""
        self.changed: object = []
        """Default answers to changes."""
        self.read_paths: list[str] = []
        """Paths of all GET, in order."""
        self.rows_read: dict[str, set[int]] = {}
        """The rows of each list that were answered, except in requests for a single row."""
        self.html: dict[str, str] = {}
        """Of texts; others are paragraphs of HTML as they are."""
        self.rendered: list[dict[str, object]] = []
        """Bodies of the requests for HTML, in order."""
        self.content_types: dict[str, str] = {}
        """Of answers that are no JSON, by path."""
        self.headers: dict[str, dict[str, str]] = {}
        """Headers of answers, by path."""
        self.totals: dict[str, int] = {}
        """The number of rows by path, for paths that are no lists here."""
        self.queries: dict[str, str] = {}
        """The query of the last GET of each path, also of one with a question."""
        self.targets: list[str] = []
        """Service and path of all calls, in order."""
        self.sent: list[tuple[str, str, object]] = []
        self.internal: dict[str, object] = {}
        """Answers of internal routes, by method and path."""
        self.calls: list[tuple[str, str]] = []
        """Method and path of all calls of those routes."""
        self.changes: list[str] = []
        """The query of each request that changes something, in order."""
        self.bodies: list[object] = []
        """Bodies of the POST calls of those routes, in order."""
        self.is_older = False
        """True if answers lack all fields with a default, as those of an older release."""
        self.down: set[str] = set()
        """Services that do not answer."""
        self.steps: dict[str, list[Callable[[], None]]] = {}
        """Steps after each GET of a path, in order: one step after each answer."""
        self.identity = None
        """Answers the others that are internal."""

    async def __call__(self, scope, receive, send, *, service=""):
        self.targets.append(f"{service} {scope['path']}")
        if service in self.down:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b'{"message": "down"}'})
            return
        route = f"{scope['method']} {scope['path']}"
        if route in self.internal:
            self.calls.append((scope["method"], scope["path"]))
            if scope["method"] == "POST":
                body = (await receive())["body"]
                self.bodies.append(msgspec.json.decode(body) if body else None)
            answer = self.internal[route]
            status, content = (204, b"") if answer is None else (200, msgspec.json.encode(answer))
            status = self.failures.get(scope["path"], status)
            question = f"{scope['path']}?{scope['query_string'].decode()}"
            status, content = self.refusals.get(question, (status, content))
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": content})
            return
        composers = {
            "conversation": self._conversation, "front-page": self._front_page,
            "issue-choices": self._issue_choices, "reviews": self._reviews,
        }  # fmt: skip
        is_internal, part = scope["path"].startswith("/internal/"), scope["path"].rpartition("/")[2]
        if is_internal and (compose := composers.get(part)):
            answer = compose(recorded_call(scope, b""))
            await send({"type": "http.response.start", "status": 200 if answer else 404, "headers": []})
            await send({"type": "http.response.body", "body": msgspec.json.encode(answer)})
            return
        if scope["path"].startswith("/internal/") and scope["path"] != "/internal/markdown":
            await self.identity(scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        call = recorded_call(scope, body)
        path = call.path.removeprefix("/api/v1")
        status, answer, total = self._answer(call, path)
        kind = self.content_types.get(path, "application/json")
        headers = [(b"content-type", kind.encode()), (b"x-total-count", str(total).encode())]
        headers += [(name.encode(), value.encode()) for name, value in self.headers.get(path, {}).items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        content = answer if isinstance(answer, bytes) else msgspec.json.encode(answer)
        await send({"type": "http.response.body", "body": content})
        if call.method == "GET" and (steps := self.steps.get(path)):
            steps.pop(0)()

    def _conversation(self, call):
        """The conversation of an issue as issues has it for web; None where it has a failure."""
        home = call.path.removeprefix("/internal").removesuffix("/conversation")
        if self.is_older or {call.path, home, f"{home}/timeline"} & self.failures.keys():
            return None
        timeline, total = self._rows(f"{home}/timeline", int(parameter_of(call, "page")), MAX_LIMIT)
        return {
            "timeline": timeline,
            "total": total,
            "reactions": self.answers.get(f"{home}/reactions/counts", []),
            "blockers": self._rows(f"{home}/dependencies")[0],
            "blocks": self._rows(f"{home}/blocks")[0],
            "scheduled_merge": self.answers.get(f"{home.replace('/issues/', '/pulls/')}/merge/scheduled"),
        }

    def _reviews(self, call):
        """The reviews of a pull request as issues has them for web; None where they have a failure."""
        home = call.path.removeprefix("/internal").removesuffix("/reviews")
        parts = {call.path, home, f"{home}/reviews", f"{home}/comments"}
        if self.is_older or parts & self.failures.keys():
            return None
        comments, total = self._rows(f"{home}/comments", 1, MAX_LIMIT)
        return {"reviews": self._rows(f"{home}/reviews")[0], "comments": comments, "comment_total": total}

    def _rows(self, path, page=1, limit=1_000):
        """A page of a list that is a part of an internal answer, and the length of the list."""
        rows = self.answers.get(path, [])
        if isinstance(rows, bytes):
            rows, limit = msgspec.json.decode(rows), len(rows)
        start = (page - 1) * limit
        shown = rows[start : start + limit]
        self.rows_read.setdefault(path, set()).update(range(start, start + len(shown)))
        return shown, len(rows)

    def _issue_choices(self, call):
        """Labels and milestones of a repository as issues has them for web; None where it has no tracker."""
        home = call.path.removeprefix("/internal").removesuffix("/issue-choices")
        if f"{home}/labels" in self.failures:
            return None
        path = f"{home}/milestones"
        rows = [plain(Milestone(id=0, title="")) | one for one in self.answers.get(path, [])]
        states = {state: [one for one in rows if one["state"] == state] for state in ("open", "closed")}
        for state, rows in states.items():
            rows += [
                plain(Milestone(id=0, title="", state=state)) | one
                for one in self.answers.get(f"{path}?state={state}", [])
            ]
        of_owner = f"/orgs/{home.split('/')[2]}/labels"
        labels = self.answers.get(f"{home}/labels", []) + (
            [] if of_owner in self.failures else self.answers.get(of_owner, [])
        )
        return {
            "labels": [plain(Label(id=0, name="", color="")) | one for one in labels],
            "milestones": states["open"][:CHOICES], "closed_milestones": states["closed"][:CLOSED],
            "milestone_total": len(states["open"]), "closed_total": len(states["closed"]),
        }  # fmt: skip

    def _front_page(self, call):
        """Facts of a repository as repos has them for web; None where it has no files."""
        home = call.path.removeprefix("/internal").removesuffix("/front-page")
        if f"{home}/languages" in self.failures:
            return None
        commits = self.answers.get(f"{home}/commits", [])
        latest = None
        if commits and f"{home}/commits" not in self.failures:
            content, author = commits[0]["commit"], commits[0].get("author")
            latest = {
                "sha": commits[0]["sha"],
                "message": content["message"],
                "author_name": content.get("author", {}).get("name", ""),
                "committed_at": content["committer"]["date"],
                "author": {"id": 0, "login": ""} | author if author else None,
            }
        starred = home.replace("/repos", "/user/starred", 1)
        return {
            "latest": latest,
            "commit_count": len(commits),
            "branch_count": len(self.answers.get(f"{home}/branches", [])),
            "languages": self.answers.get(f"{home}/languages") or {},
            "is_starred": starred not in self.failures,
            "is_watched": f"{home}/subscription" not in self.failures,
        }

    def _has_moved(self, call, path):
        """True if a request for the changes of a pull request names others than the present ones."""
        pull = self.answers.get(path.removesuffix(".diff"))
        if not path.endswith(".diff") or "/pulls/" not in path or not isinstance(pull, dict):
            return False
        present = (pull["head"]["sha"], pull["base"]["ref"], pull.get("merge_base"))
        named = [parameter_of(call, name) for name in ("commit_id", "base_branch", "merge_base")]
        return any(value not in ("", now) for value, now in zip(named, present, strict=True))

    def _answer(self, call, path):
        if call.path == "/internal/markdown":
            self.rendered.append(msgspec.json.decode(call.body))
            texts = self.rendered[-1]["texts"]
            if len(texts) > MOST_TEXTS:
                return 422, {"message": "too many texts", "url": ""}, 0
            return 200, RenderedTexts(html=[self.html.get(text, f"<p>{text}</p>") for text in texts]), 0
        if call.method == "GET":
            self.read_paths.append(path)
            self.queries[path] = call.query
        else:
            self.changes.append(call.query)
            is_json = call.body[:1] in (b"{", b"[")
            self.sent.append((call.method, path, msgspec.json.decode(call.body) if is_json else call.body))
        for name in ("ref", "output", "state"):
            if (question := f"{path}?{name}={parameter_of(call, name)}") in {**self.answers, **self.failures}:
                path = question
                self.queries[path] = call.query
                break
        if self.refuses and call.method != "GET":
            return self.refuses, {"message": "refused", "url": ""}, 0
        if path in self.refusals and call.method != "GET":
            return *self.refusals[path], 0
        if self._has_moved(call, path):
            return 409, {"message": "the changes have moved", "url": ""}, 0
        if path in self.failures:
            return self.failures[path], {"message": "refused", "url": ""}, 0
        if call.method == "GET":
            answer = self.answers.get(path, [])
            answer = older(answer) if self.is_older else answer
        else:
            answer = self.answers.get(f"{call.method} {path}", self.changed)
        if not isinstance(answer, list):
            return 200, answer, self.totals.get(path, 0)
        if path.endswith(UNPAGED):
            return 200, answer, 0
        limit = min(int(parameter_of(call, "limit") or MAX_LIMIT), MAX_LIMIT)
        start = (int(parameter_of(call, "page") or 1) - 1) * limit
        rows = answer[start : start + limit]
        if limit > 1:
            self.rows_read.setdefault(path, set()).update(range(start, start + len(rows)))
        return 200, rows, len(answer)
