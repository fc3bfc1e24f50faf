"""A repository of another Ingot moves in, and every object of it is compared with the source."""

import asyncio
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from .conftest import VARIABLES
from .deployments import Standalone, running
from .moved_objects import allowed_differences, differences, objects_of
from .moved_repository import COUNT, FILE, LARGE, Owners, People, fill

PATIENCE = 120.0


@pytest.fixture
def source(tmp_path: Any) -> Iterator[Standalone]:
    source = Standalone(tmp_path, VARIABLES)
    with running(source):
        yield source


async def move(here: People, owner: str, url: str) -> dict[str, Any]:
    """Import everything of a repository, and return the last state of the import."""
    switches = ("labels", "milestones", "issues", "pull_requests", "releases", "wiki", "lfs", "private")
    form = {
        "clone_addr": url,
        "repo_name": "app",
        "service": "gitea",
        "auth_username": owner,
        "auth_password": f"what {owner} knows",
        **dict.fromkeys(switches, True),
    }
    await here(owner, "POST", "repos/migrate", form, 201)
    async with asyncio.timeout(PATIENCE):
        while (state := await here(owner, "GET", f"repos/{owner}/app/migration"))["status"] != "done":
            assert state["status"] in ("waiting", "running"), state
            await asyncio.sleep(0.1)
    return dict(state)


async def test_a_repository_of_another_ingot_differs_only_where_the_docs_say_so(
    deployment: Any, source: Standalone
) -> None:
    mark = secrets.token_hex(3)
    ann, eve = owners = Owners(f"ann-{mark}", f"eve-{mark}")
    async with (
        httpx.AsyncClient(base_url=f"{source.url}api/v1/", timeout=60) as far,
        httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as near,
    ):
        there, here = People(far), People(near)
        await there.add(ann, eve)
        await here.add(ann)
        await fill(there, owners)
        state = await move(here, ann, f"{source.url}{ann}/app.git")
        assert state["counts"]["issues"] == {"done": COUNT - 1, "total": COUNT - 1}

        root = f"repos/{ann}/app"
        counted = ("open_issues_count", "open_pr_counter")
        there_now = await there(ann, "GET", root)
        async with asyncio.timeout(PATIENCE):
            while True:
                now = await here(ann, "GET", root)
                last = await here(ann, "GET", f"{root}/pulls/{COUNT + 3}")
                if all(now[name] == there_now[name] for name in counted) and last["mergeable"]:
                    break
                await asyncio.sleep(0.05)
        was = await objects_of(there, ann, f"{ann}/app", source.url)
        is_now = await objects_of(here, ann, f"{ann}/app", deployment.url)
        assert not [kind for kind, objects in was.items() if not objects]
        examples, rows = differences(was, is_now), allowed_differences()
        unknown = [one for one in examples if not any(row.describes(one) for row in rows)]
        assert not unknown, "\n".join(f"{' | '.join(one)} | {examples[one]}" for one in sorted(unknown))
        outdated = [outdated for row in rows if (outdated := row.outdated(examples))]
        assert not outdated, f"the docs name what does not differ: {outdated}"

        [asset] = is_now["release"]["v1"]["assets"]
        assert asset["size"] == len(FILE)
        url = (await here(ann, "GET", f"{root}/releases/tags/v1"))["assets"][0]["browser_download_url"]
        assert await here.bytes_at(ann, url) == FILE
        assert await here.bytes_at(ann, f"{root}/media/large.bin") == LARGE
        issue = await here(ann, "GET", f"{root}/issues/4")
        [log] = issue["assets"]
        assert issue["body"] == f"see [the log]({log['browser_download_url']})"
        assert await here.bytes_at(ann, log["browser_download_url"]) == FILE
        await here(ann, "POST", f"{root}/pulls/{COUNT + 3}/merge", {"Do": "merge"})
        next_issue = await here(ann, "POST", f"{root}/issues", {"title": "the next"}, 201)
        assert next_issue["number"] == COUNT + 6
        assert await here(ann, "GET", "notifications") == []
