"""Every public route, tried by every caller at every kind of target, through the gateway of a running Ingot.

There are some 44,000 combinations. The gate tries every pair of a route and a caller. It also tries every
route and every caller with each kind of target. It tries ``rare`` callers at a fifth of the routes.
``make soak`` tries all.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import httpx

from .apps import public_policies
from .routes import ROUTES, Route, full_name
from .rules import CALLERS, ORGANIZATIONS, REPOSITORIES, Caller, Target, expected
from .world import ABSENT, ABSENT_ID, UNREADABLE, World, body_of

WHOLE = os.environ.get("INGOT_SAFETY") == "whole"
RARE = 5
"""It has no divisor in common with the number of kinds of target, so each of them has its turn."""
AT_ONCE = 6
VARIES = {"date", "x-request-id", "traceparent"}
"""Headers that are never the same twice."""
NOT_OPENED = {
    "DELETE /api/v1/repos/{owner}/{repo}",
    "DELETE /api/v1/orgs/{org}",
    "DELETE /api/v1/orgs/{org}/repos",
    "DELETE /api/v1/teams/{team_id}",
    "DELETE /api/v1/teams/{team_id}/repos/{org}/{repo}",
    "DELETE /api/v1/token",
    "DELETE /api/v1/repos/{owner}/{repo}/collaborators/{collaborator}",
}
"""They end what others are tried with. Those who may are tried by the services' tests."""
PERSONAL = ("own", "recipient", "star")
"""Policies of routes at a target whose answer is about the caller: for others there may be nothing."""
READS = ("read", "write", "admin", "organization", "organization member", "organization owner")
REFUSALS = {"open": (401, 403), "as the owner": (401,), "either": (401,), "page": ()}
"""Other statuses are no refusal of a caller who may call the route."""
AS_FOR_THE_OWNER = {"open": (404,), "as the owner": (403, 404)}
"""Other statuses that are allowed, to the owner of the target as well."""
NOTHING_THERE = {
    "nobody made one": """
        GET ~/actions/variables/{name}, GET ~/export, DELETE ~/export, GET ~/export/archive,
        GET ~/migration, POST ~/migration, DELETE ~/migration,
        GET ~/push_mirrors/{name}, GET ~/hooks/{hook_id}/deliveries/{delivery_id}, GET ~/commits/{sha}/pull,
        GET ~/editorconfig/{filepath}, GET ~/git/notes/{sha}, GET ~/pulls/{index}/merge,
        GET ~/pulls/{index}/merge/scheduled, POST ~/reparent/accept, POST ~/reparent/reject,
        GET ~/transfer, POST ~/transfer/accept, POST ~/transfer/reject,
        GET /orgs/{org}/actions/variables/{name}, GET /orgs/{org}/blocks/{username},
        GET /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}, GET ~/signing-key.gpg,
        GET ~/signing-key.pub, GET /signing-key.gpg, GET /signing-key.pub,
        DELETE /orgs/{org}/teams/{team_id}/invitations/{invitation_id}, DELETE ~/invitations/{invitation_id},
        GET /teams/{team_id}/members/{username}, GET /users/{username}/following/{followee},
        GET /admin/hooks/{hook_id}, GET /admin/hooks/{hook_id}/deliveries, GET /admin/users/{username}/purge,
        POST /admin/unadopted/{owner}/{repo}, DELETE /admin/unadopted/{owner}/{repo},
        GET /admin/hooks/{hook_id}/deliveries/{delivery_id}, GET /admin/mails/{mail_id},
        GET /admin/imports/{import_id}, GET /admin/imports/{import_id}/repositories,
        DELETE /admin/imports/{import_id}, GET /admin/imports/{import_id}/teams,
        GET /admin/imports/{import_id}/absent_members, POST /admin/imports/{import_id}/again,
        POST /admin/imports/{import_id}/people,
        POST /admin/mails/{mail_id}/attempts, GET //mail/unsubscribe/{token},
        DELETE /admin/registrations/{registration_id}, POST /admin/registrations/{registration_id}/approval,
        POST //mail/unsubscribe/{token}, POST //mail/replies,
        GET //avatars/repositories/{repository_id}/{digest},
        GET /repos/migrate/{repository_id}, DELETE /repos/migrate/{repository_id},
        POST /repos/migrate/{repository_id}/again, GET /repos/migrate/{repository_id}/conflicts,
        POST /repos/migrate/{repository_id}/people,
        GET //{owner}/{repo}/clone.bundle, GET //{owner}/{repo}/info/lfs/objects/{oid}
    """,
    "the caller has none": """
        GET ~/subscription, GET /notifications/threads/{thread_id}, GET /user/actions/variables/{name},
        GET /user/applications/oauth2/{application_id}, GET /user/blocks/{username},
        GET /user/following/{username}, POST /user/gpg_key_verify, GET /user/sessions/{session_id}/provider,
        GET /user/gpg_keys/{key_id}, GET /user/keys/{key_id}, GET /user/hooks/{hook_id},
        GET /user/hooks/{hook_id}/deliveries, GET /user/hooks/{hook_id}/deliveries/{delivery_id},
        GET /user/starred/{owner}/{repo}, DELETE /user/two_factor, POST /user/two_factor/recovery_codes
    """,
    "the member is concealed": (
        "GET /orgs/{org}/members/{username}, GET /orgs/{org}/public_members/{username}"
    ),
    "the name is one of something else": """
        GET ~/git/blobs/{sha}, GET ~/git/tags/{sha}, GET ~/commits/{ref}/status/{rest},
        GET ~/commits/{ref}/statuses/{rest}, GET /gitignore/templates/{name}, GET /label/templates/{name},
        GET /licenses/{name}, GET /swagger/{name}
    """,
}
"""Routes that answer 404 to who may call them, and why; as ``routes.txt`` writes them."""
MAY_BE_ABSENT = {full_name(name.strip()) for names in NOTHING_THERE.values() for name in names.split(",")}
THERE = {
    full_name("GET ~/archive/{filepath}"): {"filepath": "main.zip"},
    full_name("GET //{owner}/{repo}/archive/{filepath}"): {"filepath": "main.zip"},
    full_name("GET ~/git/refs/{ref}"): {"ref": "heads/main"},
}
"""Other objects in paths, which must exist."""
OWNER_CALLER = next(caller for caller in CALLERS if caller.name == "owner")


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
        """Send a request that cannot change anything: its body is unreadable, and names below the target are
        missing.

        A path with such a name has the response 404, for allowed callers as for the owner of the target.
        """
        route, caller, target = cell
        if route.name in NOT_OPENED:
            return
        reads = route.method == "GET"
        absent = {} if reads else absent_things(route)
        path = self._world.fill(route, target, **absent, **THERE.get(route.name, {}))
        body = None if reads else UNREADABLE
        answer = await self._send(route, caller, path, body)
        if answer.status_code in REFUSALS[outcome] or answer.status_code >= 500:
            self.wrong.append(f"{cell.name}: {answer.status_code} and not open: {answer.text[:200]}")
        if outcome == "open" and answer.status_code == 404 and not absent and route.name not in MAY_BE_ABSENT:
            self.wrong.append(f"{cell.name}: 404, but {path} is there: {answer.text[:200]}")
        if answer.status_code in AS_FOR_THE_OWNER.get(outcome, ()) and is_about_target(route):
            of_owner = await self._send(route, OWNER_CALLER, path, body)
            if of_owner.status_code != answer.status_code:
                self.wrong.append(
                    f"{cell.name}: {answer.status_code}, but for the owner {of_owner.status_code}: "
                    f"{answer.text[:200]}"
                )

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


