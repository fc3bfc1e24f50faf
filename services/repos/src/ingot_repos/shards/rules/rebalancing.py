"""Plans of moves that balance shards, half by bytes and half by requests of git clients."""

from collections.abc import Mapping, Sequence

import msgspec

MOST_MOVES = 500
ENOUGH = 0.05
"""Difference between two shards at which balancing stops, as a fraction of the average load."""


class Load(msgspec.Struct, frozen=True):
    """The load of a shard or network. ``requests`` counts requests of git clients today and yesterday."""

    bytes: int = 0
    requests: int = 0


class Network(msgspec.Struct, frozen=True):
    """Repositories that move together. ``name`` is the name of the first repository."""

    id: int
    name: str
    repositories: int
    load: Load


class PlannedMove(msgspec.Struct, frozen=True):
    network: Network
    source: str
    target: str


def weight(load: Load, total: Load) -> float:
    """Return the share of a load in the total load: half by bytes, half by requests."""
    in_bytes = load.bytes / total.bytes if total.bytes else 0.0
    return (in_bytes + (load.requests / total.requests if total.requests else in_bytes)) / 2


def total_of(loads: Mapping[str, Load]) -> Load:
    return Load(sum(load.bytes for load in loads.values()), sum(load.requests for load in loads.values()))


def plan(loads: Mapping[str, Load], networks: Mapping[str, Sequence[Network]]) -> list[PlannedMove]:
    """Plan at most MOST_MOVES moves from the fullest to the emptiest shard.

    Each move is the largest that makes the difference smaller. Planning ends when the difference is small.
    """
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
        if fitting is None:  # all networks of the shard are too large for the difference
            del weights[fullest]
            continue
        left[fullest].remove(fitting)
        weights[fullest] -= weight(fitting.load, total)
        weights[emptiest] += weight(fitting.load, total)
        moves.append(PlannedMove(fitting, fullest, emptiest))
    return moves
