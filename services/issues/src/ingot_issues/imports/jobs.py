"""The job that reads the pages of an import from repos and writes them.

Each page is written together with the cursor of the next page. So a new worker continues after the last page
of a killed job. repos stores the state of the import, and decides when it has failed.
"""

from collections.abc import Collection
from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp, Work
from ingot_issues.accounts.rules import copy_missing
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.imports import store
from ingot_issues.imports.rules import (
    IMPORT,
    ReadPages,
    Refused,
    account_ids,
    reader_ids,
    without_outsiders,
    write_page,
)

PAGES_AT_ONCE = 20
"""Maximum number of pages of one run. After it, other waiting jobs run first."""


class ImportJobs:
    """The worker of import jobs."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, identity: HttpIdentity) -> None:
        self._db, self._jobs, self._repos, self._identity = database, jobs, repos, identity

    def handlers(self) -> dict[str, Work]:
        return {IMPORT: self.run}

    async def run(self, job: Job) -> None:
        """Read and write pages until the import ends or the source wants a pause."""
        repository_id = msgspec.json.decode(job.payload, type=ReadPages).repository_id
        async with self._db.read() as db:
            cursor = await store.get_cursor(db, repository_id)
        pause, readers = 0.0, dict[int, bool]()
        for _ in range(PAGES_AT_ONCE):
            page = await self._repos.import_page(repository_id, cursor)
            if page.state == "ended":
                return
            if page.state == "wait":
                pause = page.seconds
                break
            await copy_missing(self._db, self._identity, account_ids(page))
            page = without_outsiders(page, await self._outsiders(repository_id, reader_ids(page), readers))
            try:
                async with self._db.transaction() as tx:
                    await write_page(tx, self._jobs, repository_id, page)
            except Refused as error:
                await self._repos.import_page(repository_id, cursor, is_refused=True)
                raise GiveUp(str(error)) from None
            cursor = page.cursor
        async with self._db.transaction() as tx:
            await self._jobs.finish(tx, job, again_at=now() + timedelta(seconds=pause))

    async def _outsiders(
        self, repository_id: int, account_ids: Collection[int], readers: dict[int, bool]
    ) -> set[int]:
        """Return the accounts that cannot read the repository. ``readers`` caches answers of repos."""
        for account_id in account_ids:
            if account_id not in readers:
                readers[account_id] = await self._may_read(repository_id, account_id)
        return {account_id for account_id in account_ids if not readers[account_id]}

    async def _may_read(self, repository_id: int, account_id: int) -> bool:
        try:
            access = await self._repos.access_of_user_by_id(account_id, repository_id)
        except NotFound:
            return False
        return access.level != "none"
