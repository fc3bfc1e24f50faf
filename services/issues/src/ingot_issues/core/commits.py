"""The messages of pushed commits: what they refer to, and what they close."""

from collections.abc import Iterable

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_contracts.repos import NO_COMMIT, PushReceived
from ingot_issues.core import references
from ingot_issues.core.closing import close_and_reopen
from ingot_issues.core.markdown import LARGEST, run_without_blocking
from ingot_issues.core.references import Reference, Source
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import counters

READ_MESSAGES = "push.read"
"""The kind of the job."""
MOST = 1000
"""Commits of one push whose messages are read, the newest. Of a forced push only those that its event names."""

CommitReferences = list[tuple[str, list[Reference]]]
"""The references of commits, by their hashes, the newest first."""


class ReadMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The job: read the messages of a push from repos, since its event has not all of them.

    With ``among`` only those commits count.
    """

    repository_id: int
    before: str
    after: str
    pusher_id: int
    closing: bool
    restricted: bool = msgspec.field(default=False, name="confined")
    among: list[str] = []


async def read_push(tx: Tx, context: RepositoryContext, push: PushReceived) -> None:
    """Follow the references of the commits of a push; on the default branch the commits also close and reopen issues.

    The commits of a mirror do not count: they name issues of another forge. Repos cannot list the new commits of a
    forced push, nor those of a new branch other than the default one: only the commits that the event names count.
    """
    if push.after == NO_COMMIT or push.repository.mirror:
        return
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
        )
        key = f"{push.repository.id}:{push.ref[:80]}:{push.after}"
        await context.jobs.add(tx, READ_MESSAGES, key, job)
        return
    commit_references = await find_in_messages((commit.id, commit.message) for commit in push.commits)
    await add_references(tx, context, commit_references, closing=closing)


async def find_in_messages(newest_first: Iterable[tuple[str, str]]) -> CommitReferences:
    """The references of commits, from their hashes and messages. Of a message only the first LARGEST characters count."""
    commit_references = [
        (sha, await run_without_blocking(references.find, message[:LARGEST]))
        for sha, message in newest_first
        if "#" in message
    ]
    return [(sha, own_references) for sha, own_references in commit_references if own_references]


async def add_references(
    tx: Tx, context: RepositoryContext, newest_first: CommitReferences, *, closing: bool
) -> None:
    """Add the references of commits, the oldest first; with ``closing`` they also close and reopen issues."""
    if not newest_first or not await counters.lock(tx, context.repository.id):
        return
    for sha, own_references in reversed(newest_first):
        source = Source(repository_id=context.repository.id, sha=sha)
        await references.add_all(tx, context, source, own_references)
        if closing:
            await close_and_reopen(tx, context, source, own_references)
