"""Access to every public route, by role, kind of credential and kind of repository."""

import itertools
from typing import Any

import pytest
from litestar.routes import HTTPRoute

from ingot_chassis.http.policy import Policy

from ..builders import APP, HEAD, repository
from ..world import World

ROLES = {"anonymous": 0, "reader": 3, "writer": 2, "owner": 1}

MATRIX = {
    "GET /issues": (200, 200, 200, 200),
    "POST /issues": (401, 201, 201, 201),
    "GET /issues/{issue}": (200, 200, 200, 200),
    "PATCH /issues/{issue}": (401, 403, 201, 201),
    "DELETE /issues/{issue}": (401, 403, 403, 204),
    "PUT /issues/{issue}/lock": (401, 403, 204, 204),
    "DELETE /issues/{issue}/lock": (401, 403, 204, 204),
    "GET /issues/{issue}/timeline": (200, 200, 200, 200),
    "GET /issues/{issue}/timeline/ids": (200, 200, 200, 200),
    "GET /issues/{issue}/times": (200, 200, 200, 200),
    "POST /issues/{issue}/times": (401, 403, 200, 200),
    "GET /issues/comments": (200, 200, 200, 200),
    "GET /issues/comments/{comment}": (200, 200, 200, 200),
    "PATCH /issues/comments/{comment}": (401, 403, 403, 200),
    "DELETE /issues/comments/{comment}": (401, 403, 403, 204),
    **{
        f"{method} /{issues}/{{issue}}/{rest}": statuses
        for issues in ("issue", "issues")
        for method, rest, statuses in (
            ("GET", "comments", (200, 200, 200, 200)),
            ("POST", "comments", (401, 201, 201, 201)),
            ("PATCH", "comments/{comment}", (401, 403, 403, 200)),
            ("DELETE", "comments/{comment}", (401, 403, 403, 204)),
            ("GET", "labels", (200, 200, 200, 200)),
            ("POST", "labels", (401, 403, 200, 200)),
            ("PUT", "labels", (401, 403, 200, 200)),
            ("DELETE", "labels", (401, 403, 204, 204)),
            ("DELETE", "labels/{label}", (401, 403, 204, 204)),
        )
    },
    "GET /issues/{issue}/assets": (200, 200, 200, 200),
    "POST /issues/{issue}/assets": (401, 403, 422, 422),  # a file without a name
    "GET /issues/{issue}/assets/{attachment}": (200, 200, 200, 200),
    "PATCH /issues/{issue}/assets/{attachment}": (401, 403, 201, 201),
    "DELETE /issues/{issue}/assets/{attachment}": (401, 403, 204, 204),
    "GET /issues/comments/{comment}/assets": (200, 200, 200, 200),
    "POST /issues/comments/{comment}/assets": (401, 403, 403, 422),
    "GET /issues/comments/{comment}/assets/{attachment}": (200, 200, 200, 200),
    "PATCH /issues/comments/{comment}/assets/{attachment}": (401, 403, 403, 201),
    "DELETE /issues/comments/{comment}/assets/{attachment}": (401, 403, 403, 204),
    "GET /issues/{issue}/reactions": (200, 200, 200, 200),
    "GET /issues/reactions": (200, 200, 200, 200),
    "GET /issues/{issue}/reactions/counts": (200, 200, 200, 200),
    "POST /issues/{issue}/reactions": (401, 201, 201, 201),
    "DELETE /issues/{issue}/reactions": (401, 204, 204, 204),
    "GET /issues/comments/{comment}/reactions": (200, 200, 200, 200),
    "POST /issues/comments/{comment}/reactions": (401, 201, 201, 201),
    "DELETE /issues/comments/{comment}/reactions": (401, 204, 204, 204),
    "POST /issues/{issue}/stopwatch/start": (401, 403, 201, 201),
    "POST /issues/{issue}/stopwatch/stop": (401, 403, 409, 409),
    "DELETE /issues/{issue}/stopwatch/delete": (401, 403, 409, 409),
    "DELETE /issues/{issue}/times": (401, 204, 204, 204),
    "DELETE /issues/{issue}/times/{time}": (401, 403, 403, 204),
    "POST /issues/{issue}/deadline": (401, 403, 201, 201),
    "POST /issues/{issue}/assignees": (401, 403, 201, 201),
    "DELETE /issues/{issue}/assignees": (401, 403, 200, 200),
    "GET /issues/{issue}/assignees/{subscriber}": (204, 204, 204, 204),
    "GET /issues/pinned": (200, 200, 200, 200),
    "GET /pulls/pinned": (200, 200, 200, 200),
    "GET /new_pin_allowed": (200, 200, 200, 200),
    "POST /issues/{issue}/pin": (401, 403, 403, 204),
    "DELETE /issues/{issue}/pin": (401, 403, 403, 204),
    "PATCH /issues/{issue}/pin/{position}": (401, 403, 403, 422),
    "GET /issues/{issue}/dependencies": (200, 200, 200, 200),
    "POST /issues/{issue}/dependencies": (401, 403, 201, 201),
    "DELETE /issues/{issue}/dependencies": (401, 403, 200, 200),
    "GET /issues/{issue}/blocks": (200, 200, 200, 200),
    "POST /issues/{issue}/blocks": (401, 403, 201, 201),
    "DELETE /issues/{issue}/blocks": (401, 403, 200, 200),
    "GET /issues/{issue}/subscriptions": (200, 200, 200, 200),
    "GET /issues/{issue}/subscriptions/check": (401, 200, 200, 200),
    "PUT /issues/{issue}/subscriptions/{subscriber}": (401, 403, 201, 403),
    "DELETE /issues/{issue}/subscriptions/{subscriber}": (401, 403, 200, 403),
    "GET /notifications": (401, 200, 200, 200),
    "PUT /notifications": (401, 205, 205, 205),
    "GET /labels": (200, 200, 200, 200),
    "POST /labels": (401, 403, 201, 201),
    "GET /labels/{label}": (200, 200, 200, 200),
    "PATCH /labels/{label}": (401, 403, 200, 200),
    "DELETE /labels/{label}": (401, 403, 204, 204),
    "GET /milestones": (200, 200, 200, 200),
    "POST /milestones": (401, 403, 201, 201),
    "GET /milestones/{milestone}": (200, 200, 200, 200),
    "PATCH /milestones/{milestone}": (401, 403, 200, 200),
    "DELETE /milestones/{milestone}": (401, 403, 204, 204),
    "GET /pulls": (200, 200, 200, 200),
    "POST /pulls": (401, 403, 201, 201),
    "GET /pulls/{pull}": (200, 200, 200, 200),
    "GET /pulls/{base}/{head}": (404, 404, 404, 404),
    "GET /pulls/{pull}.diff": (200, 200, 200, 200),
    "GET /pulls/{pull}.patch": (200, 200, 200, 200),
    "PATCH /pulls/{pull}": (401, 403, 201, 201),
    "GET /pulls/{pull}/commits": (200, 200, 200, 200),
    "GET /pulls/{pull}/files": (200, 200, 200, 200),
    "GET /pulls/{pull}/comments": (200, 200, 200, 200),
    "GET /pulls/{pull}/merge": (404, 404, 404, 404),
    "GET /pulls/{pull}/merge/refusals": (200, 200, 200, 200),
    "GET /pulls/{pull}/merge/scheduled": (404, 404, 404, 404),  # none is scheduled
    "GET /commits/{pull}/pull": (404, 404, 404, 404),  # no pull request is merged as that
    "POST /pulls/{pull}/merge": (401, 403, 200, 200),
    "DELETE /pulls/{pull}/merge": (401, 403, 404, 404),  # none is scheduled
    "POST /pulls/{pull}/update": (401, 403, 200, 200),
    "POST /pulls/{pull}/comments/{line}/replies": (401, 201, 201, 201),
    "GET /pulls/comments/{line}": (200, 200, 200, 200),
    "PATCH /pulls/comments/{line}": (401, 403, 403, 200),
    "DELETE /pulls/comments/{line}": (401, 403, 403, 204),
    "POST /pulls/comments/{line}/resolve": (401, 403, 204, 204),
    "POST /pulls/comments/{line}/unresolve": (401, 403, 204, 204),
    "GET /pulls/{pull}/reviews": (200, 200, 200, 200),
    "POST /pulls/{pull}/reviews": (401, 200, 200, 200),
    "GET /pulls/{pull}/reviews/{review}": (200, 200, 200, 200),
    "POST /pulls/{pull}/reviews/{review}": (401, 404, 404, 404),
    "DELETE /pulls/{pull}/reviews/{review}": (401, 403, 403, 204),
    "GET /pulls/{pull}/reviews/{review}/comments": (200, 200, 200, 200),
    "POST /pulls/{pull}/reviews/{review}/dismissals": (401, 403, 403, 200),
    "POST /pulls/{pull}/reviews/{review}/undismissals": (401, 403, 403, 200),
    "POST /pulls/{pull}/requested_reviewers": (401, 403, 201, 201),
    "DELETE /pulls/{pull}/requested_reviewers": (401, 403, 204, 204),
    "GET /times": (200, 200, 200, 200),
    "GET /times/{tracker}": (200, 200, 200, 200),
}
"""Statuses for a password in a public repository: anonymous, a reader, a writer, the owner.

All objects are the owner's.
"""

