"""Announced changes of pages, by the API and by pushes."""

import pytest

from ..world import commit, git, work_tree
from .test_api import WIKI, add, edit, encoded


@pytest.fixture
async def app(ann):
    return await ann.create("app")


async def pages(world):
    return [
        (page["action"], page["page"], page.get("comment", ""))
        for event in await world.events("wiki.changed")
        for page in event["pages"]
    ]


async def test_each_change_by_the_api_is_announced(world, ann, app):
    await add(ann, "Read me", message="first")
    await edit(ann, "Read-me", content_base64=encoded("two"))
    await edit(ann, "Read-me", title="Start")
    await ann.call("DELETE", f"/api/v1{WIKI}/page/Start")
    assert await pages(world) == [
        ("created", "Read-me", "first\n"),
        ("edited", "Read-me", 'Update "Read me"\n'),
        ("edited", "Start", 'Update "Start"\n'),
        ("deleted", "Start", 'Delete "Start"\n'),
    ]
    event = (await world.events("wiki.changed"))[0]
    assert (event["repository"]["full_name"], event["sender"]["login"]) == ("ann/app", "ann")
    assert await world.events("push") == []


async def test_a_push_is_announced_with_the_last_change_of_each_page(world, ann, app, git_url, tmp_path):
    work = await work_tree(tmp_path)
    await commit(work, "Home.md", "one", message="add home")
    await commit(work, "Gone.md", "one", message="add gone")
    (work / "Gone.md").unlink()
    await commit(work, "Home.md", "two", message="change home")
    await commit(work, "picture.png", "x", message="a picture")
    remote = f"{git_url}/ann/app.wiki.git"
    await git("push", "-q", remote, "master", cwd=work, person=ann)
    assert await pages(world) == [("created", "Home", "change home\n")]
    await git("push", "-q", remote, "master:other", cwd=work, person=ann)
    assert len(await pages(world)) == 1


async def test_a_push_of_many_pages_is_one_event_of_bounded_size(world, ann, app, git_url, tmp_path):
    work = await work_tree(tmp_path)
    for number in range(60):
        (work / f"P{number}.md").write_text("x")
    await commit(work, "P60.md", "x", message="x" * 5000)
    await git("push", "-q", f"{git_url}/ann/app.wiki.git", "master", cwd=work, person=ann)
    (event,) = await world.events("wiki.changed")
    assert (len(event["pages"]), event["omitted"]) == (50, 11)
    assert {len(page["comment"]) for page in event["pages"]} == {1000}
