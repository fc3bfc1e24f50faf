"""The job that notifies people of an event."""

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.rules.repositories import reads
from ingot_issues.accounts.rules import MentionedUsers
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.questions import ask_each
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.mentions import store as mentions
from ingot_issues.notifications import rules as notifications
from ingot_issues.notifications.jobs.watchers import Watchers
from ingot_issues.notifications.store import threads
from ingot_issues.records.rules import notices
from ingot_issues.records.rules.notices import Notify
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.repositories.store import copies as repositories


class NoticeJobs:
    """Jobs that find the recipients of an event and save their notifications."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, identity: HttpIdentity) -> None:
        self._db, self._jobs, self._repos = database, jobs, repos
        self._mentioned = MentionedUsers(database, identity)
        self._watchers = Watchers(repos)

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind of job."""
        return {notices.NOTIFY: self.notify}

    async def notify(self, job: Job) -> None:
        """Notify people of an event, if they may read the repository."""
        task = msgspec.json.decode(job.payload, type=Notify)
        watcher_ids = await self._watchers.ids(task.repository_id, task.at)
        async with self._db.read() as db:
            logins = await notifications.mentioned_logins(db, task)
        named = await self._mentioned.find(logins) if logins else {}
        named_ids = {*named.values()} - {task.actor_id}
        async with self._db.read() as db:
            reasons = await notifications.recipients(db, task, watcher_ids, named_ids)
        account_ids = sorted({*reasons, *named_ids})

        async def access_of(account_id: int) -> RepositoryAccess:
            return await self._repos.access_of_user_by_id(account_id, task.repository_id)

        accesses = await ask_each(access_of, account_ids)
        allowed = [access for access in accesses if access is not None]
        async with self._db.transaction() as tx:
            recipients: set[int] = set()
            issue = await issue_rows.get_by_id(tx, task.issue_id) if account_ids else None
            if issue is not None:
                readers = {
                    one
                    for one, access in zip(account_ids, accesses, strict=True)
                    if access is not None and reads(access, is_pull=issue.is_pull)
                }
                if allowed:
                    await repositories.add_missing(tx, allowed[0].repository)
                recipients = readers & reasons.keys()
                why = {account_id: reasons[account_id] for account_id in recipients}
                await threads.save(tx, why, task.repository_id, task.issue_id, task.comment_id, task.at)
                await mentions.save(tx, task.issue_id, readers & named_ids)
            notifications.announce_people(tx, task, {one: reasons[one] for one in recipients})
            await self._jobs.finish(tx, job)
