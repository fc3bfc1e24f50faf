"""Runs each test with only one of the values of a parameter; tests take turns."""

from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

import pytest


def take_turns(config: pytest.Config, items: list[pytest.Item], values: Sequence[str], marker: str) -> None:
    """Keep one of the ``values`` per test in ``items``, and deselect the others.

    Tests with ``marker`` keep all. The choice depends only on the name, not on the position, because workers
    and later runs must agree.
    """
    cases: dict[str, dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        if isinstance(item, pytest.Function) and not item.get_closest_marker(marker):
            name, _, case = item.nodeid.partition("[")
            for value in {*values} & {*(parts := case.removesuffix("]").split("-"))}:
                parts.remove(value)
                cases[f"{name} {parts}"][value] = item
    left_out = set()
    for name, by_value in cases.items():
        if len(by_value) == len(values):
            turn = values[crc32(name.encode()) % len(values)]
            left_out |= {item for value, item in by_value.items() if value != turn}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
