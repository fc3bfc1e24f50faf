"""Hostile names in addresses, queries and forms of every page of web, on all services: no page fails.

The gate tries each at a third of the pages. ``make soak`` tries each at all pages, with more values
(INGOT_SAFETY).
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_testing.hostile_values import (
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

from ..e2e.deployments import (
    ADMINISTRATOR,
    CHEAP_PASSWORDS,
    Standalone,
    running,
)
from .test_matrix import WHOLE, in_turn
from .test_page_roles import FOR_PROGRAMS
from .test_web_pages import FORM, PATHS, TOKEN
from .world import HOOK

CHOSEN = [*(VALUES if WHOLE else [*STORED, "..", "%"]), f"'\"><i>{MARK}"]
ENDING = re.compile(
    r"/((app|{repo})/settings|settings/(delete|transfer|password|security|two_factor)|transfer|admin/.*)$"
)
"""Forms that end or rename what the others are about."""
NAMES = PATHS | {
    "owner": "hugo", "repo": "app", "org": "hugos", "username": "hugo", "tag": "v1",
    "basehead": "main...topic", "branch": "topic", "sha": "main",
}  # fmt: skip
"""Of what is there; whatever has a number has 1."""
FIXED_FIELDS = {"token", "do", "active"}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """That of an Ingot of its own: what the forms leave is for no other test."""
    deployment = Standalone(tmp_path, CHEAP_PASSWORDS)
    with running(deployment):
        yield deployment.url


async def sign_up(client: httpx.AsyncClient) -> str:
    """Sign in a user who owns a repository with an issue, and an organization. Return the token of forms."""
    person = {"username": "hugo", "email": "hugo@example.org", "password": "what hugo knows well"}
    answer = await client.post("api/v1/admin/users", json=person, auth=ADMINISTRATOR)
    assert answer.status_code == 201, answer.text
    repository = {"name": "app", "auto_init": True, "default_branch": "main"}
    change = {"content": "YQ==", "message": "Add a", "branch": "main", "new_branch": "topic"}
    for path, body in {
        "user/repos": repository,
        "orgs": {"username": "hugos"},
        "repos/hugo/app/issues": {"title": "one"},
        "repos/hugo/app/issues/1/comments": {"body": "hm"},
        "repos/hugo/app/contents/a.txt": change,
        "repos/hugo/app/pulls": {"title": "two", "head": "topic", "base": "main"},
        "repos/hugo/app/releases": {"tag_name": "v1"},
        "repos/hugo/app/milestones": {"title": "one"},
        "repos/hugo/app/hooks": HOOK,
    }.items():
        answer = await client.post(f"api/v1/{path}", json=body, auth=(person["username"], person["password"]))
        assert answer.status_code == 201, answer.text
    form = {"token": TOKEN.search((await client.get("login")).text)[1], "query": ""}  # type: ignore[index]
    answer = await client.post("login", data=form | person)
    assert answer.status_code == 303, answer.text
    return TOKEN.search((await client.get("user/settings")).text)[1]  # type: ignore[index]


async def test_no_page_and_no_form_fails_whatever_it_is_asked_for(url):
    app = create_app(Settings(private_key=SigningKey.generate().text(), background=False))
    document = undescribed(app)
    paths = document["paths"] = {
        path: operations for path, operations in document["paths"].items() if not FOR_PROGRAMS.fullmatch(path)
    }
    wrong: list[str] = []
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        token = await sign_up(client)
        requests = [one for one in in_addresses(document, CHOSEN, NAMES) if not ENDING.search(one.url)]
        forms = [
            HostileRequest(
                "POST", re.sub(r"{(\w+)}", lambda match: NAMES.get(match[1], "1"), path), body=value
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
        assert (await client.get("hugo/app")).status_code == 200
    assert not wrong, "\n".join(wrong)
    assert len(requests) > 500
    assert len(forms) > 150
