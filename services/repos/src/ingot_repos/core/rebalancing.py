"""What has to move so that shards have about the same: half of it counts in bytes, half in requests of git clients."""

from collections.abc import Mapping, Sequence

import msgspec

MOST_MOVES = 500
ENOUGH = 0.05
"""The difference between two shards, of what all shards have on average, at which nothing moves any more."""


class Load(msgspec.Struct, frozen=True):
    """What a shard, or a network, has; ``requests`` of git clients, of today and yesterday."""

    bytes: int = 0
    requests: int = 0


class Network(msgspec.Struct, frozen=True):
    """Repositories that move together; ``name`` is that of the first of them."""

    id: int
    name: str
    repositories: int
    load: Load


class PlannedMove(msgspec.Struct, frozen=True):
    network: Network
    source: str
    target: str


def weight(load: Load, total: Load) -> float:
    """The part of the total that this is."""
    in_bytes = load.bytes / total.bytes if total.bytes else 0.0
    return (in_bytes + (load.requests / total.requests if total.requests else in_bytes)) / 2


def total_of(loads: Mapping[str, Load]) -> Load:
    return Load(sum(load.bytes for load in loads.values()), sum(load.requests for load in loads.values()))


def plan(loads: Mapping[str, Load], networks: Mapping[str, Sequence[Network]]) -> list[PlannedMove]:
    """Moves from the fullest shard to the emptiest one, the largest first, as long as each brings them nearer."""
    total = total_of(loads)
    weights = {name: weight(load, total) for name, load in loads.items()}
    left = {
        name: sorted(networks.get(name, ()), key=lambda one: weight(one.load, total), reverse=True)
        for name in loads
    }
    moves: list[PlannedMove] = []
    while len(weights) > 1 and len(moves) < MOST_MOVES:
        fullest, emptiest = max(weights, key=weights.__getitem__), min(weights, key=weights.__getitem__)
        gap = weights[fullest] - weights[emptiest]
        if gap <= ENOUGH / len(loads):
            break
        fitting = next((one for one in left[fullest] if 0 < weight(one.load, total) <= gap / 2), None)
        if fitting is None:  # what it has is too large for the gap
            del weights[fullest]
            continue
        left[fullest].remove(fitting)
        weights[fullest] -= weight(fitting.load, total)
        weights[emptiest] += weight(fitting.load, total)
        moves.append(PlannedMove(fitting, fullest, emptiest))
    return moves
