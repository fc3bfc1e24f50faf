"""The command that applies what was put aside, as an operator starts it."""

import os
import subprocess
import sys

import msgspec
import pytest

from ingot_chassis.tables import now

from .builders import envelope, hook, push
from .conftest import World


def replayed(world: World) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
    return subprocess.run(
        [sys.executable, "-m", "ingot_hooks", "replay"],
        env=kept
        | {
            "INGOT_HOOKS_DATABASE_URL": world.settings.database_url,
            "INGOT_HOOKS_PRIVATE_KEY": world.settings.private_key,
            "INGOT_HOOKS_SEALING_KEY": world.settings.sealing_key,
            "INGOT_NATS_URL": "nats://127.0.0.1:1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("data", "code", "told"), [(None, 0, "1 applied, 0 left"), (b"{}", 2, "0 applied, 1 left")]
)
async def test_an_event_that_was_put_aside_is_told_after_all(
    world: World, data: bytes | None, code: int, told: str
) -> None:
    made = (await world.call("POST", "/repos/ann/app/hooks", hook())).json()
    event = envelope(push(), id_="e1")
    if data is not None:
        event = msgspec.structs.replace(event, data=msgspec.Raw(data))
    row = {"consumer": "hooks", "event_id": "e1", "received_at": now(), "error": "it broke"}
    async with world.db.transaction() as tx:
        inbox = world.db.metadata.tables["inbox"]
        await tx.execute(inbox.insert().values(**row, envelope=msgspec.json.encode(event)))
    ended = replayed(world)
    assert (ended.returncode, ended.stdout.strip().splitlines()[-1]) == (code, told), ended.stderr
    listed = await world.call("GET", f"/repos/ann/app/hooks/{made['id']}/deliveries")
    assert len(listed.json()) == (0 if code else 1)
