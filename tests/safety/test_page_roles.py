"""Every page and form of web, tried by users of each role at each kind of target.

``pages.txt`` has the roles that may see or send each. The gate tries pairs, as ``test_matrix`` does;
``make soak`` tries all. Only users without permission send forms. Tests of web cover the others.
"""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from ingot_chassis.security.keys import SigningKey
from ingot_web.app import create_app
from ingot_web.settings import Settings
from ingot_web.site.api.other_names import NAMES

from .rules import (
    NEEDED,
    ORGANIZATIONS,
    OWNER,
    READ,
    REPOSITORIES,
    SITE_ADMINISTRATOR,
    Caller,
    Target,
    level,
    level_in,
)
from .test_matrix import WHOLE, in_turn, pages
from .test_web_pages import FORM, TOKEN
from .world import NOWHERE, World

NOBODY = ""
PEOPLE = (NOBODY, "sam", "rita", "will", "adam", "tess", "mia", OWNER, SITE_ADMINISTRATOR)
RARE = {"adam", "tess", "mia", SITE_ADMINISTRATOR}
"""They are tried at every third page."""
FOR_PROGRAMS = re.compile(r"/(internal/.*|livez|readyz|metrics|robots\.txt|favicon\.ico|-/.*)")
ABSENT_BELOW = ("{delivery_id}", "/apply", "/settings/migrate", "/user/invitation")
"""The world has no delivery, no suggestion and no invitation."""
ROLES = {"organization member": 1, "organization owner": 2, "team owner": 2}
SHOWN, HIDDEN, REFUSED, SIGN_IN = {200, 303}, {404}, {403}, {401}
ABSENT = {
    "/admin/imports/{import_id}",
    "/admin/imports/{import_id}/again",
    "/admin/imports/{import_id}/people",
}
"""Pages of administrators about what this world lacks: an import needs another server."""


class Page(NamedTuple):
    method: str
    path: str
    policy: str

    @property
    def targets(self) -> tuple[Target, ...]:
        """The kinds of target; one of nothing has any."""
        if "{repo}" in self.path:
            return REPOSITORIES
        return ORGANIZATIONS if "{org}" in self.path or self.policy == "account" else ORGANIZATIONS[:1]


def table() -> list[Page]:
    """That of ``pages.txt``."""
    rows, policy = [], ""
    for line in Path(__file__).with_name("pages.txt").read_text().splitlines():
        if line.startswith("["):
            policy = line.strip("[]")
        elif line and not line.startswith("#"):
            method, path = line.split()
            rows.append(Page(method, path.replace("~", "/{owner}/{repo}"), policy))
    return rows


PAGES = table()


def routed() -> set[tuple[str, str]]:
    """Method and path of each page and form of web, without addresses that only lead to another one."""
    app = create_app(Settings(private_key=SigningKey.generate().text(), background=False))
    other_names = {re.sub(r":\w+", "", name) for name in NAMES}
    return {
        (method, route.path_format)
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
        if route.path_format not in other_names and not FOR_PROGRAMS.fullmatch(route.path_format)
    }


def outcome(page: Page, person: str, target: Target) -> set[int]:
    """The statuses of which one must be answered."""
    own = Caller(person, person)
    match page.policy:
        case "anyone":
            return SHOWN
        case "site":
            if person == SITE_ADMINISTRATOR:
                return HIDDEN if page.path in ABSENT else SHOWN
            return REFUSED | (SIGN_IN if not person else set())
        case "account":
            return SHOWN if _sees(person, target) else HIDDEN
    if not person and page.policy != "read":
        return SIGN_IN
    if page.policy == "person":
        return SHOWN
    if page.policy == "own hooks":
        return SHOWN if person == OWNER else HIDDEN
    if page.policy == "recipient":
        return HIDDEN  # nothing is offered to anybody
    if page.policy in ROLES:
        has, needed = level_in(person), ROLES[page.policy]
        if not _sees(person, target) or (page.policy == "team owner" and has == 1):
            return HIDDEN  # what the API answers to members of an organization about its teams
        return SHOWN if has >= needed else REFUSED
    has, needed = level(own, target), NEEDED.get(page.policy, READ)
    if not has:
        return HIDDEN
    if has < needed:
        return REFUSED
    return SHOWN | REFUSED if target.archived and needed > READ else SHOWN


