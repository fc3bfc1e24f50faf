"""Who may call what: every public route, by role, by kind of credential and by what the repository is."""

import itertools
from typing import Any

import pytest
from litestar.routes import HTTPRoute

from ingot_chassis.policy import Policy

from .builders import repository
from .conftest import World
from .test_pulls import propose

ROLES = {"anonymous": 0, "reader": 3, "writer": 2, "owner": 1}

MATRIX = {
    "GET /issues": (200, 200, 200, 200),
    "POST /issues": (401, 201, 201, 201),
    "GET /issues/{issue}": (200, 200, 200, 200),
    "PATCH /issues/{issue}": (401, 403, 201, 201),
    "PUT /issues/{issue}/lock": (401, 403, 204, 204),
    "DELETE /issues/{issue}/lock": (401, 403, 204, 204),
    "GET /issues/{issue}/timeline": (200, 200, 200, 200),
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
    "GET /pulls/{pull}.diff": (200, 200, 200, 200),
    "GET /pulls/{pull}.patch": (200, 200, 200, 200),
    "PATCH /pulls/{pull}": (401, 403, 201, 201),
    "GET /pulls/{pull}/commits": (200, 200, 200, 200),
    "GET /pulls/{pull}/files": (200, 200, 200, 200),
    "GET /pulls/{pull}/merge": (404, 404, 404, 404),
    "POST /pulls/{pull}/merge": (401, 403, 200, 200),
    "GET /times": (200, 200, 200, 200),
    "GET /times/{tracker}": (200, 200, 200, 200),
}
"""What a password gets in a public repository: anonymous, a reader, a writer, the owner. All things are the owner's."""

ELSEWHERE = {"GET /user/times", "POST /markdown", "POST /markdown/raw"}
"""Routes that are of no repository."""

BODIES: dict[str, Any] = {
    "POST /issues": {"title": "x"},
    "PATCH /issues/{issue}": {"title": "y"},
    "POST /issues/{issue}/times": {"time": 1},
    "POST /labels": {"name": "x", "color": "#ffffff"},
    "POST /milestones": {"title": "x"},
    "PATCH /pulls/{pull}": {"title": "y"},
}


def shape(path: str) -> str:
    """A path with its parameters blanked; the endings of a pull request are one route with it."""
    path = path.removesuffix(".diff").removesuffix(".patch")
    return "/".join("*" if part.startswith("{") else part for part in path.split("/"))


def public_routes(world: World) -> dict[str, Policy]:
    """``METHOD path`` below the repository -> policy, of everything that is routed from outside."""
    found = {}
    for route in world.app.routes:
        if not isinstance(route, HTTPRoute) or not route.path.startswith("/api/v1/"):
            continue
        below = route.path.removeprefix("/api/v1").removeprefix("/repos/{owner:str}/{repo:str}")
        for handler in route.route_handlers:
            for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                found[f"{method} {shape(below)}"] = handler.opt["policy"]
    return found


class Things:
    """What the placeholders stand for, made anew for every attempt."""

    def __init__(self, world: World) -> None:
        self._world, self._numbers = world, itertools.count(1)

    async def filled(self, path: str) -> str:
        made: dict[str, Any] = {"tracker": "bob"}
        if "{pull}" in path:
            made["pull"] = (await propose(self._world, base=f"b{next(self._numbers)}"))["number"]
        if "{issue}" in path or "{comment}" in path:
            made["issue"] = (await self._made("/issues", {"title": "x"}))["number"]
        if "{comment}" in path:
            made["comment"] = (await self._made(f"/issues/{made['issue']}/comments", {"body": "x"}))["id"]
        if "{label}" in path:
            made["label"] = (await self._made("/labels", {"name": "x", "color": "#ffffff"}))["id"]
        if "{milestone}" in path:
            made["milestone"] = (await self._made("/milestones", {"title": "x"}))["id"]
        return path.format(**made)

    async def _made(self, path: str, body: Any) -> dict[str, Any]:
        answer = await self._world.call("POST", path, body)
        assert answer.status_code == 201, answer.text
        return answer.json()  # type: ignore[no-any-return]

    def body(self, route: str) -> Any:
        if route == "POST /pulls":
            return {"title": "x", "head": "fix", "base": f"b{next(self._numbers)}"}
        if "comments" in route:
            return {"body": "y"}
        return BODIES.get(route, {})


def expected(kind: str, role: str, method: str, by_password: int, *, repository_is: str) -> int:
    """What is answered where a password gets ``by_password`` in a public repository."""
    if role != "anonymous" and (kind == "elsewhere" or (kind == "reading" and method != "GET")):
        return 403
    if repository_is == "private" and role in ("anonymous", "reader"):
        return 404
    if repository_is == "archived" and method != "GET":
        return 401 if role == "anonymous" else 403
    return by_password


async def test_every_route_is_in_the_matrix(world: World) -> None:
    listed = {f"{method} {shape(path)}" for method, path in (key.split(" ") for key in MATRIX)}
    assert set(public_routes(world)) == listed | ELSEWHERE


@pytest.mark.parametrize("repository_is", ["public", "private", "archived"])
async def test_a_route_answers_each_role_as_the_matrix_says(world: World, repository_is: str) -> None:
    policies, things = public_routes(world), Things(world)
    answers, wanted = {}, {}
    for (route, statuses), (number, role), kind in itertools.product(
        MATRIX.items(), enumerate(ROLES), ("basic", "token", "reading", "elsewhere")
    ):
        if kind != "basic" and role != "writer":
            continue
        method, path = route.split(" ")
        scope = policies[f"{method} {shape(path)}"].scope
        scopes = {
            "token": ["all"],
            "reading": [scope.replace("write:", "read:")],
            "elsewhere": ["write:misc"],
        }
        world.repos.repositories[7] = repository()
        target = await things.filled(path)
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
        answers[route, role, kind] = answer.status_code
        wanted[route, role, kind] = expected(
            kind, role, method, statuses[number], repository_is=repository_is
        )
    assert {key: answers[key] for key in answers if answers[key] != wanted[key]} == {}


@pytest.mark.parametrize("unit", ["issues", "pulls"])
async def test_a_unit_that_is_switched_off_is_nowhere(world: World, unit: str) -> None:
    things = Things(world)
    found = {}
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
        world.repos.issues_enabled = world.repos.pulls_enabled = True
        target = await things.filled(path)
        setattr(world.repos, f"{unit}_enabled", False)
        body = things.body(route) if method != "GET" else None
        found[route] = (await world.call(method, target, body)).status_code
    assert set(found.values()) == {404}, found


@pytest.mark.parametrize(("who", "status"), [(0, 401), (3, 200)])
async def test_own_times_are_for_who_is_signed_in(world: World, who: int, status: int) -> None:
    assert (await world.call("GET", "//user/times", as_=who)).status_code == status
    assert (await world.call("POST", "//markdown", {"text": "x"}, as_=who)).status_code == 200
