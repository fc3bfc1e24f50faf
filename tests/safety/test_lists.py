"""Lists without a target in their path: they hide targets that the caller may not see, and count correctly.

A user with all rights has starred and watched every target before, so lists of theirs have something to hide.
The gate tries callers that are not ``rare``; ``make soak`` tries all.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import httpx

from .routes import ROUTES, Route
from .rules import CALLERS, ORGANIZATIONS, REPOSITORIES, Caller, Target, level, level_in
from .test_matrix import WHOLE, in_turn
from .world import World

USERNAMES = ("ann", "rita", "tess", "mia", "vault")
"""The owner of everything, a reader of everything, members, and a hidden account."""
PAGE = 50
MOST_PAGES = 20
NOT_LISTS = ("avatars", "login", "swagger", "openapi", "well-known")
OF_ACCOUNT = {"/api/v1/user/orgs", "/api/v1/user/teams"}
QUERIES = {"GET /api/v1/repos/issues/search": "state=all&", "GET /api/v1/topics/search": "q=of-&"}


class Attempt(NamedTuple):
    route: Route
    caller: Caller
    path: str

    @property
    def name(self) -> str:
        return f"{self.path} | {self.caller.name}"


WORDS = re.compile(r"fixes [\w/-]+#\d+")
"""A text by a stranger in a readable issue, to find out if the named object exists."""


def hidden_names(route: Route, caller: Caller) -> re.Pattern[str] | None:
    """Return names that no response may contain: repositories, their topics, and organizations."""
    if caller.by == "session":
        caller = replace(caller, person="")
    repositories = [target for target in REPOSITORIES if not level(caller, target)]
    hidden = [f"{target.owner}/{target.repo}\\b|of-{target.owner}-{target.repo}" for target in repositories]
    # A token that is restricted to repositories reads its owner's account, and so in which organizations that is.
    person = "" if caller.restricted and route.path not in OF_ACCOUNT else caller.person
    for organization in ORGANIZATIONS:
        own = [target for target in REPOSITORIES if target.owner == organization.owner]
        is_visible = _sees(person, organization) or any(target not in repositories for target in own)
        if not is_visible:
            hidden.append(f'"{organization.owner}"')
    return re.compile("|".join(hidden)) if hidden else None


def _sees(person: str, organization: Target) -> bool:
    return {"all": True, "people": bool(person)}.get(organization.visible_to, level_in(person) > 0)


def attempts(world: World) -> Iterator[Attempt]:
    """Every list for every caller; those of accounts for several accounts."""
    routes = [
        route
        for route in ROUTES
        if route.method == "GET"
        and route.place == ""
        and route.policy not in ("star", "whoever")
        and not any(word in route.path for word in NOT_LISTS)
    ]
    for route in routes:
        names = USERNAMES if "username" in route.placeholders and route.policy != "site" else ("rita",)
        for caller in CALLERS:
            if WHOLE or not caller.rare:
                for name in names:
                    yield Attempt(route, caller, world.fill(route, None, username=name))


def prepare(world: World) -> None:
    """Let Rita, who may read all targets, star and watch them. Add a topic of its own to each repository.

    A stranger names hidden targets, as another test of this folder does.
    """
    world.do("sam", "POST", "repos/ann/open/issues", title="text", body="fixes ann/closed#2")
    for target in REPOSITORIES:
        path = f"{target.owner}/{target.repo}"
        world.do("rita", "PUT", f"user/starred/{path}")
        world.do("rita", "PUT", f"repos/{path}/subscription")
        if not target.archived:
            world.do("ann", "PUT", f"repos/{path}/topics/of-{target.owner}-{target.repo}")


def items_of(answer: httpx.Response) -> list[Any] | None:
    """Return the items of a page of a list; None if it is no list."""
    if answer.status_code != 200 or "json" not in answer.headers["content-type"]:
        return None
    body = answer.json()
    if isinstance(body, dict):
        body = body.get("data", body.get("topics"))
    return body if isinstance(body, list) else None


async def test_no_list_names_what_is_hidden(world):
    prepare(world)
    wrong: list[str] = []
    counts = {"answers": 0, "lists": 0, "items": 0}

    async def attempt(one: Attempt, client: httpx.AsyncClient) -> None:
        hidden, total, count = hidden_names(one.route, one.caller), "", 0
        for page in range(1, MOST_PAGES + 1):
            path = f"{one.path}?{QUERIES.get(one.route.name, '')}limit={PAGE}&page={page}"
            answer = await client.get(path, headers=world.headers(one.caller))
            counts["answers"] += 1
            if answer.status_code >= 500:
                wrong.append(f"{one.name}: {answer.status_code}")
            text = WORDS.sub("", f"{answer.text}\n{answer.headers.get('link', '')}")
            if hidden and (match := hidden.search(text)):
                wrong.append(
                    f"{one.name}: {match[0]} in {text[max(0, match.start() - 200) : match.end() + 200]}"
                )
            items = items_of(answer)
            if items is None:
                return
            total = total or answer.headers.get("x-total-count", "")
            count += len(items)
            if len(items) < PAGE or "next" not in answer.headers.get("link", ""):
                break
        counts["lists"] += 1
        counts["items"] += count
        if total and int(total) != count:
            wrong.append(f"{one.name}: {count} items, but the count is {total}")

    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        await in_turn([partial(attempt, one, client) for one in attempts(world)])
    print(counts)
    assert counts["items"] > 1000, counts
    assert not wrong, "\n".join(wrong)
