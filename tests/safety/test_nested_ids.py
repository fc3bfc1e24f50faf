"""Ids of another user's objects below one's own path: the response is that for missing ids, and nothing
changes.

Sam owns a repository and an organization. Below them, and below ``/user``, he names Ann's private objects.
The same is tested with his team and her repository, and with his repository and her team.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import httpx

from .routes import ROUTES, Route
from .rules import CALLERS, ORGANIZATIONS, REPOSITORIES, Target
from .test_matrix import NOT_OPENED, comparable, in_turn, pages
from .world import ABSENT, ABSENT_ID, MINE, MY_ORGANIZATION, OURS, World, body_of

CLOSED, VAULT = REPOSITORIES[1], ORGANIZATIONS[2]
NOWHERE = {
    "lock_id": "999999", "oid": "9" * 64, "sha": "9" * 40,
    **dict.fromkeys(
        ("delivery_id", "mail_id", "file_uuid", "asset_uuid"), "99999999-0000-7000-8000-000000000000"
    ),
}  # fmt: skip
"""Ids of nothing that are no numbers."""
TARGET_IDS = ("repository_id", "team_id")
"""They are the place itself: the matrix has them."""
PUBLIC = {"DELETE /api/v1/user/keys/{key_id}"}
"""Routes that every caller may list, so a response may say that an item belongs to another account."""
NO_INVITATIONS = {
    "DELETE /api/v1/orgs/{org}/teams/{team_id}/invitations/{invitation_id}",
    "DELETE /api/v1/repos/{owner}/{repo}/invitations/{invitation_id}",
}
"""Routes for things that this world lacks, because it sends no mail.

