"""Every delivery arrives though processes die. Full size: ``python benchmarks/deliveries.py --soak``."""

import pytest

from .soak import Rig, soak


@pytest.mark.parametrize("seed", [1])
async def test_every_event_arrives_though_hooks_nats_and_the_receiver_are_killed(
    settings, own_nats, tmp_path, seed
):
    settings.background, settings.nats_url, settings.delivery_seconds = True, own_nats.url, 1
    rig = Rig(settings, tmp_path)
    try:
        await soak(rig, own_nats, events=150, hook_count=12, kills=3, seed=seed)
    finally:
        await rig.close()
