"""Filters of a list of issues or pull requests, parsed from and written to the URL of its page."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

STATES = ("open", "closed", "all")
ABSENCES = ("labels", "milestone", "assignee")
"""Kinds of values for which a list can show the issues that have none."""
MOST_LABELS = 50
"""Maximum number of labels in a filter, as in the API."""
_TEXTS = ("milestone", "assignee", "poster", "q", "sort")


@dataclass(frozen=True)
class ListFilter:
    """The filter of a list. Issues must have all of ``labels``, and no value of the kinds in ``without``.

    Empty fields do not filter.
    """

    state: str = "open"
    labels: tuple[str, ...] = ()
    milestone: str = ""
    assignee: str = ""
    poster: str = ""
    q: str = ""
    sort: str = ""
    without: tuple[str, ...] = ()

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> "ListFilter":
        """Parse the parameters of a URL. Invalid parameters are ignored."""
        pairs = [(name, value) for name, value in parameters if value]
        last = dict(pairs)
        return cls(
            state=last["state"] if last.get("state") in STATES else "open",
            labels=tuple(dict.fromkeys(value for name, value in pairs if name == "labels"))[:MOST_LABELS],
            without=tuple(one for one in ABSENCES if ("without", one) in pairs),
            **{name: last.get(name, "") for name in _TEXTS},
        )

    @property
    def is_narrow(self) -> bool:
        """True if the list is filtered by more than the state."""
        return self != ListFilter(self.state)

    def parameters(self) -> dict[str, str | list[str]]:
        """Return the parameters for the list of the API."""
        values: dict[str, str | list[str]] = {
            "state": self.state,
            "label_name": list(self.labels),
            "milestone_title": self.milestone,
            "assigned_by": self.assignee,
            "created_by": self.poster,
            "q": self.q,
            "sort": self.sort,
            "without": list(self.without),
        }
        return {name: value for name, value in values.items() if value}

    @property
    def query(self) -> str:
        """Return the filter as the query of a URL."""
        return urlencode(_pairs(self))

    def choose(self, name: str, value: str) -> str:
        """Return the URL of the list with this value for ``name``. An empty value removes the filter."""
        changes: dict[str, Any] = {name: value} if value else {}
        return _address(replace(self._cleared(name), **changes))

    def choose_none(self, name: str) -> str:
        """Return the URL of the list of issues without a value for ``name``, one of ABSENCES."""
        cleared = self._cleared(name)
        return _address(replace(cleared, without=(*cleared.without, name)))

    def toggle_label(self, label: str) -> str:
        """Return the URL of the list with this label added to the filter, or removed from it."""
        others = tuple(one for one in self.labels if one != label)
        labels = others if label in self.labels else (*self.labels, label)
        return _address(replace(self._cleared("labels"), labels=labels))

    def pairs_without(self, name: str) -> list[tuple[str, str]]:
        """Return names and values of the other filters, for the form that changes ``name``."""
        return _pairs(self._cleared(name))

    def _cleared(self, name: str) -> "ListFilter":
        """Return the filter without ``name``."""
        changes: dict[str, Any] = {name: getattr(ListFilter, name)}
        return replace(self, without=tuple(one for one in self.without if one != name), **changes)


def _pairs(chosen: ListFilter) -> list[tuple[str, str]]:
    texts = [(name, value) for name in _TEXTS if (value := getattr(chosen, name))]
    labels, absences = ([(name, value) for value in getattr(chosen, name)] for name in ("labels", "without"))
    return [("state", chosen.state), *labels, *texts, *absences]


def _address(chosen: ListFilter) -> str:
    return f"?{chosen.query}"
