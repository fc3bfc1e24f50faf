"""The jobs: comparing branches, deleting head branches, references to other repositories, messages of long pushes, notifications."""

from dataclasses import replace
from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.pulls import CompareHeads, Comparison, Head, Merged, PullHead
from ingot_contracts.repos import Repository, RepositoryAccess
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.questions import ask_each
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.core import (
    closing,
    commits,
    mergeability,
    merges,
    notifications,
    pull_heads,
    references,
    scheduled_merges,
)
from ingot_issues.core.access import may_write
from ingot_issues.core.commits import ReadMessages
from ingot_issues.core.issues import references_of
from ingot_issues.core.logins import MentionedUsers
from ingot_issues.core.merge_saga import delete_head_branch
from ingot_issues.core.mergeability import CheckMergeability
from ingot_issues.core.merges import DeleteHeadBranch
from ingot_issues.core.notifications import Notify
from ingot_issues.core.presenter import Presenter
from ingot_issues.core.pull_heads import SetPullHead
from ingot_issues.core.references import AddReference
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import comments, counters, issue_rows, mentions, repositories
from ingot_issues.store import notifications as threads
from ingot_issues.store import pull_heads as pull_head_rows
from ingot_issues.store import scheduled_merges as scheduled_merge_rows
from ingot_issues.store.issue_rows import PullRow
from ingot_issues.store.states import State
from ingot_issues.workers.watchers import Watchers

COMPARE_AGAIN = timedelta(seconds=1)
"""So long after something else was recorded meanwhile, which is no failure of the job."""


