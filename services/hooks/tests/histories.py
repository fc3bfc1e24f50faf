"""Hooks of one repository and what became of their deliveries."""

from datetime import timedelta
from typing import Any

from sqlalchemy import update

from ingot_hooks.store import claims
from ingot_hooks.store.claims import Claimable
from ingot_hooks.store.deliveries import DeliveryRow

from .builders import config, hook
from .conftest import World

HOOKS = "/repos/ann/app/hooks"
SOME = Claimable(4)


async def make(world: World, url: str, *, secret: str = "", content_type: str = "json", **more: Any) -> int:
    settings = config(url, secret=secret, content_type=content_type)
    return int((await world.call("POST", HOOKS, hook(config=settings, **more))).json()["id"])


async def history(world: World, id_: int) -> list[Any]:
    listed = await world.call("GET", f"{HOOKS}/{id_}/deliveries")
    return list(listed.json())


async def change_all(world: World, **values: Any) -> None:
    async with world.db.transaction() as tx:
        await tx.execute(update(world.db.metadata.tables["delivery"]).values(values))


async def claim(
    world: World, wanted: Claimable = SOME, *, lease: timedelta = timedelta(hours=1)
) -> list[DeliveryRow]:
    """As a worker does, one delivery of each lane."""
    async with world.db.transaction() as tx:
        found = await claims.find(tx, 10, wanted)
        return await claims.take(tx, found.numbers, lease=lease)
