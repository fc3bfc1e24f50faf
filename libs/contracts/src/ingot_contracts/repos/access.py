"""Levels of access to repositories, and requests for them."""

from typing import Literal

import msgspec

from ingot_contracts.identity.units import Unit

Level = Literal["none", "read", "write", "admin", "owner"]
LEVELS: tuple[Level, ...] = ("none", "read", "write", "admin", "owner")
SERVED_UNITS: tuple[Unit, ...] = ("code", "issues", "pulls", "releases")
"""The units that peers of the last release know. The lowest level in them is the level for these peers."""
MOST_WATCHERS = 500
"""Maximum number of watchers of a repository who are notified of an event."""
MOST_IDS = 1000
"""Maximum number of ids per ``ReadableRepositories`` and ``OfficialReviewers`` request."""


def reaches(level: Level, required: Level) -> bool:
    """Return whether access at ``level`` includes ``required``."""
    return LEVELS.index(level) >= LEVELS.index(required)


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    admin: bool = False
    push: bool = False
    pull: bool = False


def permission_of(level: Level) -> Permission:
    """Return the permissions of ``level`` as the API shows them."""
    return Permission(
        admin=reaches(level, "admin"), push=reaches(level, "write"), pull=reaches(level, "read")
    )


class AccessLevel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """GET /internal/repositories/{id}/level?user={id}: the access of a user other than the caller.

    ``level`` is the lowest level in ``SERVED_UNITS``. ``units`` has the units with another level.
    """

    level: Level
    units: dict[Unit, Level] = {}

    def of(self, unit: Unit | None) -> Level:
        """Return the level in a unit.

        With None, return the level for parts that belong to no unit: read access to any unit is sufficient to
        read them.
        """
        if unit is not None:
            return self.units.get(unit, self.level)
        reads_any = self.level == "none" and any(level != "none" for level in self.units.values())
        return "read" if reads_any else self.level


class ReadableRepositories(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """POST /internal/readable-repositories: filter ids of repositories by the caller's read access.

    It is both request and response, with at most ``MOST_IDS``. ``team_id``: only repositories that the team
    was given. ``with_levels`` adds the caller's ``levels`` in the code, in the order of ``ids``.

    The response has the repositories of which the caller may read all ``SERVED_UNITS``. ``by_unit`` adds
    repositories of which the caller may read some units. ``unreadable`` has the ids for each unit that the
    caller may not read.
    """

    ids: list[int]
    team_id: int = 0
    with_levels: bool = False
    levels: list[Level] = []
    by_unit: bool = False
    unreadable: dict[Unit, list[int]] = {}


class Watchers(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/watchers: at most ``MOST_WATCHERS`` user ids."""

    ids: list[int]
