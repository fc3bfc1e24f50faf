"""A hook that is aimed elsewhere: deliveries count where they are sent, not where the hook was aimed before."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from ingot_chassis.tables import now
from ingot_chassis.testing.receiver import Receiver
from ingot_hooks.store.claims import Claimable

from .builders import push
from .conftest import World
from .histories import HOOKS, change_all, claim, history, make

BEFORE = "http://before.example.org/"
ONE = Claimable(1)


async def endpoints(world: World) -> list[str]:
    table = world.db.metadata.tables["delivery"]
    async with world.db.read() as db:
        return [row.endpoint for row in await db.execute(table.select().order_by(table.c.number))]


async def aim(world: World, id_: int, url: str) -> None:
    edited = await world.call("PATCH", f"{HOOKS}/{id_}", {"config": {"url": url}})
    assert edited.status_code == 200


async def test_what_waits_is_not_held_up_by_the_endpoint_before(world: World) -> None:
    busy, aimed = await make(world, BEFORE), await make(world, BEFORE)
    await world.hear(push())
    assert [row.hook_id for row in await claim(world, ONE)] == [busy]
    assert await claim(world, ONE) == []
    await aim(world, aimed, "https://after.example.org/")
    assert await endpoints(world) == ["before.example.org:80", "after.example.org:443"]
    assert [row.hook_id for row in await claim(world, ONE)] == [aimed]


@pytest.mark.parametrize("together", [True, False])
async def test_what_is_sent_once_more_counts_where_it_is_sent(world: World, together: bool) -> None:
    id_ = await make(world, BEFORE)
    await world.hear(push())
    await change_all(world, state="failed")
    await aim(world, id_, "http://after.example.org:81/")
    (shown,) = await history(world, id_)
    below = "" if together else f"/{shown['id']}"
    body = {"since": (now() - timedelta(days=1)).isoformat()} if together else None
    assert (await world.call("POST", f"{HOOKS}/{id_}/deliveries{below}/attempts", body)).status_code == 202
    assert await endpoints(world) == ["after.example.org:81"]


async def test_what_was_claimed_for_the_endpoint_before_is_claimed_anew(
    world: World, receiver: Receiver
) -> None:
    id_ = await make(world, receiver.url)
    for _ in range(3):
        await world.hear(push())
    await change_all(world, endpoint="before.example.org:80")
    await world.deliverer.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("123")
    assert [(row["state"], row["attempts"]) for row in await history(world, id_)] == [("delivered", 1)] * 3
    assert await endpoints(world) == [urlsplit(receiver.url).netloc] * 3
