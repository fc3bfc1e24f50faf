"""A guard for tests that would pass without any items."""

from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")


def non_empty(items: Iterable[_T]) -> list[_T]:
    """Return the items. Raises AssertionError if there are none, because a loop would then assert nothing."""
    every = list(items)
    assert every, "there is nothing to check"
    return every
