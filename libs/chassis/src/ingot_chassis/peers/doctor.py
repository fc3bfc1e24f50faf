"""Checks of the services that a service calls. Results are lines for an operator."""

import asyncio

from ingot_chassis.errors import ApiError
from ingot_chassis.peers.peers import Peer, Peers


async def examine_peers(service: str, peers: Peers) -> list[str]:
    """Return one line for each service that is not ready. Each check has the timeout of other calls."""
    lines = await asyncio.gather(*(_examine(service, peer) for peer in peers.values()))
    return [line for line in lines if line]


async def _examine(service: str, peer: Peer) -> str:
    try:
        await peer.call("GET", "/readyz")
    except ApiError as error:
        return (
            f"{service}: {peer.name} is not ready: {error.message}; "
            f"run `ingot-{peer.name} doctor`, and look at its log"
        )
    return ""
