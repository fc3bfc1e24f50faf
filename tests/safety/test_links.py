"""Page addresses in responses of the API and in payloads of hooks lead to their page and anchor.

Each read operation is called with every kind of object in its data. It fails the test if its description
promises a page and its response has none, unless ``SHOWS_NONE`` gives a reason.
"""

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from typing import Any

import httpx

from ingot_contracts.hooks.webhooks import FAMILIES
from ingot_hooks.catalog.store.tables import HookType
from ingot_web.webhooks.api.repositories import TYPES

from .routes import ROUTES, Route
from .rules import ORGANIZATIONS, OWNER, SITE_ADMINISTRATOR, Target
from .test_matrix import in_turn
from .test_web_pages import TOKEN
from .world import NOWHERE, World

HARBOUR = Target("with everything in it", "vault", "harbour", visible_to="nobody")
VAULT = next(each for each in ORGANIZATIONS if each.owner == HARBOUR.owner)
EVENTS = {family.name for family in FAMILIES} - {"import"}
"""Events of hooks that this world has. An import needs another server."""
SHOWS_NONE = {
    "/repos/{owner}/{repo}/git/notes/{sha}": "a note comes by git alone; its commit is that of /git/commits",
    **dict.fromkeys(
        (
            "/repos/{owner}/{repo}/pulls/{index}/merge/scheduled",
            "/repos/{owner}/{repo}/transfer",
        ),
        "its only page is that of a user, which other answers show",
    ),
    **dict.fromkeys(
        ("/orgs/{org}/teams/{team_id}/invitations", "/repos/{owner}/{repo}/invitations"),
        "this world sends no mail, so it has no invitations",
    ),
}
QUERIES = {
    "/repos/{owner}/{repo}/file-contents": '?body={"files":["README.md"]}',
    "/repos/{owner}/{repo}/code/search": "?q=e",
    "/repos/{owner}/{repo}/issues/reactions": "?issues=1,2,3",
}
NO_PAGES = {
    "api/": "the API; what is there is asked itself",
    "login/oauth/": "what programs ask in OAuth2",
    "login/oidc/": "for browsers that come back from a provider, and for providers",
    "scim/": "for clients of SCIM",
    "avatars/": "pictures",
}
"""Beginnings of addresses that lead to no page, below the site."""
NATIVE = ("gitea", "gogs")
"""Types of hooks whose bodies have the fields of the API. Others send messages with addresses in texts."""
FILES = re.compile(r"(\.diff|\.patch|\.zip|\.tar\.gz)$|/(attachments|releases/download)/")
"""Addresses of files: they answer, but not as pages. Those that end in ``.git`` are for git."""


def is_page(name: str) -> bool:
    """Return True if a field of this name contains the address of a page."""
    return name == "html" or name.endswith("html_url")


def strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Each text in an answer, with the name of its field."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, name)
    elif isinstance(value, str):
        yield name, value


def addresses_in(message: Any, site: str) -> list[str]:
    """The addresses below ``site`` in the texts of a message, in the markup of any chat."""
    address = re.compile(re.escape(site) + r"""[^\s<>|"')\]]*""")
    return [match for _, text in strings(message) for match in address.findall(unescape(text))]


def promises(description: dict[str, Any]) -> set[str]:
    """The paths whose GET answers with the address of a page, as the description has it."""

    def fields(schema: Any, above: tuple[str, ...] = ()) -> Iterator[str]:
        if isinstance(schema, list):
            for one in schema:
                yield from fields(one, above)
        elif isinstance(schema, dict):
            name = schema.get("$ref", "").rpartition("/")[2]
            if name and name not in above:
                yield from fields(description["components"]["schemas"][name], (*above, name))
            yield from schema.get("properties", ())
            for one in schema.values():
                yield from fields(one, above)

    return {
        path.removeprefix("/api/v1")
        for path, operations in description["paths"].items()
        for status, answer in operations.get("get", {}).get("responses", {}).items()
        if status == "200" and any(map(is_page, fields(answer)))
    }


