"""What messages of pushed commits refer to, and what they close."""

from collections.abc import Iterable

import msgspec

from ingot_chassis.database import Tx
from ingot_contracts.repos import NO_COMMIT, PushReceived
from ingot_issues.core import references
from ingot_issues.core.closing import act_on
from ingot_issues.core.references import Source
from ingot_issues.core.site import Site
from ingot_issues.store import repositories

READ = "push.read"
MOST = 1000
"""Commits of one push whose messages are read, the newest. Of a forced one only those that its event tells."""


class ReadPush(msgspec.Struct, frozen=True, kw_only=True):
    """The job: read the messages of a push that brought more than its event tells."""

    repository_id: int
    before: str
    after: str
    pusher_id: int
    closing: bool
    confined: bool = False


async def follow_push(tx: Tx, site: Site, push: PushReceived) -> None:
    """Note what the commits of a push refer to; on the default branch they also close and reopen.

    The commits of a mirror speak of another place. A forced push leaves commits that nobody may ask for any more, so
    what is new since them cannot be asked for either.
    """
    if push.after == NO_COMMIT or push.repository.mirror:
        return
    closing = push.ref == f"refs/heads/{push.repository.default_branch}"
    more = push.total_commits > len(push.commits) and not push.forced
    if more and (closing or push.before != NO_COMMIT):
        job = ReadPush(
            repository_id=push.repository.id,
            before="" if push.before == NO_COMMIT else push.before,
            after=push.after,
            pusher_id=push.pusher.id,
            closing=closing,
            confined=push.confined,
        )
        await site.jobs.add(tx, READ, f"{push.repository.id}:{push.ref[:80]}:{push.after}", job)
        return
    await follow(tx, site, [(commit.id, commit.message) for commit in push.commits], closing=closing)


async def follow(tx: Tx, site: Site, newest_first: Iterable[tuple[str, str]], *, closing: bool) -> None:
    """The same for ids and messages of commits."""
    told = [(sha, references.find(message)) for sha, message in newest_first if "#" in message]
    told = [(sha, found) for sha, found in told if found]
    if not told or not await repositories.lock(tx, site.repository.id):
        return
    for sha, found in reversed(told):
        source = Source(repository_id=site.repository.id, sha=sha)
        await references.note_all(tx, site, source, found)
        if closing:
            await act_on(tx, site, source, found)
