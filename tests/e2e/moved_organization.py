"""An organization with teams and repositories, made through the API of one Ingot, and its objects."""

import asyncio
import re
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple

from .moved_objects import Objects, neutral
from .moved_repository import FILE, LARGE, POINTER, Owners, People, base64_of

AT_ONCE = 4
"""Repositories that are filled or read at once."""


class Size(NamedTuple):
    """The number of repositories, and the issues and pull requests of each."""

    repositories: int
    issues: int
    pulls: int

    @property
    def names(self) -> list[str]:
        return [f"part-{number}" for number in range(1, self.repositories + 1)]

    @property
    def texts(self) -> int:
        """The number of all issues and pull requests."""
        return self.repositories * (self.issues + self.pulls)


async def fill_organization(there: People, owners: Owners, name: str, size: Size) -> None:
    """Make an organization that ann owns, with teams, labels and repositories."""
    ann, eve = owners
    new = {"username": name, "full_name": "Lamps", "description": "all lamps", "visibility": "private"}
    await there(ann, "POST", "orgs", new, 201)
    fields = {"name": "for all", "color": "#00aabb", "description": "of all repositories"}
    label = await there(ann, "POST", f"orgs/{name}/labels", fields, 201)
    teams = [
        {"name": "writers", "description": "who write", "units_map": {"repo.code": "write",
         "repo.issues": "write", "repo.pulls": "write", "repo.wiki": "read"}},
        {"name": "readers", "permission": "read", "includes_all_repositories": True},
        {"name": "keepers", "permission": "admin", "can_create_org_repo": True},
    ]  # fmt: skip
    ids = [(await there(ann, "POST", f"orgs/{name}/teams", one, 201))["id"] for one in teams]
    for number in ids:
        await there(ann, "PUT", f"teams/{number}/members/{eve}", None, 204)
    for repository in size.names:
        new = {"name": repository, "auto_init": True, "private": True, "description": f"about {repository}"}
        await there(ann, "POST", f"orgs/{name}/repos", new, 201)
        await there(ann, "PUT", f"teams/{ids[0]}/repos/{name}/{repository}", None, 204)
    await there(ann, "PUT", f"teams/{ids[2]}/repos/{name}/{size.names[0]}", None, 204)
    await at_once([_fill(there, owners, f"{name}/{one}", size, label["id"]) for one in size.names])


async def at_once(work: Sequence[Awaitable[Any]]) -> list[Any]:
    """Return the results of work that runs four at once."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(each: Awaitable[Any]) -> Any:
        async with slots:
            return await each

    return list(await asyncio.gather(*(one(each) for each in work)))


async def _fill(there: People, owners: Owners, full_name: str, size: Size, of_all: int) -> None:
    """Add issues, pull requests with reviews, a release with a file, a wiki and an object of LFS."""
    ann, eve = owners
    root = f"repos/{full_name}"
    label = await there(ann, "POST", f"{root}/labels", {"name": "bug", "color": "#ee0701"}, 201)
    milestone = await there(ann, "POST", f"{root}/milestones", {"title": "one"}, 201)
    for number in range(1, size.issues + 1):
        new: dict[str, Any] = {"title": f"issue {number}", "body": f"see {full_name}#{number}, @{ann}"}
        if number % 3 == 0:
            new |= {"labels": [label["id"]], "milestone": milestone["id"], "assignees": [ann, eve]}
        elif number == 1:
            new |= {"labels": [of_all]}
        await there(eve if number % 2 else ann, "POST", f"{root}/issues", new, 201)
        if number % 4 == 0:
            for author in owners:
                text = {"body": f"{author} says: me too"}
                await there(author, "POST", f"{root}/issues/{number}/comments", text, 201)
            await there(ann, "PATCH", f"{root}/issues/{number}", {"state": "closed"}, 201)
    for place in range(1, size.pulls + 1):
        await _add_pull(there, owners, root, size.issues + place, place)
    release = {"tag_name": "v1", "name": "one", "body": "first", "target_commitish": "main"}
    one = await there(ann, "POST", f"{root}/releases", release, 201)
    await there.upload(ann, f"{root}/releases/{one['id']}/assets?name=a.bin", FILE)
    await there(ann, "POST", f"{root}/wiki/new", {"title": "Home", "content_base64": base64_of(b"hi")}, 201)
    await there.store_lfs(ann, full_name, LARGE)
    file = {"content": base64_of(POINTER.encode()), "branch": "main"}
    await there(ann, "POST", f"{root}/contents/large.bin", file, 201)


async def _add_pull(there: People, owners: Owners, root: str, number: int, place: int) -> None:
    """Add a pull request with a review: every third is merged, every fifth is closed."""
    ann, eve = owners
    file = {"content": base64_of(b"a drop\n"), "branch": "main", "new_branch": f"fix-{place}"}
    await there(eve, "POST", f"{root}/contents/oil-{place}.txt", file, 201)
    new = {"title": f"fix {place}", "body": f"closes #{place}", "head": f"fix-{place}", "base": "main"}
    await there(eve, "POST", f"{root}/pulls", new, 201)
    line = {"path": f"oil-{place}.txt", "new_position": 1, "body": "a drop of what?"}
    review = {"event": "REQUEST_CHANGES", "body": "not yet", "comments": [line]}
    await there(ann, "POST", f"{root}/pulls/{number}/reviews", review)
    await there(ann, "POST", f"{root}/pulls/{number}/reviews", {"event": "APPROVED", "body": "now"})
    if place % 3 == 0:
        await there(ann, "POST", f"{root}/pulls/{number}/merge", {"Do": "merge"})
    elif place % 5 == 0:
        await there(ann, "PATCH", f"{root}/pulls/{number}", {"state": "closed"}, 201)


async def organization_objects(people: People, who: str, name: str, site: str) -> Objects:
    """Return the organization, its teams with their members and repositories, and what else it has."""
    teams = {}
    for team in await people.all(who, f"orgs/{name}/teams"):
        at = f"teams/{team['id']}"
        members, repositories = await people.all(who, f"{at}/members"), await people.all(who, f"{at}/repos")
        groups = {
            "members": sorted(one["login"] for one in members),
            "repositories": sorted(one["name"] for one in repositories),
        }
        teams[team["name"]] = {**{key: one for key, one in team.items() if key != "organization"}, **groups}
    lists = {
        "organization": {name: await people(who, "GET", f"orgs/{name}")},
        "team": teams,
        "organization member": {one["login"]: {} for one in await people.all(who, f"orgs/{name}/members")},
        "organization label": {one["name"]: one for one in await people.all(who, f"orgs/{name}/labels")},
    }
    ours = re.compile(re.escape(site))
    return {kind: {key: neutral(one, ours) for key, one in group.items()} for kind, group in lists.items()}
