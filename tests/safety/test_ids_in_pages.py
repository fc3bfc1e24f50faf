"""Ids of another user's objects in pages and forms below one's own path: the response is that for missing
ids.

Sam opens the pages and sends the forms of his repository, his organization and his account. Their ids are of
Ann's private objects.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import httpx

from .rules import ORGANIZATIONS, OWNER, REPOSITORIES, Target
from .test_matrix import in_turn, pages
from .test_page_roles import PAGES, Page, Visitor, visitors
from .test_web_pages import comparable
from .world import ABSENT, ABSENT_ID, MINE, MY_ORGANIZATION, World

CLOSED, VAULT = REPOSITORIES[1], ORGANIZATIONS[2]
NO_DELIVERY = "99999999-0000-7000-8000-000000000000"
FIELDS = (
    ("/user/settings/oauth2", "id", "application_id", {"do": "remove"}),
    ("/org/{org}/settings/labels/delete", "id", "label_id", {}),
    ("/org/{org}/settings/labels/edit", "id", "label_id", {}),
    ("/org/{org}/settings/teams", "remove", "team_id", {}),
    ("/{owner}/{repo}/labels/delete", "id", "label_id", {}),
    ("/{owner}/{repo}/labels/edit", "id", "label_id", {}),
    ("/{owner}/{repo}/pulls/{index}/reviews", "discard", "review_id", {}),
    ("/{owner}/{repo}/releases/delete", "id", "release_id", {}),
    ("/{owner}/{repo}/releases/edit/{tag}", "remove", "asset of release", {}),
    ("/{owner}/{repo}/settings/keys", "remove", "key_id", {}),
    ("/{owner}/{repo}/settings/tags/delete", "name", "rule_id", {}),
)
"""A form, its field with an id, what that is of Ann's, and what else the form says."""


class Attempt(NamedTuple):
    """``id_`` is of an object of Ann, ``absent`` of none. Both go into the address, and into the ``field`` of
    a form."""

    page: Page
    placeholder: str
    id_: Any
    absent: Any = ABSENT_ID
    field: str = ""
    more: dict[str, Any] = {}  # noqa: RUF012 - of a tuple


def targets_of(path: str) -> tuple[Target, Target]:
    """Sam's, and Ann's of the same kind."""
    return (MY_ORGANIZATION, VAULT) if "{org}" in path else (MINE, CLOSED)


def attempts(world: World) -> Iterator[Attempt]:
    """Each id in an address by itself, and each field of FIELDS."""
    deliveries = {}
    for target, path in ((CLOSED, f"repos/{CLOSED.owner}/{CLOSED.repo}"), (VAULT, f"orgs/{VAULT.owner}")):
        hook = f"{path}/hooks/{world.things[target]['hook_id']}"
        world.do(OWNER, "POST", f"{hook}/tests")
        deliveries[target] = world.do(OWNER, "GET", f"{hook}/deliveries")[0]["id"]
    for page in PAGES:
        _, hers = targets_of(page.path)
        for name in re.findall(r"{(\w+_id)}", page.path):
            thing = "own hook_id" if page.path.startswith("/user/") and name == "hook_id" else name
            thing = "comment of review" if name == "comment_id" and "/pulls/" in page.path else thing
            if name == "delivery_id":
                yield Attempt(page, name, deliveries[hers], NO_DELIVERY)
            else:
                yield Attempt(page, name, world.things[hers][thing])
    forms = {page.path: page for page in PAGES if page.method == "POST"}
    for path, field, thing, more in FIELDS:
        named = world.things[targets_of(path)[1]][thing]
        yield Attempt(
            forms[path], "", named["id"] if isinstance(named, dict) else named, field=field, more=more
        )


async def send(world: World, sam: Visitor, one: Attempt, id_: Any) -> tuple[int, str, Any]:
    mine, _ = targets_of(one.page.path)
    things = world.things[mine] | ({one.placeholder: id_} if one.placeholder else {})
    path = re.sub(r"{(\w+)}", lambda name: str(things[name[1]]), one.page.path)
    form = sam.form(one.page, mine) | one.more | ({one.field: str(id_)} if one.field else {})
    sent = {"data": form} if one.page.method == "POST" else {}
    status, text, headers = comparable(await sam.client.request(one.page.method, path, **sent), ABSENT)
    return status, re.sub(r"\d+", "", text.replace(str(id_), "")), headers


async def test_ids_of_others_are_ids_of_nothing_in_pages_and_forms(world):
    wrong: list[str] = []
    async with visitors(world) as people, httpx.AsyncClient(base_url=world.url, timeout=60) as client:

        async def attempt(one: Attempt) -> None:
            there, absent = [await send(world, people["sam"], one, id_) for id_ in (one.id_, one.absent)]
            deletes = one.page.path.endswith("/delete") or one.field == "remove"
            # The API also deletes missing objects without an error. The test checks below that nothing
            # changed.
            expected = (303, 404) if deletes else range(400, 500)
            if there != absent or there[0] not in expected:
                name = f"{one.page.method} {one.page.path} | {one.placeholder or one.field}"
                lines = zip(there[1].splitlines(), absent[1].splitlines(), strict=False)
                differ = [pair for pair in lines if len(set(pair)) > 1][:3]
                wrong.append(f"{name}: {there[0]}, where nothing is: {absent[0]}; {differ}")

        tried = list(attempts(world))
        before = await pages(world, client, (CLOSED, VAULT))
        await in_turn([partial(attempt, one) for one in tried])
        after = await pages(world, client, (CLOSED, VAULT))
    wrong += [f"changed: {path}" for path in before if before[path] != after[path]]
    print(f"{len(tried)} ids of others in pages and forms")
    assert len(tried) > 40
    assert not wrong, "\n".join(wrong)
