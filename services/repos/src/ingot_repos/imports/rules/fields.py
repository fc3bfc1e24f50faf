"""Form fields that select non-git data to import."""

from collections.abc import Collection, Mapping
from typing import Literal

from ingot_chassis.errors import Invalid
from ingot_remotes.interface.source import SOURCES, Kind
from ingot_repos.imports.rules.lifecycle import NewSource

OF_A_FORGE = ("issues", "labels", "milestones", "pull_requests", "releases", "wiki")
"""Data of a forge next to git. Like Gitea, Ingot ignores these fields for plain git and mirrors."""
KINDS_OF_FIELDS: Mapping[str, tuple[Kind | Literal["wiki"], ...]] = {
    "labels": ("labels",),
    "milestones": ("milestones",),
    "issues": ("issues", "comments", "times", "dependencies"),
    "pull_requests": ("pulls", "comments", "times", "dependencies"),
    "releases": ("releases",),
    "wiki": ("wiki",),
}
"""Fields of a form whose data is imported from ``SOURCES``."""


def new_source(
    service: str,
    fields: Collection[str],
    *,
    maps_people: bool,
    map_logins: bool,
    people: dict[str, int],
) -> NewSource | None:
    """Return the non-git data to import, or None if the form selects none. Raises Invalid."""
    kinds: set[str] = set()
    for name in (name for name in OF_A_FORGE if name in fields):
        if service not in SOURCES or name not in KINDS_OF_FIELDS:
            raise Invalid.field(name, "unsupported", f"{name} of {service} are not imported")
        kinds.update(KINDS_OF_FIELDS[name])
    if not kinds:
        return None
    return NewSource(
        service=service,
        kinds=sorted(kinds),
        maps_people=maps_people,
        map_logins=map_logins,
        people=people,
    )
