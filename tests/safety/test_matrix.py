"""Every public route, tried by every caller at every kind of target, through the gateway of a running Ingot.

All of it are some 44,000 cells. The gate tries every pair of a route and a caller, of a route and a kind of target, and
of a caller and a kind of target (callers who are ``rare``: at a fifth of the routes); ``make soak`` tries all.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import httpx

from .apps import app_of, policies_of
from .routes import ROUTES, Route
from .rules import CALLERS, ORGANIZATIONS, REPOSITORIES, Caller, Target, expected
from .world import ABSENT, ABSENT_ID, UNREADABLE, World, body_of

WHOLE = os.environ.get("INGOT_SAFETY") == "whole"
RARE = 5
"""It has no divisor in common with the number of kinds of target, so that each of them has its turn."""
AT_ONCE = 6
OWN_PATHS = ("/internal", "/livez", "/readyz", "/metrics")
VARIES = {"date", "x-request-id", "traceparent"}
"""Headers that are never the same twice."""
NOT_OPENED = {
    "DELETE /api/v1/repos/{owner}/{repo}",
    "DELETE /api/v1/orgs/{org}",
    "DELETE /api/v1/teams/{team_id}",
    "DELETE /api/v1/teams/{team_id}/repos/{org}/{repo}",
    "DELETE /api/v1/token",
    "DELETE /api/v1/repos/{owner}/{repo}/collaborators/{collaborator}",
}
"""They end what others are tried with. Those who may are tried by the services' tests."""
READS = ("read", "write", "admin", "organization", "organization member", "organization owner")
SERVICES = ("identity", "repos", "issues", "hooks", "gateway")


class Cell(NamedTuple):
    route: Route
    caller: Caller
    target: Target | None

    @property
    def name(self) -> str:
        return f"{self.route.name} | {self.caller.name} | {self.target.name if self.target else '-'}"


def targets_of(route: Route) -> tuple[Target | None, ...]:
    """The kinds of target of a route; one of nothing has none."""
    if route.policy == "team repository":
        return tuple(target for target in ORGANIZATIONS if target.owner == "vault")
    return {"repository": REPOSITORIES, "organization": ORGANIZATIONS, "team": ORGANIZATIONS}.get(
        route.place, (None,)
    )


def cells() -> Iterator[Cell]:
    """Pairwise: the kind of target moves on with the route and with the caller."""
    for row, route in enumerate(ROUTES):
        targets = targets_of(route)
        for column, caller in enumerate(CALLERS):
            if caller.rare and (row + column) % RARE and not WHOLE:
                continue
            for target in targets if WHOLE else (targets[(row + column) % len(targets)],):
                yield Cell(route, caller, target)


class Attempts:
    """Sends cells, and says what is wrong with the answers."""

    def __init__(self, world: World, client: httpx.AsyncClient) -> None:
        self._world, self._client = world, client
        self.wrong: list[str] = []
        self.count = 0

    async def denied(self, cell: Cell, outcome: str) -> None:
        """With everything that exists and a body that is right: nothing may happen."""
        route, caller, target = cell
        path = self._world.fill(route, target)
        answer = await self._send(route, caller, path, body_of(route))
        if outcome == "absent":
            absent_path = self._world.fill(route, target, **absent_target(route))
            there, absent = (
                comparable(answer, path),
                comparable(await self._send(route, caller, absent_path, body_of(route)), absent_path),
            )
            if there != absent or answer.status_code not in (401, 403, 404):
                self.wrong.append(f"{cell.name}: {there}, where nothing is: {absent}")
            return
        statuses = {"sign in": (401,), "refused": (403,), "shut": (401, 403, 404)}[outcome]
        if answer.status_code not in statuses:
            self.wrong.append(f"{cell.name}: {answer.status_code} and not {statuses}: {answer.text[:200]}")

    async def opened(self, cell: Cell, outcome: str) -> None:
        """With nothing that could change: without a readable body, and with names of nothing below the target."""
        route, caller, target = cell
        if route.name in NOT_OPENED:
            return
        reads = route.method == "GET"
        path = self._world.fill(route, target, **({} if reads else absent_things(route)))
        answer = await self._send(route, caller, path, None if reads else UNREADABLE)
        refused = answer.status_code in (401, 403) and outcome == "open"
        if refused or answer.status_code >= 500:
            self.wrong.append(f"{cell.name}: {answer.status_code} and not open: {answer.text[:200]}")

    async def _send(self, route: Route, caller: Caller, path: str, body: Any) -> httpx.Response:
        self.count += 1
        headers = self._world.headers(caller)
        if route.path.endswith("-pack"):
            headers = headers | {"content-type": f"application/x-{path.rsplit('/', 1)[1]}-request"}
            return await self._client.post(path, headers=headers, content=b"0000")
        if isinstance(body, bytes):
            headers = headers | {"content-type": "application/json"}
            return await self._client.request(route.method, path, headers=headers, content=body)
        return await self._client.request(route.method, path, headers=headers, json=body)


