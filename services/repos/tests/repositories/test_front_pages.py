"""Facts of the first page of a repository, as web requests them."""

import pytest

PATH = "/internal/repos/ann/app/front-page"


async def facts(person, path=PATH):
    answer = await person.call("GET", path, peer="web")
    return answer.json() if answer.status_code == 200 else answer.status_code


async def test_the_page_has_what_the_interface_says_of_the_repository(world, ann, bob, base):
    place = "/repos/ann/app"
    commits, branches = await ann.get(f"{place}/commits?limit=1"), await ann.get(f"{place}/branches?limit=1")
    page = await facts(bob)
    [latest] = commits.json()
    assert page["latest"]["sha"] == latest["sha"]
    assert page["latest"]["message"] == latest["commit"]["message"]
    assert page["commit_count"] == int(commits.headers["x-total-count"])
    assert page["branch_count"] == int(branches.headers["x-total-count"])
    assert page["languages"] == (await ann.get(f"{place}/languages")).json()
    assert (page["is_starred"], page["is_watched"]) == (False, False)


async def test_star_and_watch_are_those_of_the_caller(ann, bob, base):
    await bob.call("PUT", "/api/v1/user/starred/ann/app")
    await bob.call("PUT", "/api/v1/repos/ann/app/subscription")
    assert [(one["is_starred"], one["is_watched"]) for one in (await facts(bob), await facts(ann))] == [
        (True, True),
        (False, True),
    ]


async def test_an_empty_repository_has_no_commit(ann):
    await ann.create("app")
    page = await facts(ann)
    assert (page["latest"], page["commit_count"], page["languages"]) == (None, 0, {})


@pytest.mark.parametrize("peer", ["", "issues"])
async def test_no_other_service_and_nobody_without_access_gets_them(world, ann, bob, peer):
    await ann.create("app", private=True, auto_init=True)
    assert (await ann.call("GET", PATH, peer=peer)).status_code in (403, 404)
    assert await facts(bob) == 404
    assert await facts(world.user(0, "")) in (401, 404)
