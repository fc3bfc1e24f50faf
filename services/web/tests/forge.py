"""What the services behind the pages answer: a repository of ann's and what a test puts beside it."""

import msgspec

from ingot_chassis.http.paging import MAX_LIMIT
from ingot_contracts.issues import MOST_TEXTS, RenderedTexts
from ingot_contracts.testing.calls import parameter_of, recorded_call

HOME = "/repos/ann/demo"
MOMENT = "2026-01-02T03:04:05Z"
UNPAGED = ("/branch_protections", "/tag_protections", "/assignees", "/timeline/ids")
"""Lists that the API answers whole."""
ANN_USER = {"id": 1, "login": "ann", "avatar_url": "", "email": "ann@example.org", "full_name": "Ann"}


def _repository():
    allowed = ("merge_commits", "rebase", "rebase_explicit", "squash_merge", "fast_forward_only_merge")
    settings = {f"allow_{name}": True for name in allowed}
    counts = dict.fromkeys(
        (
            "stars_count",
            "watchers_count",
            "forks_count",
            "open_issues_count",
            "open_pr_counter",
            "release_counter",
        ),
        0,
    )
    units = dict.fromkeys(("has_issues", "has_pull_requests", "has_releases"), True)
    flags = dict.fromkeys(
        (
            "private",
            "archived",
            "mirror",
            "fork",
            "empty",
            "template",
            "default_delete_branch_after_merge",
            "allow_manual_merge",
            "ignore_whitespace_conflicts",
        ),
        False,
    )
    flags |= dict.fromkeys(("allow_merge_update", "allow_rebase_update", "autodetect_manual_merge"), True)
    return {
        "name": "demo", "full_name": "ann/demo", "owner": ANN_USER, "description": "", "default_branch": "main",
        "default_merge_style": "merge", "default_update_style": "merge", "website": "", "topics": [], "clone_url": "http://forge/ann/demo.git",
        "ssh_url": "", "permissions": {"admin": True, "push": True, "pull": True},
        **settings, **counts, **units, **flags,
    }  # fmt: skip


def issue(**changed):
    return {
        "number": 1, "title": "Old", "body": "first\nsecond", "state": "open", "user": ANN_USER, "created_at": MOMENT,
        "updated_at": MOMENT, "html_url": "http://forge/ann/demo/issues/1", "labels": [], "assignees": [],
        "milestone": None, "due_date": None, "is_locked": False, "pin_order": 0, "pull_request": None, "comments": 0,
        "review_comments": 0, "additions": None, "deletions": None, "changed_files": None, "draft": False, **changed,
    }  # fmt: skip


def _ownership():
    rights = dict.fromkeys(("is_owner", "is_admin", "can_read", "can_write", "can_create_repository"), True)
    return {"/users/ann/orgs/crew/permissions": rights}


class FakeForge:
    """The public API of all services. ``answers`` has what paths answer to GET; others answer an empty list. Lists come in pages.
    A path may end in ``?ref=`` and a name, for that ref alone, or in ``?output=`` or ``?state=``.

    What changes something is kept in ``sent``, and answers what ``answers`` has for its method and path.
    """

    def __init__(self) -> None:
        self.answers = {HOME: _repository(), f"{HOME}/issues/1": issue(), **_ownership()}
        self.failures: dict[str, int] = {}
        """Path to the status with which it fails."""
        self.refusals: dict[str, tuple[int, bytes]] = {}
        """Path to the status and the answer with which changes are refused."""
        self.refuses = 0
        """The status with which all changes are refused, if they are."""
        self.changed: object = []
        """What changes answer for which there is nothing else."""
        self.read_paths: list[str] = []
        """Paths of all GET, in order."""
        self.rows_read: dict[str, set[int]] = {}
        """Which rows of each list were answered, but for questions after one alone."""
        self.html: dict[str, str] = {}
        """Of texts; others are paragraphs of HTML as they are."""
        self.content_types: dict[str, str] = {}
        """Of answers that are no JSON, by path."""
        self.headers: dict[str, dict[str, str]] = {}
        """Headers of answers, by path."""
        self.totals: dict[str, int] = {}
        """How many there are of what is no list here, by path."""
        self.queries: dict[str, str] = {}
        """The query of the last GET of each path, also of one with a question."""
        self.targets: list[str] = []
        """Service and path of all calls, in order."""
        self.sent: list[tuple[str, str, object]] = []
        self.internal: dict[str, object] = {}
        """What internal routes answer, by method and path."""
        self.calls: list[tuple[str, str]] = []
        """Method and path of all calls of those routes."""
        self.down: set[str] = set()
        """Services that do not answer."""
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
            answer = self.internal[route]
            await send({"type": "http.response.start", "status": 200 if answer else 204, "headers": []})
            await send({"type": "http.response.body", "body": msgspec.json.encode(answer) if answer else b""})
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

    def _answer(self, call, path):
        if call.path == "/internal/markdown":
            texts = msgspec.json.decode(call.body)["texts"]
            if len(texts) > MOST_TEXTS:
                return 422, {"message": "too many texts", "url": ""}, 0
            return 200, RenderedTexts(html=[self.html.get(text, f"<p>{text}</p>") for text in texts]), 0
        if call.method == "GET":
            self.read_paths.append(path)
            self.queries[path] = call.query
        else:
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
        if path in self.failures:
            return self.failures[path], {"message": "refused", "url": ""}, 0
        if call.method == "GET":
            answer = self.answers.get(path, [])
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
