"""Events that hooks can subscribe to (see `ingot_contracts.hooks.webhooks`), and branch filters."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ingot_contracts.hooks.webhooks import FAMILIES, PARTS

EVENTS = tuple(family.name for family in FAMILIES)
KINDS = tuple(part.name for part in PARTS)

DEFAULT = ("push",)

_WHOLE = {part.name: part.of for part in PARTS}
_KINDS_BY_ACTION = {(part.of, action): part.name for part in PARTS for action in part.actions}


def _subscribed_names(kind: str) -> frozenset[str]:
    """Return the names that subscribe to a kind: its own name, and the names of kinds that include it."""
    names = {kind, f"{kind}_only"} if kind in EVENTS else {kind}
    while kind in _WHOLE:
        kind = _WHOLE[kind]
        names.add(kind)
    return frozenset(names)


_SUBSCRIBED_NAMES = {kind: _subscribed_names(kind) for kind in (*EVENTS, *KINDS)}


def subscribed_events(names: Sequence[str]) -> list[str]:
    """Return the known events among ``names``; push if there are no names."""
    return [event for event in (*EVENTS, *KINDS) if event in names] if names else list(DEFAULT)


def is_subscribed(events: Sequence[str], branch_filter: str, *, kind: str, branch: str) -> bool:
    """Return True if a hook with these settings gets events of this kind: a family or its part.

    The name of a family includes all its parts. ``branch`` is empty for an event that has no branch.
    """
    named = not _SUBSCRIBED_NAMES[kind].isdisjoint(events)
    return named and (not branch or branch_matches(branch_filter, branch))


def kind_of(event: str, action: str) -> str:
    """Return the part of the family ``event`` that has ``action``; the family if there is no such part."""
    return _KINDS_BY_ACTION.get((event, action), event)


def branch_matches(branch_filter: str, branch: str) -> bool:
    """Return True if a branch matches a pattern or a list such as ``{main,release/*}``. Empty matches all."""
    if not branch_filter:
        return True
    if branch_filter.startswith("{") and branch_filter.endswith("}"):
        return any(fnmatchcase(branch, pattern.strip()) for pattern in branch_filter[1:-1].split(","))
    return fnmatchcase(branch, branch_filter)
