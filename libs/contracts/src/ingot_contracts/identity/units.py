"""Units of a repository, and the levels of teams in them."""

from collections.abc import Mapping
from typing import Literal, get_args

Unit = Literal[
    "code",
    "issues",
    "pulls",
    "releases",
    "wiki",
    "ext_wiki",
    "ext_issues",
    "projects",
    "packages",
    "actions",
]
"""A unit of a repository, for which a team may have a separate level. The API writes ``repo.code``."""
UNITS: tuple[Unit, ...] = get_args(Unit)
"""All units, in the order of ``write_levels``. A new unit must be the last."""
UnitLevel = Literal["none", "read", "write", "admin"]
UNIT_LEVELS: tuple[UnitLevel, ...] = get_args(UnitLevel)
"""All levels in ascending order."""
_LETTERS = {level[0]: level for level in UNIT_LEVELS}


def write_levels(levels: Mapping[Unit, UnitLevel]) -> str:
    """Return a level for each unit as one short text, because a principal contains such a text for each team.

    The text has one letter per unit, "-" for a unit that is not in ``levels``.
    """
    return "".join(levels.get(unit, "-")[0] for unit in UNITS).rstrip("-")


def read_levels(text: str) -> dict[Unit, UnitLevel]:
    """Return the levels in a text of ``write_levels``. Units and letters of a later release are ignored."""
    letters = zip(UNITS, text, strict=False)
    return {unit: _LETTERS[letter] for unit, letter in letters if letter in _LETTERS}


def level_in(permission: str, unit: Unit) -> str:
    """Return the level that a permission in a principal gives in a unit.

    The permission is one word for all units, or a text of ``write_levels``.
    """
    if permission in ("", *UNIT_LEVELS, "owner"):
        return permission or "none"
    return read_levels(permission).get(unit, "none")
