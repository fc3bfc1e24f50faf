"""Every route of a repository that belongs to a unit, for members of teams with each level in that unit."""

import asyncio
import re
from functools import partial
from typing import Any

import httpx
import pytest

from .routes import REPOSITORY, ROUTES, Route
from .rules import REPOSITORIES
from .test_matrix import MAY_BE_ABSENT, NOT_OPENED, THERE, absent_things, in_turn
from .world import UNREADABLE, World, body_of

TARGET = REPOSITORIES[4]
"""A private repository in a private organization: no other person reads it."""
CODE = """
    archive blame branches branch_protections code commits compare contents contents-ext diffpatch
    editorconfig file-contents generate git languages licenses media merge-upstream mirror-sync raw
    signing-key.gpg signing-key.pub statuses tag_protections tags
"""
PREFIXES = {
    "code": {f"{REPOSITORY}/{name}" for name in CODE.split()},
    "wiki": {f"{REPOSITORY}/wiki"},
    "releases": {f"{REPOSITORY}/releases", "/{owner}/{repo}/releases/download"},
    "pulls": {
        f"{REPOSITORY}/{name}" for name in ("pulls", "issues/{index}", "issue/{index}", "issues/comments/")
    },
    "issues": {f"{REPOSITORY}/issues"},
}
"""The beginnings of the routes of each unit. Numbers in paths of this world are of a pull request."""
OF_NO_UNIT = """
    actions activities assignees avatar collaborators export forks hooks invitations issue_config
    issue_templates
    issues/comments issues/reactions keys
    labels
    migration milestones new_pin_allowed notifications push_mirrors push_mirrors-sync reparent
    reviewers stargazers
    subscribers subscription teams times topics transfer
"""
"""Routes below a repository for readers of any unit, or of issues or pull requests, or for administrators."""
BY_CODE = re.compile(r"/pulls/{index}/(merge|update)|/commits/{sha}/pull")
"""Routes of pull requests for which the level in the code counts, too."""
LIST = f"GET {REPOSITORY}/issues"
"""Has pull requests, too, and leaves out what the caller may not read."""
PAGE = {"page_name": "Home", "filepath": "Home.md"}
"""The page of the wiki, and its file."""
LEVELS = ("none", "read", "write")
ALL = ("code", "issues", "pulls", "releases", "wiki")


def unit_of(route: Route) -> str:
    """The unit of a route; empty if it belongs to none."""
    if BY_CODE.search(route.path) or route.name == LIST:
        return ""
    if route.path.startswith("/{owner}/{repo}/") and "attachments" not in route.path:
        return next((one for one in ("releases", "wiki") if f"/{one}/" in route.path), "code")
    exact = {f"{REPOSITORY}/{path}" for path in ("issues/comments", "issues/reactions", "forks")}
    if route.path in exact:
        return "code" if route.name.startswith("POST") else ""
    fitting = [
        (len(start), unit)
        for unit, starts in PREFIXES.items()
        for start in starts
        if route.path == start or route.path.startswith(start if start.endswith("/") else start + "/")
    ]
    return max(fitting)[1] if fitting else ""


OF_UNITS = [route for route in ROUTES if route.place == "repository" and unit_of(route)]


def test_every_route_of_a_repository_belongs_to_a_unit_or_to_none():
    rest = {
        route.path.removeprefix(REPOSITORY + "/")
        for route in ROUTES
        if route.path.startswith(REPOSITORY + "/") and not unit_of(route) and route.name != LIST
    }
    rest = {path for path in rest if not BY_CODE.search(f"/{path}")}
    unknown = {
        path for path in rest if not any(f"{path}/".startswith(f"{one}/") for one in OF_NO_UNIT.split())
    }
    assert unknown == set()
    assert {unit_of(route) for route in OF_UNITS} == {"code", "issues", "pulls", "releases", "wiki"}


@pytest.fixture(scope="module")
def members(world: World) -> dict[tuple[str, str], dict[str, str]]:
    """The headers of a member of a team with that level in that unit, who reads all other units."""
    page = {"title": "Home", "content_base64": "IyBIb21lCg==", "message": "Begin"}
    world.do("root", "POST", f"repos/{TARGET.owner}/{TARGET.repo}/wiki/new", **page)
    headers = {}
    for unit in ALL:
        for level in LEVELS:
            name, others = f"{unit}-{level}", dict.fromkeys(ALL, "read") | {unit: level}
            headers[unit, level] = world.add_person(name)
            units_map = {f"repo.{one}": own for one, own in others.items()}
            team = world.do("root", "POST", f"orgs/{TARGET.owner}/teams", name=name, units_map=units_map)[
                "id"
            ]
            world.do("root", "PUT", f"teams/{team}/members/{name}")
            world.do("root", "PUT", f"teams/{team}/repos/{TARGET.owner}/{TARGET.repo}")
    return headers


