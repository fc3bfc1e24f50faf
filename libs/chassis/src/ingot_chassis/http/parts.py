"""Objects of a service that live as long as its process, by class."""

from typing import TypeVar, cast

T = TypeVar("T")

PARTS = "components"
"""The key of `Parts` in an app's state."""


class Parts:
    """Objects by class, at most one per class. For two objects of a kind, make a subclass.

    Raises ValueError for two objects of one class.
    """

    def __init__(self, *parts: object) -> None:
        self._parts = {type(part): part for part in parts}
        if len(self._parts) < len(parts):
            raise ValueError("two parts of one class")

    def __getitem__(self, kind: type[T]) -> T:
        """Return the object of exactly that class. Raises KeyError."""
        return cast("T", self._parts[kind])
