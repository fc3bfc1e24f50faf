"""What one process of issues holds beside what the chassis holds for every service."""

from dataclasses import dataclass, field

from cachetools import LRUCache

from ingot_chassis.http.concurrency import ConcurrencyQueue
from ingot_chassis.jobs.jobs import Jobs
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.core.attachments import AttachmentEditor
from ingot_issues.core.rendered_texts import RenderedTexts

MOST_COPIED_ACCOUNTS = 10_000
MARKDOWN_AT_ONCE = 2
"""Texts of one caller that are rendered at once; others come in between."""
MARKDOWN_WAITING = 14
"""Texts of one caller that wait for that; the next one is refused."""


def _copied_accounts() -> LRUCache[int, bool]:
    return LRUCache(MOST_COPIED_ACCOUNTS)


@dataclass(frozen=True)
class Components:
    """``copied_accounts`` are ids of accounts that have a copy, so that not every request looks for it."""

    identity: HttpIdentity
    repos: HttpRepos
    jobs: Jobs
    attachments: AttachmentEditor | None = None
    """None where no storage is set."""
    copied_accounts: LRUCache[int, bool] = field(default_factory=_copied_accounts)
    rendered_texts: RenderedTexts = field(default_factory=RenderedTexts)
    markdown_queue: ConcurrencyQueue = field(
        default_factory=lambda: ConcurrencyQueue(MARKDOWN_AT_ONCE, waiting=MARKDOWN_WAITING)
    )