OTHER_ROUTES = {
    "GET /user/times",
    "GET /user/stopwatches",
    "GET /notifications/new",
    "GET /notifications/threads/*",
    "PATCH /notifications/threads/*",
    "GET /repos/issues/search",
    "GET /orgs/*/labels",
    "POST /orgs/*/labels",
    "GET /orgs/*/labels/*",
    "PATCH /orgs/*/labels/*",
    "DELETE /orgs/*/labels/*",
    "POST /markdown",
    "POST /markdown/raw",
    "POST /markup",
}
"""Routes that are of no repository."""

BODIES: dict[str, Any] = {
    "POST /issues": {"title": "x"},
    "PATCH /issues/{issue}": {"title": "y"},
    "POST /issues/{issue}/times": {"time": 1},
    "POST /milestones": {"title": "x"},
    "PATCH /pulls/{pull}": {"title": "y"},
    "POST /pulls/{pull}/reviews": {"body": "y", "event": "COMMENT"},
    "POST /pulls/{pull}/requested_reviewers": {"reviewers": ["ann"]},
    "DELETE /pulls/{pull}/requested_reviewers": {"reviewers": ["ann"]},
}


def shape(path: str) -> str:
    """A path with its parameters blanked; the endings of a pull request are one route with it."""
    path = path.removesuffix(".diff").removesuffix(".patch")
    return "/".join("*" if part.startswith("{") else part for part in path.split("/"))


