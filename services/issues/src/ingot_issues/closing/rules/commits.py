"""References and closing keywords in messages of pushed commits."""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.events import PushReceived
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.rules.repositories import in_unit, may_write
from ingot_issues.accounts import store as accounts
from ingot_issues.closing.rules.effects import (
    ClosingCommit,
    close_and_reopen,
    is_closing,
    request_closing,
)
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.references import rules as references
from ingot_issues.references.rules import Reference, Source
from ingot_issues.repositories.store import counters

READ_MESSAGES = "push.read"
"""The kind of jobs that read messages."""
MOST = 1000
"""Maximum number of commits of a push whose messages are read, the latest first.

Of a forced push, only the commits in its event are read.
"""


class Message(NamedTuple):
    """The message of a commit. ``author`` is the author's login, or empty."""

    sha: str
    text: str
    author: str


CommitReferences = list[tuple[Message, list[Reference]]]
"""Commits with their references, the latest first."""


class ReadMessages(msgspec.Struct, frozen=True, kw_only=True):
    """A job that reads the messages of a push from repos, because the event omits some.

    ``among`` limits the job to these commits. ``proposer_id`` opened their pull request, if any.
    """

    repository_id: int
    before: str
    after: str
    pusher_id: int
    closing: bool
    restricted: bool = msgspec.field(default=False, name="confined")
    among: list[str] = []
    proposer_id: int = 0


async def read_push(tx: Tx, context: RepositoryContext, push: PushReceived) -> None:
    """Add the references of the commits of a push. On the default branch, close and reopen issues too.

    Commits of a mirror are skipped, because their numbers belong to another forge. Commits of a repeated
    import are skipped, too: the source has closed its issues, and some may be open again. repos cannot list
    the new commits of a forced push, or of a new branch other than the default. Then only commits in the
    event are read.
    """
    if push.after == NO_COMMIT or push.repository.mirror or push.imported:
        return
    pull = await issue_rows.get_pull(tx, push.repository.id, push.merged_pull) if push.merged_pull else None
    proposer_id = pull.author_id if pull is not None else 0
    closing = push.ref == f"refs/heads/{push.repository.default_branch}"
    only_named = push.forced or (push.before == NO_COMMIT and not closing)
    is_long = push.total_commits > len(push.commits) and not only_named
    if is_long or push.omitted.characters:
        job = ReadMessages(
            repository_id=push.repository.id,
            before="" if only_named or push.before == NO_COMMIT else push.before,
            after=push.after,
            pusher_id=push.pusher.id,
            closing=closing,
            restricted=push.restricted,
            among=[commit.id for commit in push.commits] if only_named else [],
            proposer_id=proposer_id,
        )
        key = f"{push.repository.id}:{push.ref[:80]}:{push.after}"
        await context.jobs.add(tx, READ_MESSAGES, key, job)
        return
    commit_references = await find_in_messages(
        Message(commit.id, commit.message, commit.author.username) for commit in push.commits
    )
    await add_references(tx, context, commit_references, proposer_id=proposer_id)
    if closing:
        await _request_closing(tx, context, commit_references)


async def _request_closing(tx: Tx, context: RepositoryContext, newest_first: CommitReferences) -> None:
    """Add the job that closes and reopens issues, if a message has such a keyword."""
    commits = [
        ClosingCommit(sha=message.sha, references=acting)
        for message, own_references in reversed(newest_first)
        if (acting := [one for one in own_references if is_closing(context, one)])
    ]
    if commits:
        await request_closing(tx, context, commits)


async def find_in_messages(newest_first: Iterable[Message]) -> CommitReferences:
    """Return the references of commits. Only the first LARGEST characters of a message are read."""
    commit_references = [
        (message, await asyncio.to_thread(references.find, message.text[:LARGEST]))
        for message in newest_first
        if "#" in message.text
    ]
    return [(message, own_references) for message, own_references in commit_references if own_references]


async def add_references(
    tx: Tx, context: RepositoryContext, newest_first: CommitReferences, *, proposer_id: int
) -> None:
    """Add the references of commits, the oldest first.

    References to other repositories need read access of the pusher, the commit's author and the proposer.
    They never close issues, because an author's e-mail address is no proof, and a rebase changes the commit
    id.
    """
    if not newest_first or not await counters.lock(tx, context.repository.id):
        return
    ids = await accounts.user_ids_by_login(tx, {message.author for message, _ in newest_first})
    for message, own_references in reversed(newest_first):
        source = Source(repository_id=context.repository.id, sha=message.sha)
        author_id = ids.get(message.author.lower(), 0)
        authors = [one for one in (proposer_id, author_id) if one]
        await references.add_all(tx, context, source, own_references, authors)


async def close_issues(
    tx: Tx, context: RepositoryContext, access: RepositoryAccess, commits: Iterable[ClosingCommit]
) -> None:
    """Close and reopen issues by the messages of commits, the oldest first.

    ``access`` is the access of the pusher, who needs write access to issues. Access to code is not enough.
    """
    if not may_write(in_unit(access, "issues")) or not await counters.lock(tx, context.repository.id):
        return
    for commit in commits:
        own = [reference for reference in commit.references if is_closing(context, reference)]
        await close_and_reopen(tx, context, own)