def is_about_target(route: Route) -> bool:
    """Return True if a target gives equal results to every caller who may call the route."""
    if route.policy in PERSONAL or route.path.endswith(("/subscription", "/orgs/{org}/members/{username}")):
        return False
    return bool(route.place)


def absent_target(route: Route) -> dict[str, Any]:
    """Return values that make the path of the target one of a missing object."""
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
    """Return names of missing objects below the target, except for names of the caller."""
    target_names = {"owner", "repo", "org", "team_id", "repository_id", "user"}
    if route.policy in ("own membership", "own tokens"):
        target_names.add("username")
    return {
        name: ABSENT_ID if name.endswith("_id") or name in ("index", "position") else ABSENT
        for name in route.placeholders
        if name not in target_names
    }


def comparable(answer: httpx.Response, path: str) -> tuple[int, str, list[tuple[str, str]]]:
    """Return the parts of a response that may not depend on the path."""
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
    """Return the stable part of a page: some are downloads, and deliveries continue by themselves."""
    if path.endswith("/deliveries"):
        return " ".join(re.findall(r'"id":"[^"]+"', text))
    return re.sub(r'"download_count":\d+', "", text)


async def pages(world: World, client: httpx.AsyncClient, targets: tuple[Target, ...] = ()) -> dict[str, str]:
    """All that the owner reads at the targets; without any, at each kind of repository a share of it."""
    texts: dict[str, str] = {}

    async def read(route: Route, target: Target) -> None:
        path = world.fill(route, target)
        text = (await client.get(path, headers=world.headers(OWNER_CALLER))).text
        texts[path] = lasting(path, text)

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


def test_every_route_has_a_policy(tmp_path):
    scopes = {name: policy.scope for name, policy in public_policies(tmp_path).items()}
    table = {route.name: route.scope for route in ROUTES}
    assert table == scopes, (
        "`python -m tests.safety.write_routes` adds new routes, and removes those that are gone"
    )
    assert {*MAY_BE_ABSENT, *THERE, *NOT_OPENED} <= scopes.keys()


async def test_every_route_opens_for_those_who_may_and_for_nobody_else(world):
    outcomes = [(cell, expected(*cell)) for cell in cells()]
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        attempts = Attempts(world, client)
        before = await pages(world, client)
        shut = [(cell, outcome) for cell, outcome in outcomes if outcome not in REFUSALS]
        await in_turn([partial(attempts.denied, *each) for each in shut])
        after = await pages(world, client)
        attempts.wrong += [
            f"changed by what was refused: {path}: {before[path]} -> {after[path]}"
            for path in before
            if before[path] != after[path]
        ]
        opened = [(cell, outcome) for cell, outcome in outcomes if outcome in REFUSALS]
        await in_turn([partial(attempts.opened, *each) for each in opened])
    print(f"{len(outcomes)} cells, {attempts.count} requests")
    assert not attempts.wrong, "\n".join(attempts.wrong)
