"""Issues' internal API with data from tables: an ASGI app for tests of services that call issues."""

from collections.abc import MutableMapping
from typing import Any, NamedTuple

import msgspec

from ingot_contracts.issues.notices import IssueNotice
from ingot_contracts.issues.replies import ReplyByMail, StoredReply
from ingot_contracts.testing.calls import (
    Receive,
    RecordedCall,
    Send,
    body_of,
    error_body,
    id_of,
    parameter_of,
    read_body,
    recorded_call,
)


class FakeReply(NamedTuple):
    """A stored reply: its issue, its author and its text."""

    issue_id: int
    author_id: int
    body: str


class FakeIssues:
    """A fake with the ``internal`` routes of issues for mail. Tests may change the tables at any time."""

    def __init__(self) -> None:
        self.notices: dict[int, IssueNotice] = {}
        """Notices by the id of their issue."""
        self.hidden: set[tuple[int, int]] = set()
        """Pairs of issue and user: the user may not read it."""
        self.replies: dict[str, FakeReply] = {}
        """Replies by mail by their keys. A key is stored once."""
        self.refusals: dict[int, tuple[int, str]] = {}
        """Status and message for replies to an issue, instead of a comment."""
        self.loses_answers = False
        """True: replies are stored, and answered with 503."""
        self.unavailable = False
        """True: every request gets 503."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        status, answer = self._answer(recorded_call(scope, body))
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": msgspec.json.encode(answer)})

    def _answer(self, call: RecordedCall) -> tuple[int, Any]:
        """Return status and body of the response."""
        if self.unavailable:
            return 503, error_body("issues is not available")
        issue_id = id_of(call.path.split("/")[3])
        is_reply = call.method == "POST"
        user_id = call.caller.id if is_reply else id_of(parameter_of(call, "user"))
        notice = self.notices.get(issue_id)
        if call.peer != "mail" or notice is None or (issue_id, user_id) in self.hidden:
            return 404, error_body("Not found.")
        return self._reply(issue_id, call) if is_reply else (200, notice)

    def _reply(self, issue_id: int, call: RecordedCall) -> tuple[int, Any]:
        sent = body_of(call, ReplyByMail)
        if issue_id in self.refusals and sent.key not in self.replies:
            status, message = self.refusals[issue_id]
            return status, error_body(message)
        self.replies.setdefault(sent.key, FakeReply(issue_id, call.caller.id, sent.body))
        if self.loses_answers:
            return 503, error_body("issues is not available")
        return 200, StoredReply(comment_id=list(self.replies).index(sent.key) + 1)
