"""Activities as sentences, and the days of a heatmap."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote

BRANCHES, TAGS = "refs/heads/", "refs/tags/"
WEEKS = 53
LEVELS = 4
"""Number of shades of days with activities."""
CELL = 13
"""Pixels from one day to the next."""
_OF_REPOSITORIES = {
    "create_repo": "created",
    "rename_repo": "renamed",
    "transfer_repo": "transferred",
}
_OF_REFS = {
    "push_tag": "pushed the tag {ref} to",
    "delete_tag": "deleted the tag {ref} of",
    "delete_branch": "deleted the branch {ref} of",
    "mirror_sync_push": "synced {ref} of",
    "mirror_sync_create": "synced the new {ref} of",
    "mirror_sync_delete": "synced the deletion of {ref} of",
    "publish_release": "published the release {ref} of",
}
_OF_NUMBERS = {
    "create_issue": "opened issue #{number} in",
    "close_issue": "closed issue #{number} in",
    "reopen_issue": "reopened issue #{number} in",
    "comment_issue": "commented on issue #{number} in",
    "create_pull_request": "opened pull request #{number} in",
    "close_pull_request": "closed pull request #{number} in",
    "reopen_pull_request": "reopened pull request #{number} in",
    "merge_pull_request": "merged pull request #{number} in",
    "comment_pull": "commented on pull request #{number} in",
    "approve_pull_request": "approved pull request #{number} in",
    "reject_pull_request": "requested changes of pull request #{number} in",
    "pull_review_dismissed": "dismissed a review of pull request #{number} in",
}


@dataclass(frozen=True)
class ActivityLine:
    """An activity as a sentence: the actor, ``words``, the repository.

    ``path`` is the path of the activity's page, without the root of the site. ``lines`` are more details.
    """

    activity: Any
    words: str
    path: str
    lines: Sequence[str]

    @property
    def title(self) -> str:
        """Return the whole sentence as plain text."""
        activity = self.activity
        return f"{activity['act_user']['login']} {self.words} {activity['repo']['full_name']}"


def line_of(activity: Any) -> ActivityLine:
    """Return the sentence of an activity. The sentence of an unknown kind is its name."""
    kind, content = activity["op_type"], activity["content"]
    base = f"/{activity['repo']['full_name']}"
    ref = activity["ref_name"].removeprefix(BRANCHES).removeprefix(TAGS)
    if kind == "commit_repo":
        return _line_of_push(activity, base, ref)
    if kind in _OF_NUMBERS:
        number, _, text = content.partition("|")
        place = "issues" if kind.endswith("_issue") else "pulls"
        anchor = f"#issuecomment-{activity['comment_id']}" if activity["comment_id"] else ""
        words = _OF_NUMBERS[kind].format(number=number)
        return ActivityLine(activity, words, f"{base}/{place}/{number}{anchor}", _lines(text))
    if kind in _OF_REFS:
        path = base
        if kind in ("push_tag", "publish_release"):
            path = f"{base}/{'releases/tag' if kind == 'publish_release' else 'src/tag'}/{quote(ref)}"
        return ActivityLine(activity, _OF_REFS[kind].format(ref=ref), path, _lines(content))
    former = [f"Formerly {content}"] if kind == "rename_repo" and content else []
    return ActivityLine(activity, _OF_REPOSITORIES.get(kind, kind.replace("_", " ")), base, former)


def _line_of_push(activity: Any, base: str, ref: str) -> ActivityLine:
    content = json.loads(activity["content"] or "{}")
    total = content.get("Len", 0)
    count = {0: "", 1: "1 commit "}.get(total, f"{total} commits ")
    lines = [line for one in content.get("Commits", ()) for line in _lines(one["Message"])[:1]]
    path = f"{base}/commits/branch/{quote(ref)}"
    return ActivityLine(activity, f"pushed {count}to {ref} of", path, lines)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@dataclass(frozen=True)
class Day:
    """A day of a heatmap, with its position in the picture. ``level`` is 0 without activities."""

    day: date
    count: int
    level: int
    x: int
    y: int

    @property
    def label(self) -> str:
        """Return the text of the day for screen readers."""
        return f"{count_of(self.count)} on {self.day.isoformat()}"


@dataclass(frozen=True)
class Heatmap:
    """The days of the last 53 weeks. Weeks begin on Sunday.

    ``months`` has the number of contributions of each month, latest first.
    """

    days: Sequence[Day]
    total: int
    months: Sequence[tuple[str, int]]
    width: int = field(default=WEEKS * CELL)
    height: int = field(default=7 * CELL)

    @property
    def label(self) -> str:
        """Return the text of the picture for screen readers."""
        return f"{count_of(self.total)} in the last {WEEKS} weeks"


def count_of(number: int) -> str:
    """Return a number of contributions as text."""
    return f"{number} contribution{'' if number == 1 else 's'}"


def heatmap_of(slots: Iterable[Any], today: date) -> Heatmap:
    """Return the heatmap until ``today`` (UTC) from a response of the API."""
    counts: Counter[date] = Counter()
    for slot in slots:
        counts[datetime.fromtimestamp(slot["timestamp"], UTC).date()] += slot["contributions"]
    weekday = today.isoweekday() % 7
    first = today - timedelta(days=7 * (WEEKS - 1) + weekday)
    days = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    most = max((counts[day] for day in days), default=0)
    shown = [
        Day(
            day,
            counts[day],
            -(-counts[day] * LEVELS // most) if most else 0,
            CELL * (number // 7),
            CELL * (number % 7),
        )
        for number, day in enumerate(days)
    ]
    months: Counter[str] = Counter()
    for day in days:
        months[f"{day:%Y-%m}"] += counts[day]
    return Heatmap(shown, sum(months.values()), sorted(months.items(), reverse=True))
