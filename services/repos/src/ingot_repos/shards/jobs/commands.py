"""`ingot-repos shards`: commands for operators. Jobs of the shards do the work, and the commands wait."""

import asyncio
from argparse import Namespace
from collections.abc import AsyncGenerator, Mapping, Sequence

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import CannotStart
from ingot_chassis.jobs.jobs import Jobs, JobState
from ingot_repos.catalog.store import wikis
from ingot_repos.catalog.store.states import ShardState
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.placement.store import replicas, shards
from ingot_repos.placement.store.replicas import ReplicaRow
from ingot_repos.placement.store.shards import ShardRow
from ingot_repos.shards.rules.moves import MOVE, Move, Progress, cancel_move, request_move
from ingot_repos.shards.rules.rebalancing import Load, Network, PlannedMove, plan, total_of, weight
from ingot_repos.shards.store import moves as move_rows
from ingot_repos.shards.store.moves import JobStateRow, MemberRow, UsageRow

POLL_SECONDS = 1.0
AT_ONCE = 8
"""Concurrent moves of a drain. Each target shard runs only one move at a time."""
MOST_NETWORKS = 500
"""Limit of networks considered for balancing: this many of the largest, and this many of the busiest."""


class ShardCommands:
    """Commands for shards. Each yields lines for the operator, and raises CannotStart if it fails."""

    def __init__(self, jobs: Jobs, names: Sequence[str], *, poll_seconds: float = POLL_SECONDS) -> None:
        self._jobs, self._db, self._names, self._poll = jobs, jobs.database, names, poll_seconds

    def run(self, options: Namespace) -> AsyncGenerator[str, None]:
        """Run one command line."""
        match options.shard_command:
            case "list":
                lines = self.list_all()
            case "add":
                lines = self.add(options.name, options.url)
            case "move":
                lines = self.move(options.repository, options.to)
            case "cancel":
                lines = self.cancel(options.repository)
            case "replicate":
                lines = self.replicate(options.repository, options.to)
            case "unreplicate":
                lines = self.unreplicate(options.repository, options.on)
            case "rebalance":
                lines = self.rebalance(dry_run=options.dry_run)
            case "drain":
                lines = self.drain(options.name)
            case _:
                lines = self.remove(options.name)
        return lines

    async def list_all(self) -> AsyncGenerator[str, None]:
        """List every shard with its contents, and waiting or running moves."""
        added, usage = await self._state()
        async with self._db.read() as db:
            running = await move_rows.list_jobs(db, before=f"{MOVE}@")
            copied = [row for row in await replicas.list_all(db) if row.name is not None]
        rows = [("SHARD", "REPOSITORIES", "BYTES", "GIT REQUESTS OF TWO DAYS", "STATE")]
        for name in self._all(added, usage):
            has, row = usage.get(name), added.get(name)
            counts = (str(has.repositories), str(has.bytes), str(has.requests)) if has else ("0", "0", "0")
            rows.append((name, *counts, row.state if row else ShardState.ACTIVE))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for columns in rows:
            yield "  ".join(text.ljust(width) for text, width in zip(columns, widths, strict=True)).rstrip()
        for job in running:
            yield f"network {job.key} to {job.kind.partition('@')[2]}: {_progress(job)}"
        for replica in copied:
            yield f"replica of {replica.owner_login}/{replica.name} on {replica.shard}: {_state_of(replica)}"

    async def add(self, name: str, url: str) -> AsyncGenerator[str, None]:
        """Let a shard accept repositories. It may have been drained or removed before."""
        added, _ = await self._state()
        if not url and name not in self._names and not (name in added and added[name].url):
            raise CannotStart(f"{name} is not in INGOT_REPOS_SHARDS, so it needs --url")
        async with self._db.transaction() as tx:
            await shards.save(tx, name, state=ShardState.ACTIVE, **({"url": url} if url else {}))
        yield f"{name} takes repositories"

    async def move(self, full_name: str, target: str) -> AsyncGenerator[str, None]:
        """Move a repository with its parents and forks."""
        added, usage = await self._state()
        self._require_active(target, added, usage)
        owner, _, name = full_name.partition("/")
        async with self._db.read() as db:
            repository_id = await move_rows.find(db, owner, name)
            network = await move_rows.network(db, repository_id) if repository_id else []
        sources = {row.shard for row in network} - {target}
        if not network:
            raise CannotStart(f"there is no repository {full_name}")
        if not sources:
            yield f"{full_name} is on {target} already"
        for source in sorted(sources):
            planned = PlannedMove(_network([row for row in network if row.shard == source]), source, target)
            async for line in self._done([planned]):
                yield line

    async def cancel(self, full_name: str) -> AsyncGenerator[str, None]:
        """Cancel the moves of a repository or, without a name, all moves. The repositories stay in place."""
        owner, _, name = full_name.partition("/")
        async with self._db.read() as db:
            jobs = await move_rows.list_jobs(db, before=f"{MOVE}@")
            if full_name:
                repository_id = await move_rows.find(db, owner, name)
                network = await move_rows.network(db, repository_id) if repository_id else []
                keys = {str(row.id) for row in network}
                jobs = [job for job in jobs if job.key in keys]
        cancelled = []
        for job in jobs:
            async with self._db.transaction() as tx:
                if await cancel_move(tx, job.kind, job.key, job.payload):
                    cancelled.append(job)
        if not cancelled:
            raise CannotStart(
                f"no move of {full_name} waits or runs" if full_name else "no move waits or runs"
            )
        for job in cancelled:
            label = f"network {job.key} to {job.kind.partition('@')[2]}"
            yield f"{label}: is cancelled, and ends when that shard has removed its copy"
            while True:
                async with self._db.read() as db:
                    now_is = await move_rows.get_job(db, job.kind, job.key)
                if now_is is None or now_is.state not in (JobState.WAITING, JobState.RUNNING):
                    break
                await asyncio.sleep(self._poll)
            yield f"{label}: {'moved before' if now_is is None else _outcome(now_is)}"

    async def replicate(self, full_name: str, target: str) -> AsyncGenerator[str, None]:
        """Let a shard keep a replica of a repository, which answers reads."""
        self._require_active(target, *await self._state())
        async with self._db.transaction() as tx:
            row = await self._member(tx, full_name)
            keys = {str(one.id) for one in await move_rows.network(tx, row.id)}
            moves = await move_rows.list_jobs(tx, before=f"{MOVE}@")
            if row.shard == target or any(job.key in keys for job in moves):
                raise CannotStart(f"{full_name} is on {target}, or moves")
            former = await replicas.get(tx, row.id, target)
            if former is not None and former.obsolete:
                raise CannotStart(f"the replica of {full_name} on {target} is being removed; try again soon")
            await replicas.add(tx, row.id, target)
            wiki = await wikis.get(tx, row.id)
            if wiki is not None and wiki.shard != target:
                await replicas.add(tx, wiki.id, target)
        yield f"{full_name} is copied to {target}; `ingot-repos shards list` shows the progress"

    async def unreplicate(self, full_name: str, target: str) -> AsyncGenerator[str, None]:
        """Let a shard remove its replica of a repository."""
        async with self._db.transaction() as tx:
            row = await self._member(tx, full_name)
            if not await replicas.retire(tx, target, row.id):
                raise CannotStart(f"{target} has no replica of {full_name}")
            wiki = await wikis.get(tx, row.id)
            if wiki is not None:
                await replicas.retire(tx, target, wiki.id)
        yield f"{target} no longer answers reads of {full_name}, and removes its copy"

    async def rebalance(self, *, dry_run: bool) -> AsyncGenerator[str, None]:
        """Move repositories until the shards are about equal. With ``dry_run``, only print the moves."""
        added, usage = await self._state()
        active = [name for name in self._all(added, usage) if self._is_active(name, added)]
        loads = {name: _load(usage.get(name)) for name in active}
        networks = {name: await self._networks(name) for name in active if name in usage}
        planned = plan(loads, networks)
        for one in planned:
            yield f"{one.network.name}, {one.network.load.bytes} bytes: from {one.source} to {one.target}"
        if not planned:
            yield "nothing has to move"
        elif not dry_run:
            async for line in self._done(planned):
                yield line

    async def drain(self, name: str) -> AsyncGenerator[str, None]:
        """Stop giving a shard new repositories, and move all of its repositories to other shards.

        Each repository moves to the shard with the lowest load at that time.
        """
        added, usage = await self._state()
        self._require_name(name, added, usage)
        others = [one for one in self._all(added, usage) if one != name and self._is_active(one, added)]
        if not others:
            raise CannotStart("there is no other shard that takes repositories")
        async with self._db.transaction() as tx:
            await shards.save(tx, name, state=ShardState.DRAINING)
            await replicas.retire(tx, name)
        failed, after = False, 0
        while True:
            _, usage = await self._state()
            async with self._db.read() as db:
                ids = await move_rows.list_on(db, name, after=after, most=AT_ONCE)
            if not ids:
                if failed or name not in usage:
                    break
                after = 0  # include repositories that arrived during the drain
                continue
            # If a network comes up again, its moves failed before.
            networks = [one for one in await self._networks_of(ids, name) if one.id > after]
            planned = _to_emptiest_shards(networks, name, {one: _load(usage.get(one)) for one in others})
            after = ids[-1]
            if not planned:
                continue
            try:
                async for line in self._done(planned):
                    yield line
            except CannotStart as error:  # one failure must not stop the moves of the others
                failed = True
                yield str(error)
            yield f"{await self._count(name)} repositories are left"
        if failed:
            raise CannotStart(
                f"{await self._count(name)} repositories are left on {name}, since moves failed"
            )
        yield f"{name} is empty; `ingot-repos shards remove {name}` removes it or lists what is left"

    async def remove(self, name: str) -> AsyncGenerator[str, None]:
        """Remove an empty shard from the list. Raises CannotStart if it is not empty."""
        added, usage = await self._state()
        self._require_name(name, added, usage)
        async with self._db.read() as db:
            holdings = await move_rows.holdings(db, name)
            jobs = await move_rows.list_jobs(db, after=f"@{name}")
        remains = [f"{count} {what}" for what, count in (*holdings.items(), ("jobs", len(jobs))) if count]
        if remains:
            raise CannotStart(f"{name} still holds {', '.join(remains)}")
        if added.get(name) is None or added[name].state != ShardState.DRAINING:
            raise CannotStart(f"{name} takes new repositories; drain it first")
        async with self._db.transaction() as tx:
            await shards.save(tx, name, state=ShardState.REMOVED)
            await replicas.forget_obsolete(tx, name)
        yield f"{name} is removed; end its processes now, and take it out of INGOT_REPOS_SHARDS"

    async def _done(self, planned: Sequence[PlannedMove]) -> AsyncGenerator[str, None]:
        """Request moves and report progress until all have ended. Raises CannotStart if one failed."""
        waiting: dict[tuple[str, str], PlannedMove] = {}
        for one in planned:
            async with self._db.transaction() as tx:
                network = await move_rows.network(tx, one.network.id)
                if network:
                    key = await request_move(tx, self._jobs, network, one.source, one.target)
                    waiting[job_kind(MOVE, one.target), key] = one
        said, failed = dict[tuple[str, str], str](), 0
        while waiting:
            for job_id, one in list(waiting.items()):
                async with self._db.read() as db:
                    job = await move_rows.get_job(db, *job_id)
                text = "moved" if job is None or job.state == JobState.DONE else _progress(job)
                if said.get(job_id) != text:
                    said[job_id] = text
                    yield f"{one.network.name} to {one.target}: {text}"
                if job is None or job.state in (JobState.DONE, JobState.FAILED):
                    failed += job is not None and job.state == JobState.FAILED
                    del waiting[job_id]
            if waiting:
                await asyncio.sleep(self._poll)
        if failed:
            raise CannotStart(
                f"{failed} of {len(planned)} moves failed; their repositories stay where they were"
            )

    async def _member(self, tx: Executor, full_name: str) -> MemberRow:
        """Return the named repository. Raises CannotStart if it does not exist."""
        owner, _, name = full_name.partition("/")
        repository_id = await move_rows.find(tx, owner, name)
        for row in await move_rows.network(tx, repository_id) if repository_id else ():
            if row.id == repository_id:
                return row
        raise CannotStart(f"there is no repository {full_name}")

    async def _state(self) -> tuple[dict[str, ShardRow], dict[str, UsageRow]]:
        async with self._db.read() as db:
            return await shards.list_added(db), await move_rows.usage(db)

    def _all(self, added: Mapping[str, ShardRow], usage: Mapping[str, UsageRow]) -> Sequence[str]:
        removed = {name for name, row in added.items() if row.state == ShardState.REMOVED}
        return sorted({*self._names, *added} - removed | {*usage})

    def _is_active(self, name: str, added: Mapping[str, ShardRow]) -> bool:
        return name not in added or added[name].state == ShardState.ACTIVE

    def _require_name(self, name: str, added: Mapping[str, ShardRow], usage: Mapping[str, UsageRow]) -> None:
        if name not in self._all(added, usage):
            raise CannotStart(f"there is no shard {name}; the names are {', '.join(self._all(added, usage))}")

    def _require_active(
        self, name: str, added: Mapping[str, ShardRow], usage: Mapping[str, UsageRow]
    ) -> None:
        self._require_name(name, added, usage)
        if not self._is_active(name, added):
            raise CannotStart(f"{name} takes no repositories")

    async def _count(self, name: str) -> int:
        """Count the repositories of a shard."""
        async with self._db.read() as db:
            return (await move_rows.holdings(db, name))["repositories"]

    async def _networks(self, name: str) -> list[Network]:
        async with self._db.read() as db:
            largest = await move_rows.list_largest_on(db, name, most=MOST_NETWORKS)
            busiest = await move_rows.list_busiest_on(db, name, most=MOST_NETWORKS)
        return await self._networks_of([*largest, *busiest], name)

    async def _networks_of(self, ids: Sequence[int], name: str) -> list[Network]:
        """Return the networks of these repositories on the shard, without duplicates."""
        visited, networks = set[int](), list[Network]()
        for repository_id in ids:
            if repository_id in visited:
                continue
            async with self._db.read() as db:
                members = [row for row in await move_rows.network(db, repository_id) if row.shard == name]
            visited |= {row.id for row in members}
            if members:
                networks.append(_network(members))
        return networks