def absent_target(route: Route) -> dict[str, Any]:
    """What makes the path of the target one of nothing."""
    if route.policy == "team repository":
        return {"repo": ABSENT}
    if route.policy == "own tokens":
        return {"username": ABSENT}
    return {
        "repository": {"repo": ABSENT, "repository_id": ABSENT_ID},
        "organization": {"org": ABSENT},
        "team": {"team_id": ABSENT_ID},
    }[route.place]


def absent_things(route: Route) -> dict[str, Any]:
    """Names of nothing for what is below the target, but for names of the caller."""
    target_names = {"owner", "repo", "org", "team_id", "repository_id", "user"}
    if route.policy in ("own membership", "own tokens"):
        target_names.add("username")
    return {
        name: ABSENT_ID if name.endswith("_id") or name in ("index", "position") else ABSENT
        for name in route.placeholders
        if name not in target_names
    }


def comparable(answer: httpx.Response, path: str) -> tuple[int, str, list[tuple[str, str]]]:
    """All of an answer that must be the same for another path."""
    headers = [(name, value) for name, value in answer.headers.multi_items() if name not in VARIES]
    return answer.status_code, answer.text.replace(path, ""), sorted(headers)


async def in_turn(work: list[Callable[[], Awaitable[None]]]) -> None:
    """All of it, some at once."""
    waiting = iter(work)

    async def worker() -> None:
        for one in waiting:
            await one()

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


def lasting(path: str, text: str) -> str:
    """What stays of a page: there are downloads among these, and deliveries go on by themselves."""
    if path.endswith("/deliveries"):
        return " ".join(re.findall(r'"id":"[^"]+"', text))
    return re.sub(r'"download_count":\d+', "", text)


async def pages(world: World, client: httpx.AsyncClient, targets: tuple[Target, ...] = ()) -> dict[str, str]:
    """All that the owner reads at the targets; without any, at each kind of repository a share of it."""
    owner = next(caller for caller in CALLERS if caller.name == "owner")
    texts: dict[str, str] = {}

    async def read(route: Route, target: Target) -> None:
        path = world.fill(route, target)
        texts[path] = lasting(path, (await client.get(path, headers=world.headers(owner))).text)

    everything = REPOSITORIES if WHOLE else ()
    reads = [route for route in ROUTES if route.method == "GET" and route.policy in READS]
    chosen = [
        (route, target)
        for number, route in enumerate(reads)
        for target in targets or everything or REPOSITORIES[number % 6 :][:1]
        if route.place == ("repository" if target.repo else "organization")
    ]
    await in_turn([partial(read, *each) for each in chosen])
    return texts


def public_routes(folder):
    """Everything that is routed from outside, but pages."""
    return {
        name: policy
        for service in SERVICES
        for name, policy in policies_of(
            app_of(service, folder), lambda path: not path.startswith(OWN_PATHS)
        ).items()
    }


def test_every_route_has_a_policy(tmp_path):
    routes = public_routes(tmp_path)
    scopes = {name: policy.scope for name, policy in routes.items()}
    assert {route.name: route.scope for route in ROUTES} == scopes


async def test_every_route_opens_for_those_who_may_and_for_nobody_else(world):
    outcomes = [(cell, expected(*cell)) for cell in cells()]
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        attempts = Attempts(world, client)
        before = await pages(world, client)
        shut = [(cell, outcome) for cell, outcome in outcomes if outcome not in ("open", "either")]
        await in_turn([partial(attempts.denied, *each) for each in shut])
        after = await pages(world, client)
        attempts.wrong += [
            f"changed by what was refused: {path}: {before[path]} -> {after[path]}"
            for path in before
            if before[path] != after[path]
        ]
        opened = [(cell, outcome) for cell, outcome in outcomes if outcome in ("open", "either")]
        await in_turn([partial(attempts.opened, *each) for each in opened])
    print(f"{len(outcomes)} cells, {attempts.count} requests")
    assert not attempts.wrong, "\n".join(attempts.wrong)
