"""What pushes mean for open pull requests: who is compared again, how often, and what that costs."""

import asyncio

import msgspec
import pytest
from sqlalchemy import delete, select, text

from ingot_chassis.errors import NotFound
from ingot_chassis.migrations import upgrade
from ingot_issues.app import SCRIPTS

from .builders import APP, BASE, FORK, HEAD, NEXT, comparison, fill, push, repository
from .conftest import World
from .test_pulls import propose, told


async def propose_many(world: World, *heads: str) -> None:
    for head in heads:
        await propose(world, head=head, as_=4 if head.startswith("dan:") else 2)
    await world.workers.step()
    world.repos.compares.clear()
    world.repos.asked.clear()


async def test_all_pull_requests_of_a_base_are_compared_in_one_call(world: World) -> None:
    heads = [*(f"fix{number}" for number in range(4)), "dan:fix"]
    await propose_many(world, *heads)
    world.repos.compared = comparison(base_sha=NEXT)
    await world.hear(push(after=NEXT))
    assert await world.workers.step() == 1
    assert world.repos.asked == ["comparisons"]
    asked = [(one.number, one.head_repository_id, one.head_branch) for one in world.repos.compares]
    assert asked == [
        *((number + 1, APP, f"fix{number}") for number in range(4)),
        (5, FORK, "fix"),
    ]
    shown = (await world.call("GET", "/pulls?limit=50")).json()
    assert {(pull["mergeable"], pull["base"]["sha"]) for pull in shown} == {(True, NEXT)}


async def filled(world: World, count: int) -> None:
    """``count`` pull requests, and the copies of the repositories that come with the first of them."""
    await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})
    await world.call("POST", "/milestones", {"title": "one"})
    await propose_many(world, "dan:fix")
    await fill(world.db, 2, 2 * count - 2)


async def test_more_than_100_are_compared_in_several_calls(world: World) -> None:
    await filled(world, 101)
    await world.hear(push(after=NEXT))
    assert await world.workers.step() == 2
    assert (world.repos.asked, len(world.repos.compares)) == (["comparisons"] * 2, 101)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)  # all statements are seen there
@pytest.mark.parametrize("count", [2, 30])
async def test_what_a_push_to_the_base_takes_does_not_depend_on_how_many_it_is_of(
    world: World, count: int
) -> None:
    await filled(world, count)
    world.repos.compared = comparison(base_sha=NEXT)
    with world.statements() as counted:
        await world.hear(push(after=NEXT))
        await world.workers.step()
    assert len(world.repos.compares) == count
    assert len([statement for statement in counted if not statement.startswith("BEGIN")]) == 19


async def test_each_is_noted_as_it_compares(world: World) -> None:
    await propose_many(world, "fits", "conflicts", "gone", "moved", "joined")
    world.repos.heads = {
        "fits": comparison(base_sha=NEXT),
        "conflicts": comparison(base_sha=NEXT, mergeable=False),
        "gone": NotFound(),
        "moved": comparison(base_sha=NEXT, head_sha="1" * 40),
        "joined": comparison(base_sha=NEXT, commits=0),
    }
    await world.hear(push(after=NEXT))
    await world.workers.step()
    shown = {pull["head"]["ref"]: pull for pull in (await world.call("GET", "/pulls")).json()}
    assert {name: (pull["mergeable"], pull["base"]["sha"]) for name, pull in shown.items()} == {
        "fits": (True, NEXT),
        "conflicts": (False, NEXT),
        "gone": (False, BASE),
        "moved": (True, NEXT),
        "joined": (False, BASE),
    }
    assert {name for name, pull in shown.items() if pull["merged"]} == {"joined"}
    assert (shown["moved"]["head"]["sha"], shown["fits"]["head"]["sha"]) == ("1" * 40, HEAD)
    assert (await told(world))[5:] == [("synchronized", False), ("closed", True)]


