"""Requests that are cancelled while a thread moves their ref: the move is announced at once, and once."""

import asyncio
import threading

import pytest

from ingot_git.changes import merge
from ingot_repos.pushes.rules import ref_updates
from ingot_repos.releases.rules import edits
from ingot_repos.repositories.internal import lookups


class Gate:
    """Holds the calls of a function in their threads until it is opened."""

    def __init__(self, function):
        self._function = function
        self.reached, self._is_open = threading.Event(), threading.Event()

    def __call__(self, *arguments):
        self.reached.set()
        self._is_open.wait(60)
        return self._function(*arguments)

    def open(self):
        self._is_open.set()


async def merged(ann, base):
    head = {"head_repository_id": base, "head_branch": "topic"}
    body = head | {"number": 1, "base_branch": "master", "head_sha": await tip(ann, base, "topic")}
    return await ann.internal("POST", f"{base}/merge", body)


async def tip(ann, base, branch):
    return (await ann.internal("GET", f"{base}/branches/{branch}")).json()["sha"]


async def deleted(ann, base):
    return await ann.internal("DELETE", f"{base}/branches/topic?tip={await tip(ann, base, 'topic')}")


async def created(ann, _base):
    body = {"new_branch_name": "new", "old_branch_name": "master"}
    return await ann.post("/repos/ann/app/branches", body)


async def released(ann, _base):
    return await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    ("module", "name", "request_move", "ref"),
    [
        (merge, "move_ref", merged, "refs/heads/master"),
        (lookups, "delete_branch", deleted, "refs/heads/topic"),
        (ref_updates, "move_ref", created, "refs/heads/new"),
        (edits, "move_ref", released, "refs/tags/v1"),
    ],
)
async def test_a_move_whose_request_is_cancelled_is_announced_once(
    world, ann, base, monkeypatch, times, module, name, request_move, ref
):
    gate = Gate(getattr(module, name))
    monkeypatch.setattr(module, name, gate)
    before = len(await world.events("push"))
    moving = asyncio.create_task(request_move(ann, base))
    await asyncio.to_thread(gate.reached.wait, 60)
    for _ in range(times):
        moving.cancel()
        await asyncio.wait([moving], timeout=0.05)
    assert not moving.done(), "the outcome is unknown"
    assert len(await world.rows("push")) == 1
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await moving
    assert [event["ref"] for event in (await world.events("push"))[before:]] == [ref]
    assert await world.rows("push") == []


async def test_a_merge_whose_request_is_cancelled_is_not_made_again(world, ann, base, monkeypatch):
    gate = Gate(merge.move_ref)
    monkeypatch.setattr(merge, "move_ref", gate)
    moving = asyncio.create_task(merged(ann, base))
    await asyncio.to_thread(gate.reached.wait, 60)
    moving.cancel()
    again = asyncio.create_task(merged(ann, base))
    gate.open()
    answer = await again
    assert (answer.status_code, answer.json()["already"]) == (200, True)
    events = [event for event in await world.events("push") if event["merged_pull"] == 1]
    assert [event["after"] for event in events] == [answer.json()["sha"]]
