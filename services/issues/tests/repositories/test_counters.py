"""Many writers at once: numbers without gaps, and no deadlock."""

import asyncio
from typing import Any

import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryEdited

from ..builders import APP, FORK, NEXT, comparison, new_commit, push, repository
from ..world import PULL

pytestmark = pytest.mark.both_databases

ROUNDS = 12


WRITERS, ISSUES = 64, 640


async def test_pull_requests_are_opened_while_pushes_and_edits_of_their_repositories_arrive(
    world,
):
    """Run requests of two repositories that are proposed for each other, in parallel to their consumer."""
    world.repos.repositories[APP] = repository(parent=repository(FORK, owner=4), fork=True)
    world.repos.levels[(APP, 4)] = "write"
    for path in ("", "//repos/dan/app"):
        await world.call("POST", f"{path}/issues", {"title": "x"}, as_=4)
        await world.call("POST", f"{path}/labels", {"name": "bug", "color": "#ff0000"}, as_=4)
    world.repos.comparison = comparison(base_sha=NEXT)

    async def request(method: str, path: str, body: Any) -> None:
        answer = await world.call(method, path, body, as_=4)
        assert answer.status_code < 400, answer.text

    async def consumer() -> None:
        for number in range(ROUNDS):
            commit = new_commit(f"{number:040x}", "see #1")
            for of in (repository(), repository(FORK, owner=4)):
                await world.deliver(push(after=f"{number + 1:040x}", repository=of, commits=[commit]))
                await world.deliver(RepositoryEdited(repository=of, sender=User(id=4, login="dan")))

    async def jobs() -> None:
        for _ in range(ROUNDS):
            await world.workers.step()
            await world.announcer.step()

    async def writer(number: int) -> None:
        for path, head in (("", "dan:b"), ("//repos/dan/app", "ann:b")):
            await request("POST", f"{path}/pulls", PULL | {"head": f"{head}{number}", "body": "see #1"})
            await request("POST", f"{path}/issues/1/comments", {"body": f"see ann/app#1 dan/app#1 {number}"})
            await request("PUT", f"{path}/issues/1/labels", {"labels": ["bug"] if number % 2 else []})

    await asyncio.gather(consumer(), jobs(), *(writer(number) for number in range(ROUNDS)))
    for path in ("", "//repos/dan/app"):
        listed = await world.call("GET", f"{path}/pulls?limit=50")
        assert [pull["number"] for pull in listed.json()] == list(range(ROUNDS + 1, 1, -1))


async def test_a_pull_request_is_merged_while_its_push_and_others_arrive(world):
    numbers = [(await world.propose(head=f"fix{number}"))["number"] for number in range(8)]
    commit = new_commit(NEXT, "see #1 #2 #3")
    merging = (
        world.call("POST", f"/pulls/{number}/merge", {"delete_branch_after_merge": True})
        for number in numbers
    )
    hearing = (
        world.deliver(push(after=f"{number:040x}", merged_pull=number, commits=[commit]))
        for number in numbers
    )

    async def in_order() -> None:
        for one in hearing:
            await one

    async def jobs() -> None:
        for _ in numbers:
            await world.workers.step()

    answers, *_ = await asyncio.gather(asyncio.gather(*merging), in_order(), jobs())
    assert {answer.status_code for answer in answers} <= {200, 405}
    pulls = (await world.call("GET", "/pulls?state=closed")).json()
    assert [pull["merged"] for pull in pulls] == [True] * len(numbers)
    assert (await world.open_counts()) == (0, 0)


async def test_sixty_four_writers_at_once_number_issues(world):
    waiting = iter(range(ISSUES))
    numbers: list[int] = []

    async def write(writer: int) -> None:
        for n in waiting:
            answer = await world.call("POST", "/issues", {"title": f"{n}"}, as_=1 + writer % 4)
            assert answer.status_code == 201, answer.text
            numbers.append(answer.json()["number"])

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    assert sorted(numbers) == list(range(1, ISSUES + 1))
    assert (await world.call("GET", "/issues?limit=1")).headers["x-total-count"] == str(ISSUES)
