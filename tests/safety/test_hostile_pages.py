"""Hostile names in addresses, queries and forms of every page of web, with all services behind it: none fails.

In the gate each is tried at a third of the places, by ``make soak`` at all, and with more values (INGOT_SAFETY).
"""

import re
from functools import partial

import httpx

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.testing.hostile_values import (
    MARK,
    STORED,
    VALUES,
    HostileRequest,
    in_addresses,
    is_turn_of,
    undescribed,
)
from ingot_web.app import create_app
from ingot_web.settings import Settings

from .rules import REPOSITORIES
from .test_matrix import WHOLE, in_turn
from .test_page_roles import FOR_PROGRAMS
from .test_web_pages import FORM, PATHS, TOKEN
from .world import World

CHOSEN = [*(VALUES if WHOLE else [*STORED, "..", "%"]), f"'\"><i>{MARK}"]
ENDING = re.compile(
    r"/((app|{repo})/settings|settings/(delete|transfer|password|security|two_factor)|transfer|admin/.*)$"
)
"""Forms that end or rename what the others are about."""
FIXED_FIELDS = {"token", "do", "active"}


async def person(world: World, client: httpx.AsyncClient) -> tuple[str, dict[str, str]]:
    """Somebody who has signed in, owns a repository with an issue and an organization, and names for paths."""
    name, password = "hugo", "what hugo knows well"
    world.do("root", "POST", "admin/users", username=name, email=f"{name}@example.org", password=password)
    for method, path, body in (
        ("POST", "user/repos", {"name": "app", "auto_init": True, "default_branch": "main"}),
        ("POST", "orgs", {"username": "hugos"}),
        ("POST", f"repos/{name}/app/issues", {"title": "one"}),
    ):
        answer = await client.request(method, f"api/v1/{path}", json=body, auth=(name, password))
        assert answer.status_code == 201, answer.text
    form = {"token": TOKEN.search((await client.get("login")).text)[1], "query": ""}  # type: ignore[index]
    answer = await client.post("login", data=form | {"username": name, "password": password})
    assert answer.status_code == 303, answer.text
    names = {key: str(value) for key, value in world.things[REPOSITORIES[0]].items()}
    own = {"owner": name, "repo": "app", "org": "hugos", "username": name, "index": "1"}
    return TOKEN.search((await client.get("user/settings")).text)[1], names | PATHS | own  # type: ignore[index]


async def test_no_page_and_no_form_fails_whatever_it_is_asked_for(world):
    app = create_app(Settings(private_key=SigningKey.generate().text(), background=False))
    document = undescribed(app)
    paths = document["paths"] = {
        path: operations for path, operations in document["paths"].items() if not FOR_PROGRAMS.fullmatch(path)
    }
    wrong: list[str] = []
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        token, names = await person(world, client)
        requests = [one for one in in_addresses(document, CHOSEN, names) if not ENDING.search(one.url)]
        forms = [
            HostileRequest(
                "POST", re.sub(r"{(\w+)}", lambda match: names.get(match[1], "1"), path), body=value
            )
            for path, operations in paths.items()
            if "post" in operations and not ENDING.search(path)
            for value in CHOSEN
            if is_turn_of(value, len(path))
        ]

        async def attempt(one: HostileRequest) -> None:
            value = FORM["title"] if one.body is None else one.body.encode("utf-8", "surrogateescape")
            form = FORM | {name: value for name in FORM if name not in FIXED_FIELDS} | {"token": token}
            body = {"data": form} if one.method == "POST" else {}
            answer = await client.request(one.method, one.url.lstrip("/"), **body)
            if answer.status_code >= 500 or "a" in answer.cookies or f"<i>{MARK}" in answer.text:
                wrong.append(f"{one.method} {one.url[:200]} {value[:80]!r}: {answer.status_code}")

        await in_turn([partial(attempt, one) for one in (*requests, *forms)])
        print(f"{len(requests)} addresses, {len(forms)} forms")
        assert (await client.get(f"{names['owner']}/{names['repo']}")).status_code == 200
    assert not wrong, "\n".join(wrong)
    assert len(requests) > 500
    assert len(forms) > 150
