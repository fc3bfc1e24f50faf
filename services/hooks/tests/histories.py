"""Hooks of one repository and what became of their deliveries."""

from typing import Any

from sqlalchemy import update

from .builders import config, hook
from .conftest import World

HOOKS = "/repos/ann/app/hooks"


async def make(world: World, url: str, *, secret: str = "", content_type: str = "json", **more: Any) -> int:
    settings = config(url, secret=secret, content_type=content_type)
    return int((await world.call("POST", HOOKS, hook(config=settings, **more))).json()["id"])


async def history(world: World, id_: int) -> list[Any]:
    listed = await world.call("GET", f"{HOOKS}/{id_}/deliveries")
    return list(listed.json())


async def change_all(world: World, **values: Any) -> None:
    async with world.db.transaction() as tx:
        await tx.execute(update(world.db.metadata.tables["delivery"]).values(values))
