"""The command that applies dead-lettered events, as an operator starts it."""

import os
import subprocess
import sys

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_testing.service import envelope_of

from ..builders import hook, push
from ..world import World

pytestmark = pytest.mark.both_databases


def replay(world: World) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
    return subprocess.run(
        [sys.executable, "-m", "ingot_hooks", "replay"],
        env=environment
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
    ("data", "code", "message"), [(None, 0, "1 applied, 0 left"), (b"{}", 2, "0 applied, 1 left")]
)
async def test_replay_applies_a_dead_lettered_event(world, data, code, message):
    created = (await world.call("POST", "/repos/ann/app/hooks", hook())).json()
    envelope = envelope_of(push(), event_id="e1")
    if data is not None:
        envelope = msgspec.structs.replace(envelope, data=msgspec.Raw(data))
    row = {"consumer": "hooks", "event_id": "e1", "received_at": now(), "error": "it failed"}
    async with world.db.transaction() as tx:
        inbox = world.table("inbox")
        await tx.execute(inbox.insert().values(**row, envelope=msgspec.json.encode(envelope)))
    ended = replay(world)
    assert (ended.returncode, ended.stdout.strip().splitlines()[-1]) == (code, message), ended.stderr
    listed = await world.call("GET", f"/repos/ann/app/hooks/{created['id']}/deliveries")
    assert len(listed.json()) == (0 if code else 1)
