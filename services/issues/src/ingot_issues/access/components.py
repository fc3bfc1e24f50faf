"""Components that routes of all subjects use."""

from dataclasses import dataclass, field

from cachetools import LRUCache

from ingot_chassis.jobs.jobs import Jobs
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.repos import HttpRepos

MOST_COPIED_ACCOUNTS = 10_000


def _copied_accounts() -> LRUCache[int, bool]:
    return LRUCache(MOST_COPIED_ACCOUNTS)


@dataclass(frozen=True)
class AccessComponents:
    """Components of access. ``copied_accounts`` caches ids of accounts that have a copy, to save queries."""

    identity: HttpIdentity
    repos: HttpRepos
    jobs: Jobs
    copied_accounts: LRUCache[int, bool] = field(default_factory=_copied_accounts)
