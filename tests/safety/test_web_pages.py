"""Every page and form of a repository, for people who may not know of it: the same as where nothing is.

The pages are those of the app of web, so a new one is among them. Who else may see or send what is in
``test_page_roles.py``.
"""

import re
from functools import partial
from typing import Any

import httpx
import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_web.app import create_app
from ingot_web.settings import Settings

from .rules import REPOSITORIES
from .test_matrix import in_turn
from .world import ABSENT, World

CLOSED = REPOSITORIES[1]
TOKEN = re.compile(r'name="token" value="([^"]+)"')
HERE = "/{owner}/{repo}"
FORM = {
    **dict.fromkeys(("title", "body", "name", "tag", "target", "url", "key", "description", "path", "branch"),
                    "text"),
    "id": "1", "do": "delete", "style": "merge", "event": "COMMENT", "content": "heart", "line": "1",
    "side": "new", "active": "1",
}  # fmt: skip
PATHS = {"ref": "branch/main/README.md", "path": "branch/main/README.md", "filepath": "branch/main/README.md"}
"""Values of placeholders for paths."""


def pages_of_repositories() -> list[tuple[str, str]]:
    """Method and path of each route of web below a repository."""
    app = create_app(Settings(private_key=SigningKey.generate().text(), background=False))
    return sorted(
        (method, route.path_format)
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
        if route.path_format == HERE or route.path_format.startswith(f"{HERE}/")
    )


def filled(world: World, path: str, repo: str) -> str:
    things = world.things[CLOSED] | PATHS | {"repo": repo}
    return re.sub(r"{(\w+)(?::\w+)?}", lambda match: str(things[match[1]]).lstrip("/"), path)


def comparable(answer: httpx.Response, repo: str) -> tuple[int, str, list[tuple[str, str]]]:
    text = TOKEN.sub("", answer.text.replace(answer.headers.get("x-request-id", "-"), ""))
    compared = ("content-type", "location", "cache-control", "content-security-policy", "set-cookie")
    headers = [
        (name, value.replace(repo, "")) for name, value in answer.headers.multi_items() if name in compared
    ]
    return answer.status_code, re.sub(rf"\b{repo}\b", "", text), sorted(headers)


@pytest.mark.parametrize("who", ["nobody", "sam"])
async def test_pages_and_forms_of_what_one_may_not_see_are_those_of_nothing(world, who):
    wrong: list[str] = []
    routes = pages_of_repositories()
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        page = (await client.get("login")).text
        form: dict[str, Any] = FORM | {"token": TOKEN.search(page)[1]}  # type: ignore[index]
        if who != "nobody":
            signed_in = await client.post(
                "login",
                data={"token": form["token"], "query": "", "username": who, "password": world.password(who)},
            )
            assert signed_in.status_code == 303, signed_in.text
            form["token"] = TOKEN.search((await client.get("user/settings")).text)[1]  # type: ignore[index]

        async def attempt(method: str, path: str) -> None:
            answers = []
            for repo in (CLOSED.repo, ABSENT):
                body = {"data": form} if method == "POST" else {}
                answer = await client.request(method, filled(world, path, repo), **body)
                answers.append(comparable(answer, repo))
            if answers[0] != answers[1] or answers[0][0] >= 500:
                wrong.append(f"{method} {path}: {answers[0]}, where nothing is: {answers[1]}")

        await in_turn([partial(attempt, *each) for each in routes])
    print(f"{len(routes)} pages and forms")
    assert len(routes) > 60
    assert not wrong, "\n".join(wrong)