Tests of identity name those of others.
"""
NOT_TRIED = NOT_OPENED | PUBLIC | NO_INVITATIONS
SECRET = b"what only Ann has"
HER_TEAM = "inner-circle"
"""A team of Ann's private organization; in Sam's there is none of that name."""
LFS = {"content-type": "application/octet-stream"}


class Attempt(NamedTuple):
    """``path`` names a thing of Ann, ``absent_path`` in its place nothing."""

    route: Route
    path: str
    absent_path: str


async def more_ids(client: httpx.AsyncClient, world: World) -> dict[tuple[Target, str], str]:
    """Of what only this test needs: a commit, an object of LFS, a lock, and deliveries, all of Ann's."""
    ann = world.headers(next(caller for caller in CALLERS if caller.name == "owner"))

    async def do(method: str, path: str, **options: Any) -> Any:
        answer = await client.request(method, path, headers=ann | options.pop("headers", {}), **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    closed = f"{CLOSED.owner}/{CLOSED.repo}"
    oid = hashlib.sha256(SECRET).hexdigest()
    await do("PUT", f"{closed}.git/info/lfs/objects/{oid}/{len(SECRET)}", content=SECRET, headers=LFS)
    lock = await do("POST", f"{closed}.git/info/lfs/locks", json={"path": "a.bin"})
    ids = {
        (CLOSED, "oid"): oid,
        (CLOSED, "lock_id"): lock["lock"]["id"],
        (CLOSED, "sha"): (await do("GET", f"api/v1/repos/{closed}/branches/main"))["commit"]["id"],
    }
    for target, place in ((CLOSED, f"repos/{closed}"), (VAULT, f"orgs/{VAULT.owner}")):
        hook = f"api/v1/{place}/hooks/{world.things[target]['hook_id']}"
        await do("POST", f"{hook}/tests")
        ids[target, "delivery_id"] = (await do("GET", f"{hook}/deliveries"))[0]["id"]
    await do("POST", f"api/v1/orgs/{VAULT.owner}/teams", json={"name": HER_TEAM, "permission": "write"})
    return ids


def attempts(world: World, ids: Mapping[tuple[Target, str], str]) -> Iterator[Attempt]:
    """Every id of every route, one by one, below what is Sam's; also both ids of a route at once."""
    for route in ROUTES:
        ids_of = [name for name in route.placeholders if _is_id(name)]
        if route.place == "team" or route.policy == "site" or route.name in NOT_TRIED or not ids_of:
            continue
        mine, hers = {"organization": (MY_ORGANIZATION, VAULT)}.get(route.place, (MINE, CLOSED))
        things = {name: ids.get((hers, name)) or world.thing(route, hers, name) for name in ids_of}
        for chosen in [[name] for name in ids_of] + ([ids_of] if len(ids_of) > 1 else []):
            path = world.fill(route, mine, **{name: things[name] for name in chosen})
            absent = world.fill(route, mine, **{name: NOWHERE.get(name, ABSENT_ID) for name in chosen})
            yield Attempt(route, path, absent)


def mixtures(world: World) -> Iterator[Attempt]:
    """Yield pairs of Sam's and Ann's objects: team and repository, team and person, repository and team."""
    mine = {"team_id": world.things[MY_ORGANIZATION]["team_id"], "org": OURS.owner, "repo": OURS.repo}
    her_team, no_team = {"team_id": world.things[VAULT]["team_id"]}, {"team_id": ABSENT_ID}
    for route in ROUTES:
        pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
        if route.place == "team" and route.name not in NOT_OPENED:
            pairs.append((her_team, no_team))
            if "repo" in route.placeholders:
                hers = [target for target in REPOSITORIES if target.visible_to in ("nobody", "members")]
                pairs += [
                    ({"org": one.owner, "repo": one.repo}, {"org": one.owner, "repo": ABSENT}) for one in hers
                ]
        elif "{repo}/teams/{team}" in route.path:
            pairs.append(({"team": HER_TEAM}, {"team": ABSENT}))
        target = MY_ORGANIZATION if route.place == "team" else OURS
        own = mine if route.place == "team" else {}
        for named, absent in pairs:
            yield Attempt(
                route, world.fill(route, target, **own | named), world.fill(route, target, **own | absent)
            )


async def teams(client: httpx.AsyncClient, world: World) -> Sequence[str]:
    """Return the teams of Ann's private organization as she reads them, with members and repositories."""
    ann = world.headers(next(caller for caller in CALLERS if caller.name == "owner"))
    listed = (await client.get(f"api/v1/orgs/{VAULT.owner}/teams", headers=ann)).json()
    paths = [f"api/v1/teams/{team['id']}/{what}" for team in listed for what in ("members", "repos")]
    return [f"{listed}", *[(await client.get(path, headers=ann)).text for path in paths]]


def _is_id(name: str) -> bool:
    return name in NOWHERE or (name.endswith("_id") and name not in TARGET_IDS)


async def test_ids_of_others_are_ids_of_nothing(world):
    stranger = world.headers(next(caller for caller in CALLERS if caller.name == "stranger"))
    wrong: list[str] = []
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:

        async def send(route: Route, path: str) -> tuple[int, str, Any]:
            body: Any = body_of(route)
            answer = await client.request(route.method, path, headers=stranger, json=body)
            return comparable(answer, path)

        async def attempt(one: Attempt) -> None:
            there, absent = await send(one.route, one.path), await send(one.route, one.absent_path)
            nothing_deleted = there[0] == 204 and one.route.method == "DELETE"
            if there != absent or not (nothing_deleted or 400 <= there[0] < 500):
                wrong.append(f"{one.route.name}: {one.path}: {there}, where nothing is: {absent}")

        ids = await more_ids(client, world)
        before, teams_before = await pages(world, client, (CLOSED, VAULT)), await teams(client, world)
        mixed = list(mixtures(world))
        tried = [*attempts(world, ids), *mixed]
        await in_turn([partial(attempt, one) for one in tried])
        after, teams_after = await pages(world, client, (CLOSED, VAULT)), await teams(client, world)
    wrong += [
        f"changed: {path}: {before[path]} -> {after[path]}" for path in before if before[path] != after[path]
    ]
    print(f"{len(tried)} ids of others, {len(mixed)} of them beside one's own")
    assert len(tried) > 100
    assert len(mixed) > 15
    assert teams_before == teams_after
    assert not wrong, "\n".join(wrong)