def wrong_statuses(route: Route, level: str, *, names_things: bool) -> tuple[tuple[int, ...], bool]:
    """The statuses of a route at this level, and whether they are those that must not be answered."""
    reads = route.policy in ("read", "fetch", "sign in", "sign in to read", "own", "subscriber", "star")
    if level == "none":
        # Before it is known which of them the number names, readers of issues get the refusal of both.
        numbered = "/issue" in route.path and route.policy in ("write", "admin")
        return ((403, 404) if numbered else (404,)), False
    if route.policy in ("admin", "owner", "repository teams") or (
        level == "read" and route.policy == "write"
    ):
        return (403,), False
    if level == "read" and not reads:
        return (500, 502), True  # it depends on who wrote it, and on what is sent
    missing = () if names_things or route.name in MAY_BE_ABSENT else (404,)
    refused = (403,) if route.policy in ("read", "fetch", "write") else ()
    return (401, *refused, *missing, 500, 502), True


async def test_a_member_of_a_team_gets_what_the_level_in_the_unit_opens(world, members):
    wrong: list[str] = []

    async def attempt(client: httpx.AsyncClient, route: Route, level: str) -> None:
        if route.name in NOT_OPENED or route.path.endswith("-pack"):
            return
        changes = route.method != "GET"
        opens = changes and level != "none" and route.policy not in ("admin", "owner")
        opens = opens and (level == "write" or route.policy == "sign in")
        instead: dict[str, Any] = absent_things(route) if opens else {}
        page = PAGE if unit_of(route) == "wiki" else {}
        path = world.fill(route, TARGET, **page | instead | THERE.get(route.name, {}))
        headers = members[unit_of(route), level]
        if opens:
            headers = headers | {"content-type": "application/json"}
            answer = await client.request(route.method, path, headers=headers, content=UNREADABLE)
        else:
            answer = await client.request(route.method, path, headers=headers, json=body_of(route))
        statuses, must_not = wrong_statuses(route, level, names_things=opens)
        if (answer.status_code in statuses) == must_not:
            wrong.append(f"{route.name} [{route.policy}] {level}: {answer.status_code}: {answer.text[:100]}")

    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        for level in LEVELS:
            await in_turn([partial(attempt, client, route, level) for route in OF_UNITS])
    assert not wrong, "\n".join(wrong)


async def test_a_member_still_reads_other_units_and_what_belongs_to_none(world, members):
    path = f"/api/v1/repos/{TARGET.owner}/{TARGET.repo}"
    below = {"code": "/contents", "issues": "/issues?type=issues", "pulls": "/pulls", "releases": "/releases"}
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        for unit in below:
            headers = members[unit, "none"]
            shown = (await client.get(path, headers=headers)).json()
            assert shown["permissions"] == {"admin": False, "push": False, "pull": unit != "code"}
            assert shown["units_map"][f"repo.{unit}"] == "none"
            for other, page in below.items():
                answer = await client.get(path + page, headers=headers)
                hidden = other == unit or (unit == "code" and other == "pulls")
                expected = 404 if hidden and other != "issues" else 200  # pull requests are issues, too
                assert answer.status_code == expected, (unit, other, answer.text)
                if hidden and other == "issues":
                    assert answer.json() == []


async def test_a_level_that_is_taken_away_is_gone_within_five_seconds(world, members):
    name = "for-a-while"
    headers = world.add_person(name)
    units = {"repo.code": "read", "repo.issues": "read"}
    team = world.do("root", "POST", f"orgs/{TARGET.owner}/teams", name=name, units_map=units)["id"]
    world.do("root", "PUT", f"teams/{team}/members/{name}")
    world.do("root", "PUT", f"teams/{team}/repos/{TARGET.owner}/{TARGET.repo}")
    path = f"/api/v1/repos/{TARGET.owner}/{TARGET.repo}"
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        for page in ("/contents", "/issues"):
            assert (await client.get(path + page, headers=headers)).status_code == 200
        without = {"repo.code": "none", "repo.issues": "none", "repo.releases": "read"}
        world.do("root", "PATCH", f"teams/{team}", units_map=without)
        async with asyncio.timeout(5):
            for page in ("/contents", "/issues"):
                while (await client.get(path + page, headers=headers)).status_code != 404:
                    await asyncio.sleep(0.1)
        assert (await client.get(f"{path}/releases", headers=headers)).status_code == 200