async def fill(world: World, client: httpx.AsyncClient) -> list[tuple[str, Any]]:
    """Make the repository and all that answers could show; the deliveries to hooks of each type."""
    do = partial(world.do, OWNER)
    config = {"url": NOWHERE, "content_type": "json", "channel": "#harbour"}
    hooks = f"orgs/{VAULT.owner}/hooks"
    hook_ids = {
        kind: do("POST", hooks, type=kind, config=config, events=sorted(EVENTS), active=True)["id"]
        for kind in TYPES
    }
    things = world.things[VAULT] | world._repository(HARBOUR)
    base = f"repos/{HARBOUR.owner}/{HARBOUR.repo}"
    label, milestone = things["label_id"], things["milestone_id"]
    do("PUT", f"{base}/issues/1/labels", labels=[label])
    do("PATCH", f"{base}/issues/1", assignees=["will"], milestone=milestone)
    do("POST", f"{base}/issues/1/dependencies", index=2, owner=HARBOUR.owner, repo=HARBOUR.repo)
    do("POST", f"{base}/issues/1/comments", body="It does")
    for number in (1, 2):
        do("POST", f"{base}/issues/{number}/pin")
    do("POST", f"{base}/statuses/main", state="success", context="tests")
    do("POST", f"{base}/branches", new_branch_name="spare")
    do("DELETE", f"{base}/branches/spare")
    async with asyncio.timeout(30):
        while not do("GET", f"{base}/pulls/2")["mergeable"]:
            await asyncio.sleep(0.1)
    do("POST", f"{base}/pulls/2/merge", Do="merge")
    merged = do("GET", f"{base}/pulls/2")["merge_commit_sha"]
    do("POST", f"{base}/statuses/{merged}", state="success", context="tests")
    for place in (things["index"], f"comments/{things['comment_id']}"):
        do("POST", f"{base}/issues/{place}/reactions", content="heart")
    do("POST", f"{base}/issues", title="It creaks again")
    do("POST", f"{base}/issues/2/dependencies", index=3, owner=HARBOUR.owner, repo=HARBOUR.repo)
    do("POST", f"{base}/forks", name="berth")
    world.do("will", "POST", f"{base}/issues/1/comments", body=f"@{OWNER}, it does")
    do("PUT", f"user/starred/{HARBOUR.owner}/{HARBOUR.repo}")
    do("PUT", "user/following/will")
    world.do("will", "PUT", f"user/following/{OWNER}")
    do("PUT", f"orgs/{VAULT.owner}/public_members/{OWNER}")
    for owner in ("user", f"orgs/{VAULT.owner}"):
        do("PUT", f"{owner}/blocks/susi")
    async with asyncio.timeout(60):
        while not (threads := do("GET", "notifications")):
            await asyncio.sleep(0.1)
        for hook in hook_ids.values():
            while EVENTS - {one["event"] for one in do("GET", f"{hooks}/{hook}/deliveries?limit=50")}:
                await asyncio.sleep(0.1)
    names = {"thread_id": threads[0]["id"], "sha": merged, "username": OWNER, "basehead": "v1...main"}
    world.things[HARBOUR] = things | names
    deliveries: list[tuple[str, Any]] = []
    for kind, hook in hook_ids.items():
        path = f"{hooks}/{hook}/deliveries"
        deliveries += [(kind, do("GET", f"{path}/{one['id']}")) for one in do("GET", f"{path}?limit=50")]
        do("DELETE", f"{hooks}/{hook}")
    return deliveries


def path_of(world: World, route: Route) -> str:
    instead = {"": {"username": OWNER}, "team": {"username": "tess"}}.get(route.place, {})
    return world.fill(route, HARBOUR, **instead) + QUERIES.get(route.path.removeprefix("/api/v1"), "")


def test_pages_offer_every_type_of_hook():
    assert set(TYPES) == {kind.value for kind in HookType}


async def test_every_address_of_a_page_opens_it_at_its_place(world):
    addresses: dict[str, str] = {}
    silent: set[str] = set()
    wrong: list[str] = []
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        deliveries = await fill(world, client)
        described = promises((await client.get("api/v1/openapi.json")).json())

        def collect(value: Any, source: str) -> int:
            texts = [(name, text) for name, text in strings(value) if text.startswith(world.url)]
            addresses.update({text: source for _, text in texts})
            return sum(is_page(name) for name, _ in texts)

        async def ask(route: Route) -> None:
            path = path_of(world, route)
            who = SITE_ADMINISTRATOR if route.policy == "site" else OWNER
            answer = await client.get(path, headers={"authorization": f"token {world._tokens[who]}"})
            is_json = answer.headers.get("content-type", "").startswith("application/json")
            if not collect(answer.json() if is_json else None, path):
                silent.add(route.path.removeprefix("/api/v1"))

        await in_turn([partial(ask, route) for route in ROUTES if route.method == "GET"])
        for kind, delivery in deliveries:
            source = f"{delivery['event']} for {kind}"
            if kind in NATIVE:
                collect(delivery, source)
                continue
            there = addresses_in(delivery["request"]["payload"], world.url)
            addresses.update(dict.fromkeys(there, source))
            if not there:
                wrong.append(f"{source} has no address")
        form = {"token": TOKEN.search((await client.get("login")).text)[1], "query": ""}
        await client.post("login", data=form | {"username": OWNER, "password": world.password(OWNER)})

        anchors: dict[str, set[str]] = {}
        for address in addresses:
            page, _, anchor = address.partition("#")
            anchors.setdefault(page, set()).add(anchor)

        async def open_page(page: str) -> None:
            answer = await client.get(page)
            there = answer.status_code == 200
            if not FILES.search(page):
                there &= answer.headers["content-type"].startswith("text/html")
                wrong.extend(
                    f"{page}#{anchor}: no such anchor, of {addresses[f'{page}#{anchor}']}"
                    for anchor in anchors[page] - {""}
                    if f'id="{anchor}"' not in answer.text
                )
            if not there:
                wrong.append(f"{page}: {answer.status_code}")

        below = {page: page.removeprefix(world.url) for page in anchors}
        opened = [
            page
            for page in anchors
            if not below[page].startswith(tuple(NO_PAGES)) and not page.endswith(".git")
        ]
        await in_turn([partial(open_page, page) for page in opened])
    print(f"{len(opened)} addresses of {len(described)} operations and {len(deliveries)} deliveries")
    without = silent & described
    wrong += [f"{path} shows no page" for path in without - set(SHOWS_NONE)]
    wrong += [f"{path} shows a page, so SHOWS_NONE need not name it" for path in set(SHOWS_NONE) - without]
    assert not wrong, "\n".join(wrong)
