"""The history of a hook over HTTP, and redeliveries."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now

from ..builders import push
from ..world import HOOKS


async def test_a_test_reaches_an_inactive_hook(world, receiver):
    hook_id = await world.create_hook(receiver.url, active=False, events=["issues"])
    assert (await world.call("POST", f"{HOOKS}/{hook_id}/tests")).status_code == 204
    await world.worker.step()
    (request,) = receiver.requests
    assert request.headers["X-Gitea-Event"] == "push"
    assert json.loads(request.body)["sender"]["login"] == "ann"


async def test_a_test_names_the_branch_that_was_asked_for(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    world.repos.branches[7, "next"] = "b" * 40
    for ref, status in (("next", 204), ("refs/heads/next", 204), ("none", 404), ("refs/tags/next", 404)):
        assert (await world.call("POST", f"{HOOKS}/{hook_id}/tests?ref={ref}")).status_code == status
    await world.worker.step()
    bodies = [json.loads(request.body) for request in receiver.requests]
    assert [(body["ref"], body["after"]) for body in bodies] == [("refs/heads/next", "b" * 40)] * 2


async def test_a_test_has_the_commit_of_the_default_branch(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    world.repos.branches[7, "main"] = "c" * 40
    assert (await world.call("POST", f"{HOOKS}/{hook_id}/tests")).status_code == 204
    await world.worker.step()
    (request,) = receiver.requests
    body = json.loads(request.body)
    assert (body["ref"], body["before"], body["after"]) == ("refs/heads/main", "c" * 40, "c" * 40)
    assert body["head_commit"]["id"] == "c" * 40
    assert (body["commits"], body["total_commits"]) == ([body["head_commit"]], 1)


async def test_a_test_of_an_empty_repository_has_no_commit(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    world.repos.branches.pop((7, "main"), None)
    assert (await world.call("POST", f"{HOOKS}/{hook_id}/tests")).status_code == 204
    await world.worker.step()
    (request,) = receiver.requests
    body = json.loads(request.body)
    assert (body["head_commit"], body["commits"], body["total_commits"]) == (None, [], 0)


async def test_a_delivery_in_a_final_state_can_be_sent_again(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    (waiting,) = await world.history(hook_id)
    path = f"{HOOKS}/{hook_id}/deliveries/{waiting['id']}/attempts"
    assert (await world.call("POST", path)).status_code == 409
    await world.worker.step()
    assert (await world.call("POST", path)).status_code == 202
    await world.worker.step()
    assert [request.headers["webhook-id"] for request in receiver.requests] == [waiting["id"]] * 2


async def test_a_delivery_that_waits_for_its_next_attempt_can_be_sent_at_once(world, receiver):
    """A user does so after repairing the receiver."""
    hook_id = await world.create_hook(receiver.url)
    receiver.answer(500)
    await world.deliver(push())
    await world.worker.step()
    (waiting,) = await world.history(hook_id)
    assert (waiting["state"], waiting["attempts"]) == ("pending", 1)
    receiver.answer(200)
    path = f"{HOOKS}/{hook_id}/deliveries/{waiting['id']}/attempts"
    assert (await world.call("POST", path)).status_code == 202
    await world.worker.step()
    (sent,) = await world.history(hook_id)
    assert (sent["state"], sent["attempts"]) == ("delivered", 1)


async def test_the_history_of_another_hook_is_not_found(world, receiver):
    one, other = await world.create_hook(receiver.url), await world.create_hook(receiver.url, active=False)
    await world.deliver(push())
    (delivery,) = await world.history(one)
    assert (await world.call("GET", f"{HOOKS}/{other}/deliveries/{delivery['id']}")).status_code == 404
    assert (
        await world.call("POST", f"{HOOKS}/{other}/deliveries/{delivery['id']}/attempts")
    ).status_code == 404
    assert (await world.call("GET", f"{HOOKS}/{one}/deliveries", user=2)).status_code == 403


async def test_all_that_failed_since_a_time_is_sent_again(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    for _ in range(3):
        await world.deliver(push())
    ids = [row["id"] for row in await world.history(hook_id)][::-1]
    await world.update_all("delivery", state="failed")
    async with world.db.transaction() as tx:
        table = world.table("delivery")
        old = now() - timedelta(days=2)
        await tx.execute(update(table).where(table.c.id == ids[0]).values(created_at=old))
    path = f"{HOOKS}/{hook_id}/deliveries/attempts"
    answer = await world.call("POST", path, {"since": (now() - timedelta(days=1)).isoformat()})
    assert (answer.status_code, answer.json()) == (202, {"count": 2})
    await world.worker.step()
    assert [request.headers["webhook-id"] for request in receiver.requests] == ids[1:]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"since": "now"}, 422),
        ({"since": 1e300}, 422),
        ({"since": []}, 422),
        ({"since": "0001-01-01T00:00:00+14:00"}, 422),
        ({"since": "9999-12-31T23:59:59-14:00"}, 422),
        ({"since": "1969-12-31T23:59:59Z"}, 422),
    ],
)
async def test_a_value_that_is_no_time_is_rejected(world, body, status):
    hook_id = await world.create_hook("http://one.example.org/")
    response = await world.call("POST", f"{HOOKS}/{hook_id}/deliveries/attempts", body)
    assert response.status_code == status
    assert response.json()["errors"][0]["field"] == "since"