def public_routes(world: World) -> dict[str, Policy]:
    """``METHOD path`` below the repository -> policy, of everything that is routed from outside."""
    policies = {}
    for route in world.app.routes:
        if not isinstance(route, HTTPRoute) or not route.path.startswith("/api/v1/"):
            continue
        below = route.path.removeprefix("/api/v1").removeprefix("/repos/{owner:str}/{repo:str}")
        for handler in route.route_handlers:
            for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                policies[f"{method} {shape(below)}"] = handler.opt["policy"]
    return policies


class Things:
    """Return the values of the placeholders, created again for every call of ``filled``."""

    def __init__(self, world: World) -> None:
        self._world, self._numbers = world, itertools.count(1)
        self.other = 0

    async def filled(self, path: str) -> str:
        things: dict[str, Any] = {"tracker": "bob", "base": "main", "head": "fix", "position": 1}
        things["subscriber"] = "bob"
        if "{pull}" in path:
            self._world.repos.branches[APP, "fix"] = HEAD
            things["pull"] = (await self._world.propose(base=f"b{next(self._numbers)}"))["number"]
        if "{review}" in path:
            approval = {"event": "APPROVED"}
            answer = await self._world.call("POST", f"/pulls/{things['pull']}/reviews", approval)
            things["review"] = answer.json()["id"]
        if "{line}" in path:
            pull = things.get("pull") or (await self._world.propose(base=f"b{next(self._numbers)}"))["number"]
            things["line"] = await self._world.comment_on_line(pull)
        if "{issue}" in path or "{comment}" in path:
            things["issue"] = (await self._create("/issues", {"title": "x"}))["number"]
        if "{comment}" in path:
            things["comment"] = (await self._create(f"/issues/{things['issue']}/comments", {"body": "x"}))[
                "id"
            ]
        if "{attachment}" in path:
            of = f"comments/{things['comment']}" if "{comment}" in path else things["issue"]
            things["attachment"] = (await self._create(f"/issues/{of}/assets?name=a", {}))["id"]
        if "{label}" in path:
            things["label"] = (await self._create("/labels", self.body("POST /labels")))["id"]
        if "dependencies" in path or "blocks" in path:
            self.other = (await self._create("/issues", {"title": "x"}))["number"]
        if "{time}" in path:
            answer = await self._world.call("POST", f"/issues/{things['issue']}/times", {"time": 1})
            things["time"] = answer.json()["id"]
        if "{milestone}" in path:
            things["milestone"] = (await self._create("/milestones", {"title": "x"}))["id"]
        return path.format(**things)

    async def _create(self, path: str, body: Any) -> dict[str, Any]:
        answer = await self._world.call("POST", path, body)
        assert answer.status_code == 201, answer.text
        return answer.json()  # type: ignore[no-any-return]

    def body(self, route: str) -> Any:
        if route == "POST /pulls":
            return {"title": "x", "head": "fix", "base": f"b{next(self._numbers)}"}
        if route == "POST /labels":
            return {"name": f"l{next(self._numbers)}", "color": "#ffffff"}
        if "reactions" in route:
            return {"content": "heart"}
        if "dependencies" in route or "blocks" in route:
            return {"index": self.other}
        if "comments" in route or "replies" in route:
            return {"body": "y"}
        return BODIES.get(route, {})


