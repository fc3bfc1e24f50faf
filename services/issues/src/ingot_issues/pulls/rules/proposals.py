"""Pull requests by a push to ``refs/for/``: repos stores the commits, and a job opens or updates them."""

import hashlib

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_contracts.repos.comparisons import Comparison
from ingot_contracts.repos.events import CommitsProposed
from ingot_issues.issues.rules.editing import IssueEdit, NewIssue, edit_issue
from ingot_issues.pulls.rules.mergeability import CheckMergeability, add_check
from ingot_issues.pulls.rules.opening import open_pull
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store import pulls as pull_rows
from ingot_issues.records.store.issues import PullRow
from ingot_issues.records.store.pulls import Branches
from ingot_issues.references.rules import Reference

PROPOSE = "pulls.propose"
"""The kind of jobs for proposals."""


class Propose(msgspec.Struct, frozen=True, kw_only=True):
    """A job that opens or updates the pull request of a proposal.

    Title and body are None unless the push sets them.
    """

    repository_id: int
    pusher_id: int
    base_branch: str
    head: str
    sha: str
    title: str | None
    body: str | None
    message: str
    restricted: bool

    @property
    def branches(self) -> Branches:
        """Return the branches of the pull request."""
        return Branches(self.base_branch, self.repository_id, self.head)

    @property
    def new_texts(self) -> tuple[str, str]:
        """Return title and body of a new pull request, from the push or otherwise from the last commit."""
        subject, _, rest = self.message.strip().partition("\n")
        title = (self.title or subject or self.head.partition(":")[0])[:NAME_CHARACTERS]
        return title, rest.strip() if self.body is None else self.body


async def add_job(tx: Tx, jobs: Jobs, event: CommitsProposed) -> None:
    """Add the job for a push, unless an equal job is pending."""
    task = Propose(
        repository_id=event.repository.id,
        pusher_id=event.pusher.id,
        base_branch=event.base_branch,
        head=event.head,
        sha=event.after,
        title=event.title or None,
        body=event.body or None,
        message=event.message,
        restricted=event.restricted,
    )
    await jobs.add(tx, PROPOSE, hashlib.sha256(msgspec.json.encode(task)).hexdigest(), task)


async def get_open(db: Executor, task: Propose) -> PullRow | None:
    """Return the open pull request of the proposal, or None."""
    number = await pull_rows.get_open_duplicate(db, task.repository_id, task.branches)
    return await issue_rows.get_pull(db, task.repository_id, number) if number else None


def texts_of(pull: PullRow | None, task: Propose) -> tuple[str, str]:
    """Return title and body that the pull request will have."""
    if pull is None:
        return task.new_texts
    return task.title or pull.title, pull.body if task.body is None else task.body


async def propose(
    tx: Tx,
    context: RepositoryContext,
    task: Propose,
    comparison: Comparison,
    references: list[Reference],
) -> None:
    """Open the pull request. If it is open, compare it again and set the new texts. Raises Invalid.

    ``references`` are the references in ``texts_of``.
    """
    await context.lock(tx)
    pull = await get_open(tx, task)
    if pull is None:
        title, body = task.new_texts
        new_issue = NewIssue(title=title, body=body, references=references)
        await open_pull(tx, context, new_issue, task.branches, comparison)
        return
    if task.title is not None or task.body is not None:
        edit = IssueEdit(title=task.title, body=task.body, references=references)
        await edit_issue(tx, context, pull, edit)
    check = CheckMergeability(
        repository_id=task.repository_id,
        base_branch=task.base_branch,
        issue_ids=[pull.id],
        sha=task.sha,
        pusher_id=task.pusher_id,
        restricted=task.restricted,
        side="head",
    )
    await add_check(tx, context.jobs, check)