class JobHandlers:
    """One method for each kind of job."""

    def __init__(
        self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter, identity: HttpIdentity
    ) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter
        self._mentioned = MentionedUsers(database, identity)
        self._watchers = Watchers(repos)

    def handlers(self) -> dict[str, Work]:
        """By kind."""
        return {
            mergeability.CHECK: self.check_mergeability,
            merges.DELETE_HEAD_BRANCH: self.delete_head_branch,
            references.ADD_REFERENCE: self.add_reference,
            commits.READ_MESSAGES: self.read_messages,
            notifications.NOTIFY: self.notify,
            pull_heads.SET_HEAD: self.set_pull_head,
        }

    async def check_mergeability(self, job: Job) -> None:
        """Compare heads with their base as they are now, and record that. Runs again when the record is outdated."""
        check = msgspec.json.decode(job.payload, type=CheckMergeability)
        async with self._db.read() as db:
            repository = await repositories.get(db, check.repository_id)
            rows = await issue_rows.list_open_pulls(db, check.issue_ids)
            head_repositories = await repositories.get_many(db, {row.head_repository_id for row in rows})
        rows = [row for row in rows if row.base_branch == check.base_branch]
        if repository is None or not rows:
            return
        heads = [await self._head(row, head_repositories, follows_branch=not check.edit_id) for row in rows]
        context = self._context(repository, check.pusher_id, restricted=check.restricted)
        try:
            comparisons = await self._repos.compare_heads(
                repository.id, CompareHeads(base_branch=check.base_branch, heads=heads)
            )
        except NotFound:
            return  # the base branch is deleted: the last comparison stays
        finally:
            await pull_heads.tell_again(self._db, context, rows)
        compared = [
            (row, comparison)
            for row, comparison in zip(rows, comparisons, strict=True)
            if comparison is not None
        ]
        try:
            await self._record(job, check, context, compared)
        except mergeability.Outdated:
            async with self._db.transaction() as tx:
                await self._jobs.finish(tx, job, again_at=now() + COMPARE_AGAIN)

    async def _head(
        self, row: PullRow, head_repositories: dict[int, Repository], *, follows_branch: bool
    ) -> Head:
        """The head to compare: without a branch, repos takes the commits that it keeps under the number.

        So no new commit of a private repository comes in when the author may not read that repository any more, nor any
        where no push is the cause (without ``follows_branch``).
        """
        repository = head_repositories.get(row.head_repository_id)
        hidden = (
            repository is not None
            and repository.private
            and not await self._may_read(row.author_id, repository.id)
        )
        branch = row.head_branch if follows_branch and not hidden else ""
        counted = row.changed_files is not None
        return Head(
            repository_id=row.head_repository_id,
            branch=branch,
            number=row.number,
            counted_base=row.merge_base if counted else "",
            counted_head=row.head_sha if counted else "",
        )

    async def _record(
        self,
        job: Job,
        check: CheckMergeability,
        context: RepositoryContext,
        compared: list[tuple[PullRow, Comparison]],
    ) -> None:
        """Record the comparisons. A pull request whose commits a push has brought to the base is merged by its pusher.

        That is so where the repository detects it (``autodetect_manual_merge``); else it stays open. One that was merged
        while it was closed was merged by nobody, and closes nothing: its text may be younger than the merge.
        """
        repository = context.repository
        moved = [row.id for row, comparison in compared if comparison.head_sha != row.head_sha]
        dismisses = bool(moved) and await self._repos.dismisses_approvals(repository.id, check.base_branch)
        async with self._db.read() as db:
            scheduled_ids = await scheduled_merge_rows.list_among(db, moved) if moved else []
        trusted = not scheduled_ids or await self._may_write(check.pusher_id, repository.id)
        detected = compared if repository.autodetect_manual_merge else []
        is_merged = mergeability.may_be_merged_by_push
        if check.reopened:
            is_merged = mergeability.is_merged_while_closed
        merged_by_push = [pair for pair in detected if is_merged(*pair)]
        if check.side == "base":
            merged_by_push = [pair for pair in merged_by_push if await self._has_come(check, *pair)]
        recorded = [
            (row, comparison)
            for row, comparison in compared
            if (row, comparison) not in merged_by_push
            or (check.side == "base" and comparison.head_sha != row.head_sha)
        ]
        merged = merged_by_push if check.side == "base" or check.reopened else []
        merged_references = [
            [] if check.reopened else await references_of(row.title, row.body) for row, _ in merged
        ]
        async with self._db.transaction() as tx:
            if not trusted:
                await scheduled_merges.cancel_after_push(tx, context, scheduled_ids)
            await mergeability.record_comparisons(tx, context, recorded, dismisses=dismisses)
            for (row, comparison), own_references in zip(merged, merged_references, strict=True):
                # Who brought those of one that was closed, and by which commit of the base, nobody knows any more; its head
                # is in it.
                merge = Merged(sha=comparison.head_sha if check.reopened else comparison.base_sha)
                merger = replace(context, actor_id=0) if check.reopened else context
                await merges.record_merge(tx, merger, row, merge, own_references)
            await self._jobs.finish(tx, job)

    async def _has_come(self, check: CheckMergeability, pull: PullRow, comparison: Comparison) -> bool:
        """Whether the base has got the head by the push: the one that the pull request had when the base was pushed.

        A branch that has moved since may be used for something else, which the base has as well.
        """
        if comparison.head_sha == pull.head_sha:
            return True
        head = check.heads.get(pull.id, pull.head_sha)
        has_head = head == comparison.head_sha or await self._contains(check, comparison.base_sha, head)
        had_head = head != pull.head_sha and await self._contains(check, check.before or pull.base_sha, head)
        return has_head and not had_head

    async def _contains(self, check: CheckMergeability, base: str, sha: str) -> bool:
        """Whether a commit of the repository is ``base`` or before it; not, when no ref reaches one of them any more."""
        try:
            ahead = await self._repos.history(check.repository_id, base, sha, None, limit=1)
        except NotFound:
            return False
        return ahead.total == 0

    async def set_pull_head(self, job: Job) -> None:
        """Tell repos who gets the commits of a pull request; once more if that has changed meanwhile.

        Nothing is left to tell of a repository that repos does not have.
        """
        task = msgspec.json.decode(job.payload, type=SetPullHead)
        async with self._db.read() as db:
            state = pull_heads.state_of(await issue_rows.get_pull_by_id(db, task.issue_id))
        try:
            await self._repos.set_pull_head(task.repository_id, task.number, PullHead(state=state))
        except NotFound:
            if state != "gone" and await self._repos.exists(task.repository_id):
                raise  # during an update repos may be of a former release
        async with self._db.transaction() as tx:
            await counters.lock(tx, task.repository_id)
            pull = await issue_rows.get_pull_by_id(tx, task.issue_id)
            if pull_heads.state_of(pull) != state:
                await self._jobs.finish(tx, job, again_at=now())
                return
            if pull is not None:
                await pull_head_rows.record(tx, pull.pull_id, hidden=state == "hidden")
            if (
                pull is not None and pull.state == State.OPEN
            ):  # its branches may have moved while it was closed
                await mergeability.add_check(tx, self._jobs, _check_of(task, pull))
            await self._jobs.finish(tx, job)

    async def delete_head_branch(self, job: Job) -> None:
        """Delete a head branch for the person who merged, if the request of that person did not."""
        deletion = msgspec.json.decode(job.payload, type=DeleteHeadBranch)
        async with self._db.read() as db:
            repository = await repositories.get(db, deletion.repository_id)
        if repository is not None:
            context = self._context(repository, deletion.actor_id)
            await delete_head_branch(self._db, self._repos, context, deletion.issue_id)

    async def _may_write(self, account_id: int, repository_id: int) -> bool:
        try:
            return may_write(await self._repos.access_of_user_by_id(account_id, repository_id))
        except NotFound:
            return False

    async def _may_read(self, account_id: int, repository_id: int) -> bool:
        try:
            await self._repos.access_of_user_by_id(account_id, repository_id)
        except NotFound:
            return False
        return True

    async def add_reference(self, job: Job) -> None:
        """Add a reference to another repository, if its author may read that repository."""
        addition = msgspec.json.decode(job.payload, type=AddReference)
        owner, _, name = addition.reference.full_name.partition("/")
        try:
            access = await self._repos.access_of_user(addition.actor_id, owner, name)
        except NotFound:
            return
        context = self._context(access.repository, addition.actor_id)
        comment_id = addition.source.comment_id
        async with self._db.transaction() as tx:
            if comment_id and not await comments.list_by_id(tx, [comment_id]):
                return  # deleted meanwhile
            target = await references.receive(tx, context, access, addition)
            if target is not None:
                await closing.close_or_reopen(tx, context, target, addition.reference.action)
            await self._jobs.finish(tx, job)

    async def read_messages(self, job: Job) -> None:
        """Read from repos the messages of a push of which its event has a part only, and add their references."""
        reading = msgspec.json.decode(job.payload, type=ReadMessages)
        try:
            access = await self._repos.access_of_user_by_id(reading.pusher_id, reading.repository_id)
            history = await self._repos.history(
                reading.repository_id, reading.before, reading.after, None, limit=commits.MOST
            )
        except NotFound:
            return
        context = self._context(access.repository, reading.pusher_id, restricted=reading.restricted)
        among = set(reading.among)
        commit_references = await commits.find_in_messages(
            (commit.sha, commit.message) for commit in history.commits if not among or commit.sha in among
        )
        async with self._db.transaction() as tx:
            await commits.add_references(tx, context, commit_references, closing=reading.closing)
            await self._jobs.finish(tx, job)

    async def notify(self, job: Job) -> None:
        """Tell people what happened to an issue, as far as they may read the repository."""
        task = msgspec.json.decode(job.payload, type=Notify)
        watcher_ids = await self._watchers.ids(task.repository_id, task.at)
        async with self._db.read() as db:
            logins = await notifications.mentioned_logins(db, task)
        named = await self._mentioned.find(logins) if logins else {}
        named_ids = {*named.values()} - {task.actor_id}
        async with self._db.read() as db:
            recipient_ids = await notifications.recipients(db, task, watcher_ids, named_ids)
        account_ids = sorted({*recipient_ids, *named_ids})
        if not account_ids:
            return

        async def access_of(account_id: int) -> RepositoryAccess:
            return await self._repos.access_of_user_by_id(account_id, task.repository_id)

        accesses = await ask_each(access_of, account_ids)
        allowed = [access for access in accesses if access is not None]
        readers = {one for one, access in zip(account_ids, accesses, strict=True) if access is not None}
        async with self._db.transaction() as tx:
            if allowed and await issue_rows.get_by_id(tx, task.issue_id) is not None:
                await repositories.add_missing(tx, allowed[0].repository)
                recipients = readers.intersection(recipient_ids)
                await threads.save(
                    tx, recipients, task.repository_id, task.issue_id, task.comment_id, task.at
                )
                await mentions.save(tx, task.issue_id, readers & named_ids)
            await self._jobs.finish(tx, job)

    def _context(
        self, repository: Repository, actor_id: int, *, restricted: bool = False
    ) -> RepositoryContext:
        return RepositoryContext(repository, actor_id, self._presenter, self._jobs, restricted)


def _check_of(task: SetPullHead, pull: PullRow) -> CheckMergeability:
    return CheckMergeability(
        repository_id=task.repository_id,
        base_branch=pull.base_branch,
        issue_ids=[pull.id],
        sha=pull.head_sha,
        pusher_id=task.actor_id,
        restricted=task.restricted,
        side="head",
        reopened=True,
    )