@pytest.mark.parametrize(("ref", "after"), [("refs/heads/main", BASE), ("refs/heads/fix", HEAD)])
async def test_what_was_compared_since_the_push_is_not_compared_again(
    world: World, ref: str, after: str
) -> None:
    await propose_many(world, "fix")
    await world.hear(push(ref, after=after))
    assert await world.workers.step() == 0
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is True


async def test_a_push_there_and_back_is_compared_as_it_ends(world: World) -> None:
    await propose_many(world, "fix")
    for after in (NEXT, BASE):
        await world.hear(push(after=after))
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is False
    assert await world.workers.step() == 2
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is True


async def test_a_check_that_an_older_release_left_is_made(world: World) -> None:
    await propose_many(world, "fix")
    world.repos.compared = comparison(base_sha=NEXT)
    await world.hear(push(after=NEXT))
    job = world.db.metadata.tables["job"]
    old = {"issue_id": 1, "pushed": NEXT, "pusher_id": 2, "side": "base"}
    gone = {**old, "issue_id": 999}
    async with world.db.transaction() as tx:
        [waiting] = (await tx.execute(select(job).where(job.c.state == "waiting"))).all()
        values = {**waiting._mapping, "kind": "pull.check"}
        await tx.execute(delete(job))
        for number, payload in enumerate((old, gone)):
            more = {"id": 90 + number, "key": str(number), "payload": msgspec.json.encode(payload)}
            await tx.execute(job.insert().values(values | more))
        await tx.execute(text("UPDATE alembic_version SET version_num = '0005'"))
    url = world.db.url.render_as_string(hide_password=False)
    await asyncio.to_thread(lambda: asyncio.run(upgrade(url, SCRIPTS)))
    assert await world.workers.step() == 1
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["mergeable"], shown["base"]["sha"]) == (True, NEXT)


async def test_one_that_has_another_base_by_now_is_left_alone(world: World) -> None:
    await propose_many(world, "fix")
    await world.hear(push(after=NEXT))
    await world.call("PATCH", "/pulls/1", {"base": "next"})
    world.repos.compares.clear()
    await world.workers.step()
    assert world.repos.compares == []


async def test_a_push_to_a_head_checks_each_base_it_is_proposed_for(world: World) -> None:
    await propose_many(world, "fix")
    await propose(world, base="stable")
    await world.workers.step()
    world.repos.compares.clear()
    world.repos.compared = comparison(head_sha=NEXT)
    await world.hear(push("refs/heads/fix", after=NEXT))
    assert await world.workers.step() == 2
    assert [one.base_branch for one in world.repos.compares] == ["main", "stable"]


async def test_a_head_that_has_moved_unnoticed_is_merged_as_it_is(world: World) -> None:
    await propose_many(world, "fix")
    world.repos.compared = comparison(head_sha=NEXT)
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    assert [asked.head_sha for asked in world.repos.merges] == [HEAD, NEXT]
    assert (await world.call("GET", "/pulls/1")).json()["head"]["sha"] == NEXT
    assert await told(world) == [("opened", False), ("synchronized", False), ("closed", True)]


async def test_a_merge_asks_repos_once(world: World) -> None:
    await propose_many(world, "fix")
    assert (await world.call("POST", "/pulls/1/merge", {"head_commit_id": HEAD})).status_code == 200
    assert (len(world.repos.merges), world.repos.asked.count("compare")) == (1, 0)
    [asked] = world.repos.merges
    assert (asked.head_repository_id, asked.head_branch) == (APP, "fix")


async def test_a_fork_is_asked_for_where_it_is(world: World) -> None:
    world.repos.repositories[8] = repository(8, owner=4, parent=repository())
    await propose_many(world, "dan:fix")
    await world.call("POST", "/pulls/1/merge")
    assert (world.repos.merges[0].head_repository_id, world.repos.merges[0].head_branch) == (FORK, "fix")
