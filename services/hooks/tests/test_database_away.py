"""A database that goes away in the middle of a lane: what was sent is recorded later, and the rest waits in its order."""

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest
from sqlalchemy import make_url
from structlog.testing import capture_logs

from ingot_chassis.db import pool
from ingot_chassis.testing.receiver import Answer
from ingot_chassis.testing.wires import wire
from ingot_hooks.workers.deliveries import FRESH_SECONDS

from .builders import push
from .world import World


class Break:
    """Ends every connection that is used while it is on."""

    on = False

    async def __call__(self, part: bytes) -> bytes | None:
        return None if self.on else part


@asynccontextmanager
async def behind_a_wire(settings, up: Break):
    address = make_url(settings.database_url)
    async with wire(address.host or "127.0.0.1", address.port or 5432, up=up) as port:
        through = address.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        world = World(msgspec.structs.replace(settings, database_url=through))
        yield world
        await world.close()


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_lane_waits_while_the_database_is_away(settings, receiver, monkeypatch):
    monkeypatch.setattr(pool, "AWAY_SECONDS", 0.1)
    cut = Break()
    async with behind_a_wire(settings, cut) as world:
        hook_id = await world.create_hook(receiver.url)
        for _ in range(3):
            await world.deliver(push())
        receiver.answer_next(Answer(delay=2 * FRESH_SECONDS))  # Then the hook is read again.
        with capture_logs() as logs:
            step = asyncio.create_task(world.worker.step())
            await receiver.wait_for(1)
            cut.on = True
            async with asyncio.timeout(60):
                while 3 not in [line.get("count") for line in logs]:  # outcomes that are not recorded
                    await asyncio.sleep(0.02)
            cut.on = False
            await step
        assert not [line for line in logs if "attempt failed" in line["event"]]
        first, second, third = reversed(await world.history(hook_id))
        assert [first["state"], second["state"], third["state"]] == ["delivered", "pending", "pending"]
        assert second["error"] == "the permission for it could not be checked: the database does not answer"
        await world.new_worker().step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == ["1", "2", "3"]