def expected(kind: str, role: str, method: str, by_password: int, *, repository_is: str) -> int:
    """Return the status where a password gets ``by_password`` in a public repository."""
    if role != "anonymous" and (kind == "other scope" or (kind == "reading" and method != "GET")):
        return 403
    if repository_is == "private" and role in ("anonymous", "reader"):
        return 404
    if repository_is == "archived" and method != "GET" and by_password != 205:
        return 401 if role == "anonymous" else 403
    return by_password


async def test_every_route_is_in_the_matrix(world):
    listed = {f"{method} {shape(path)}" for method, path in (key.split(" ") for key in MATRIX)}
    assert set(public_routes(world)) == listed | OTHER_ROUTES


@pytest.mark.parametrize("repository_is", ["public", "private", "archived"])
async def test_a_route_answers_each_role_as_the_matrix_says(world, repository_is):
    policies, things = public_routes(world), Things(world)
    answers, expectations = {}, {}
    last_route = target = ""
    for (route, statuses), (number, role), kind in itertools.product(
        MATRIX.items(), enumerate(ROLES), ("basic", "token", "reading", "other scope")
    ):
        if kind != "basic" and role != "writer":
            continue
        method, path = route.split(" ")
        scope = policies[f"{method} {shape(path)}"].scope
        scopes = {
            "token": ["all"],
            "reading": [scope.replace("write:", "read:")],
            "other scope": ["write:misc"],
        }
        world.repos.repositories[7] = repository()
        if route != last_route or not target:
            last_route, target = route, await things.filled(path)
        world.repos.repositories[7] = repository(
            private=repository_is == "private", archived=repository_is == "archived"
        )
        answer = await world.call(
            method,
            target,
            things.body(route) if method != "GET" else None,
            as_=ROLES[role],
            scopes=scopes.get(kind),
        )
        if method != "GET" and answer.is_success:
            target = ""  # it has changed
        answers[route, role, kind] = answer.status_code
        expectations[route, role, kind] = expected(
            kind, role, method, statuses[number], repository_is=repository_is
        )
    assert {key: answers[key] for key in answers if answers[key] != expectations[key]} == {}


@pytest.mark.parametrize("unit", ["issues", "pulls"])
async def test_routes_of_a_unit_that_is_switched_off_are_not_found(world, unit):
    things = Things(world)
    statuses = {}
    for route in MATRIX:
        method, path = route.split(" ")
        under = (
            path.split("/")[1]
            .replace("issue", "issues")
            .replace("issuess", "issues")
            .replace("times", "issues")
        )
        if under != unit:
            continue
        world.repos.repositories[7] = repository()
        target = await things.filled(path)
        switch = {"issues": "has_issues", "pulls": "has_pull_requests"}[unit]
        world.repos.repositories[7] = repository(**{switch: False})
        body = things.body(route) if method != "GET" else None
        statuses[route] = (await world.call(method, target, body)).status_code
    assert set(statuses.values()) == {404}, statuses


@pytest.mark.parametrize(("who", "status"), [(0, 401), (3, 200)])
async def test_own_times_need_a_signed_in_caller(world, who, status):
    assert (await world.call("GET", "//user/times", as_=who)).status_code == status
    assert (await world.call("POST", "//markdown", {"text": "x"}, as_=who)).status_code == 200
