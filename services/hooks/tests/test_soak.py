"""What was promised holds while everything is killed. The full size: ``python benchmarks/deliveries.py --soak``."""

from pathlib import Path

import pytest

from ingot_chassis.testing.servers import NatsServer
from ingot_hooks.settings import Settings

from .field import Field, soak


@pytest.mark.parametrize("seed", [1])
async def test_every_event_arrives_though_hooks_nats_and_the_receiver_are_killed(
    settings: Settings, own_nats: NatsServer, tmp_path: Path, seed: int
) -> None:
    settings.background, settings.nats_url, settings.delivery_seconds = True, own_nats.url, 1
    field = Field(settings, tmp_path)
    try:
        await soak(field, own_nats, events=150, hooks_=12, kills=3, seed=seed)
    finally:
        await field.close()
