"""Issues' internal API with data from tables: an ASGI app for tests of services that call issues."""

from collections.abc import MutableMapping
from typing import Any

import msgspec

from ingot_contracts.issues.notices import IssueNotice
from ingot_contracts.testing.calls import Receive, Send, error_body, id_of, parameter_of, recorded_call


class FakeIssues:
    """A fake with the ``internal`` routes of issues for mail. Tests may change the tables at any time."""

    def __init__(self) -> None:
        self.notices: dict[int, IssueNotice] = {}
        """Notices by the id of their issue."""
        self.hidden: set[tuple[int, int]] = set()
        """Pairs of issue and user: the user may not read it."""
        self.unavailable = False
        """True: every request gets 503."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await receive()
        call = recorded_call(scope, b"")
        status, answer = 404, error_body("Not found.")
        issue_id, user_id = id_of(call.path.split("/")[3]), id_of(parameter_of(call, "user"))
        notice = self.notices.get(issue_id)
        if self.unavailable:
            status, answer = 503, error_body("issues is not available")
        elif call.peer == "mail" and notice and (issue_id, user_id) not in self.hidden:
            status, answer = 200, msgspec.to_builtins(notice)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": msgspec.json.encode(answer)})
