"""Host keys of the SSH server: generated once, sealed in the database, shared by all replicas."""

import asyncio

from ingot_chassis.db.database import Database
from ingot_chassis.security.sealing import Seal
from ingot_repos.transport.store import host_keys as store

ALGORITHMS = ("ssh-ed25519", "ecdsa-sha2-nistp256")


async def read(database: Database, seal: Seal) -> list[str]:
    """Return the private keys in OpenSSH format. Missing keys are generated. Raises Unreadable."""
    async with database.read() as db:
        rows = await store.list_all(db)
    missing = [name for name in ALGORITHMS if name not in {row.algorithm for row in rows}]
    if missing:
        fresh = {name: await asyncio.to_thread(_generate, name) for name in missing}
        async with database.transaction() as tx:
            for algorithm, key in fresh.items():
                sealed = seal.close(key)
                if sealed is not None:
                    await store.add(tx, algorithm, sealed)
        async with database.read() as db:
            rows = await store.list_all(db)
    return [seal.open(row.sealed) for row in rows]


def _generate(algorithm: str) -> str:
    import asyncssh  # once in the life of an installation

    return asyncssh.generate_private_key(algorithm).export_private_key().decode()