def _to_emptiest_shards(
    networks: Sequence[Network], source: str, loads: Mapping[str, Load]
) -> Sequence[PlannedMove]:
    """Plan moves of all networks. Each network moves to the shard with the lowest load at that time."""
    after, planned = dict(loads), list[PlannedMove]()
    for network in networks:
        total = total_of({**after, "": network.load})
        target = min(after, key=lambda one: weight(after[one], total))
        planned.append(PlannedMove(network, source, target))
        after[target] = total_of({"": after[target], "network": network.load})
    return planned


def _network(members: Sequence[MemberRow]) -> Network:
    first = members[0]
    load = Load(sum(row.size for row in members), sum(row.requests for row in members))
    return Network(first.id, f"{first.owner_login}/{first.name}", len(members), load)


def _load(usage: UsageRow | None) -> Load:
    return Load(int(usage.bytes), int(usage.requests)) if usage is not None else Load()


def _outcome(job: JobStateRow) -> str:
    return "moved before" if job.state == JobState.DONE else f"ended: {job.last_error}"


def _state_of(row: ReplicaRow) -> str:
    if row.obsolete:
        return "is being removed"
    if row.error:
        return f"is behind: {row.error}"
    if row.copied_version is None:
        return "is being made"
    return "is up to date" if row.copied_version == row.ref_version else "is being brought up to date"


def _progress(job: JobStateRow) -> str:
    if job.state == JobState.FAILED:
        return f"failed: {job.last_error}"
    if msgspec.json.decode(job.payload, type=Move).is_cancelled:
        return "is cancelled, and ends soon"
    if job.progress is None:
        return f"waits, after {job.last_error}" if job.last_error else "waits"
    progress = msgspec.json.decode(job.progress, type=Progress)
    return f"{progress.phase}, {progress.copied_bytes} bytes, {progress.repositories} repositories copied"
