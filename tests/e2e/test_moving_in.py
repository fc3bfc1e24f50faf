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


async def move_again(here: People, owner: str) -> list[tuple[str, int, list[str]]]:
    """Repeat the import, and return what changed on both sides."""
    import_id = (await here(owner, "GET", f"repos/{owner}/app/migration"))["id"]
    form = {"auth_username": owner, "auth_password": f"what {owner} knows"}
    await here(owner, "POST", f"repos/migrate/{import_id}/again", form, 202)
    async with asyncio.timeout(PATIENCE):
        while (state := await here(owner, "GET", f"repos/migrate/{import_id}"))["status"] != "done":
            assert state["status"] in ("waiting", "running"), state
            await asyncio.sleep(0.1)
    conflicts = await here(owner, "GET", f"repos/migrate/{import_id}/conflicts")
    assert state["conflicts"] == len(conflicts)
    return [(one["kind"], one["number"], one["fields"]) for one in conflicts]


async def change_both(there: People, here: People, owners: Owners) -> None:
    """Change the source and the copy after an import: each alone, and both."""
    ann, eve = owners
    root = f"repos/{ann}/app"
    await there(ann, "PATCH", f"{root}/issues/6", {"title": "theirs", "state": "closed"}, 201)
    await there(eve, "POST", f"{root}/issues/6/comments", {"body": "later"}, 201)
    await there(eve, "POST", f"{root}/issues", {"title": "a new one"}, 201)
    await there(ann, "POST", f"{root}/labels", {"name": "later", "color": "#123456"}, 201)
    file = {"content": "YQ==", "branch": "main"}
    await there(ann, "POST", f"{root}/contents/later.txt", {**file, "new_branch": "later"}, 201)
    pull = {"title": "later", "head": "later", "base": "main"}
    await there(ann, "POST", f"{root}/pulls", pull, 201)
    await there(ann, "POST", f"{root}/releases", {"tag_name": "v9", "target_commitish": "main"}, 201)
    await here(ann, "PATCH", f"{root}/issues/7", {"title": "ours"}, 201)
    for people, title in ((there, "theirs"), (here, "ours")):
        await people(ann, "PATCH", f"{root}/issues/10", {"title": title}, 201)


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

        await change_both(there, here, owners)
        taken = next_issue["number"]
        expected = [("issue", 10, ["title"]), ("issue", taken, ["number"])]
        assert await move_again(here, ann) == expected
        titles = {
            number: (await here(ann, "GET", f"{root}/issues/{number}"))["title"] for number in (6, 7, 10)
        }
        assert titles == {6: "theirs", 7: "ours", 10: "ours"}
        sixth = await here(ann, "GET", f"{root}/issues/6")
        there_sixth = await there(ann, "GET", f"{root}/issues/6")
        assert (sixth["state"], sixth["comments"]) == ("closed", there_sixth["comments"])
        [last] = [one for one in await here.all(ann, f"{root}/pulls") if one["title"] == "later"]
        assert last["number"] == taken + 1
        assert "v9" in [one["tag_name"] for one in await here.all(ann, f"{root}/releases")]
        counts = [len(await here.all(ann, f"{root}/{path}")) for path in ("issues?state=all", "labels")]
        assert await move_again(here, ann) == expected
        assert counts == [
            len(await here.all(ann, f"{root}/{path}")) for path in ("issues?state=all", "labels")
        ]