def _sees(person: str, organization: Target) -> bool:
    """Return True if the person sees an organization."""
    seers = {"all": True, "people": bool(person)}
    return seers.get(organization.visible_to, bool(level_in(person)))


def cells() -> Iterator[tuple[Page, str, Target]]:
    """Pairwise: the kind of target moves on with the page and with the person."""
    for row, page in enumerate(PAGES):
        targets = page.targets
        for column, person in enumerate(PEOPLE):
            if person in RARE and (row + column) % 3 and not WHOLE:
                continue
            for target in targets if WHOLE else (targets[(row + column) % len(targets)],):
                yield page, person, target


def address(world: World, page: Page, target: Target) -> str:
    own = world.things[REPOSITORIES[0]] | world.things[target]
    things = own | {"ref": "branch/main/README.md", "owner": target.owner}
    if "/_" in page.path:
        things["ref"] = "main/README.md"
    if "/find/" in page.path:
        things["ref"] = "branch/main"
    if "/pulls/" in page.path:
        things["comment_id"] = own["comment of review"]
    if page.policy == "own hooks":
        things["hook_id"] = own["own hook_id"]
    if page.path.startswith("/org/{org}/settings/teams/"):
        things["team"] = own["team_id"]
    return re.sub(r"{(\w+)}", lambda name: str(things[name[1]]), page.path)


class Visitor:
    """A user with a browser session, or an anonymous one. ``form`` is valid for every page, with the token of
    one."""

    def __init__(self, client: httpx.AsyncClient, token: str) -> None:
        self.client, self._token = client, token

    def form(self, page: Page, target: Target) -> dict[str, Any]:
        name = f"{target.owner}/{target.repo}".rstrip("/")
        own = {"token": self._token, "typed": target.owner, "name": name, "url": NOWHERE, "login": "tess"}
        own |= {"remove": "1"} if page.path.endswith("/avatar") else {}
        return FORM | own | {"new_owner": "sam", "username": "tess", "push": "1"}


@asynccontextmanager
async def visitors(world: World) -> AsyncIterator[dict[str, Visitor]]:
    async with AsyncExitStack() as stack:
        people = {}
        for person in PEOPLE:
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=world.url, timeout=60))
            token = TOKEN.search((await client.get("login")).text)[1]  # type: ignore[index]
            if person:
                form = {"token": token, "query": "", "username": person, "password": world.password(person)}
                assert (await client.post("login", data=form)).status_code == 303
                token = TOKEN.search((await client.get("user/settings")).text)[1]  # type: ignore[index]
            people[person] = Visitor(client, token)
        yield people


def test_every_page_says_who_may_see_it():
    assert sorted((page.method, page.path) for page in PAGES) == sorted(routed())


async def test_pages_and_forms_are_for_those_who_may_and_for_nobody_else(world):
    wrong: list[str] = []
    tried = 0
    async with visitors(world) as people, httpx.AsyncClient(base_url=world.url, timeout=60) as api:

        async def attempt(page: Page, person: str, target: Target) -> None:
            nonlocal tried
            expected = outcome(page, person, target)
            if page.method == "POST" and 303 in expected:
                return
            tried += 1
            visitor, path = people[person], address(world, page, target)
            sent = {"data": visitor.form(page, target)} if page.method == "POST" else {}
            answer = await visitor.client.request(page.method, path, **sent)
            if page.path.endswith(ABSENT_BELOW) and not expected & (SIGN_IN | HIDDEN):
                expected = expected - SHOWN | HIDDEN
            if answer.status_code not in expected:
                who, of = person or "nobody", target.name if "{o" in page.path else "-"
                wrong.append(
                    f"{page.method} {page.path} | {who} | {of}: {answer.status_code} and not {expected}"
                )

        before = await pages(world, api)
        await in_turn([partial(attempt, *cell) for cell in cells()])
        after = await pages(world, api)
    wrong += [f"changed by what was refused: {path}" for path in before if before[path] != after[path]]
    print(f"{tried} pages and forms of {len(PAGES)}")
    assert not wrong, "\n".join(wrong)
