"""The shared store: Litestar's MemoryStore in one process, its RedisStore among replicas."""

from litestar.stores.base import Store
from litestar.stores.memory import MemoryStore
from litestar.stores.redis import RedisStore

from ingot_chassis.settings import SettingsError


def open_store(url: str, namespace: str) -> Store:
    """The store behind ``url`` (memory:// or redis://…), keys under ``namespace``. Raises SettingsError."""
    if url == "memory://":
        return MemoryStore()
    if url.startswith(("redis://", "rediss://", "unix://")):
        return RedisStore.with_client(url=url, namespace=f"ingot:{namespace}")
    raise SettingsError([f"INGOT_STORE_URL={url!r}: memory:// or redis://… is expected"])
