"""A push over HTTP or SSH: plan it, add a journal entry, run git, settle the entry.

Callers have checked the access. The response is streamed while the client still sends.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final, Protocol

import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor, is_outage
from ingot_chassis.errors import BadRequest, NotFound, Unavailable
from ingot_chassis.jobs.loops import polls
from ingot_git.changes.proposals import FOR
from ingot_git.hooks.hook_questions import HookQuestions
from ingot_git.hooks.update_hook import hooks_folder
from ingot_git.process.errors import BodyRefused, ClientDisconnected
from ingot_git.protocol.push_advertisement import advertise_for_push
from ingot_git.protocol.push_reports import PushReport, refusal_of_push
from ingot_git.protocol.push_requests import Push, read_push_commands
from ingot_git.protocol.sideband import PROGRESS, packets
from ingot_git.protocol.smart_http import serve
from ingot_git.refs.refs import ZERO_OID, RefChange
from ingot_git.storage.storage import Storage
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.admission import Admission
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.placement.rules.loads import RepositoryLoads
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.protection.rules.decisions import NO_RULES, rules_of
from ingot_repos.pushes.rules import proposals
from ingot_repos.pushes.rules.conversations import Conversation, forward
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.rules.proposals import Options, Plan, Proposal
from ingot_repos.pushes.rules.pushers import Pusher
from ingot_repos.pushes.rules.rights import (
    Renew,
    find_refusals,
    refusal_of_late_push,
    refusal_of_proposals,
)
from ingot_repos.settings import Settings

log = structlog.get_logger()

SERVICE: Final = "git-receive-pack"
SMALL_OBJECTS, SMALL_BYTES = 100, 1024 * 1024
"""A push with fewer objects and fewer bytes is a small change."""

PROGRESS_SECONDS = 5.0


class PushConditions(Protocol):
    """Facts that decide which checks a push needs. ``has_account``: a copy of the account exists here."""

    is_protected: bool
    uses_lfs: bool
    has_account: bool


FindConditions = Callable[[Executor, int, int], Awaitable[PushConditions]]
"""Finds the push conditions for a repository and an account."""


@dataclass(frozen=True)
class PushParts:
    """The objects that all pushes of the process use."""

    settings: Settings
    db: Database
    storage: Storage
    identity: HttpIdentity
    accounts: AccountCopies
    journal: Pushes
    admission: Admission
    questions: HookQuestions
    loads: RepositoryLoads
    find_conditions: FindConditions


@dataclass(frozen=True)
class PlannedPush:
    """A push, and its plan for git. ``looks_for_lfs``: hooks check that no LFS object is missing."""

    push: Push
    plan: Plan
    options: Options
    looks_for_lfs: bool

    @cached_property
    def _refused(self) -> set[str]:
        return {one.ref for one in self.plan.refusals if one.is_certain}

    @cached_property
    def refuses_all(self) -> bool:
        return self._refused.issuperset(command.name for command in self.plan.commands)

    @property
    def journaled_refs(self) -> list[str]:
        """Return the refs that may move, except proposals, which cannot be fetched."""
        stay = self._refused.union(proposal.ref for proposal in self.plan.proposals)
        return [command.name for command in self.plan.commands if command.name not in stay]

    @property
    def opened(self) -> Sequence[str]:
        """Return hidden refs that git may move. The update hook rejects other refs below refs/for/."""
        if not _proposes(self.push.commands):
            return ()
        return [FOR, *(proposal.ref for proposal in self.plan.proposals)]

    @property
    def has_more_to_say(self) -> bool:
        """True if lines or proposals are added to the end of git's report."""
        return bool(self.plan.proposals or self.options.remarks)

    @property
    def is_judged(self) -> bool:
        """True if hooks must inspect the push, whatever files it contains."""
        return bool(self.plan.refusals or self.plan.proposals or self.looks_for_lfs)


class PushSession:
    """One push of a client. ``presenter`` shows what the client may see."""

    def __init__(
        self,
        parts: PushParts,
        presenter: Presenter,
        repository: ResolvedRepository,
        pusher: Pusher,
        renew: Renew,
        client: Conversation,
    ) -> None:
        self._parts, self._presenter = parts, presenter
        self._repository, self._pusher, self._renew = repository, pusher, renew
        self._client = client

    async def run(self) -> None:
        """Receive the push. Read the ref updates first, then wait for a slot for git.

        If the push takes long, ``renew`` checks the rights again before refs move. If the rights have ended,
        no ref moves. Raises BadRequest, Unavailable, NotFound.
        """
        decided_at = asyncio.get_running_loop().time()
        client = self._client
        if client.is_session:
            await self._advertise()
        push = await self._read()
        if push is None or (client.is_session and not push.commands):
            # There was nothing to push.
            await client.write(b"", more=False)
            return
        try:
            await self._receive(push, decided_at)
        except (Unavailable, NotFound) as error:
            if not client.is_session:
                raise
            refusal = refusal_of_push(error.message, has_side_band=push.has_side_band)
            await client.write(refusal, more=False)

    async def _advertise(self) -> None:
        await self._client.start("application/octet-stream")
        refs = await advertise_for_push(
            self._parts.storage,
            self._repository.id,
            self._client.protocol,
            is_session=True,
            max_memory=self._parts.settings.max_git_memory,
        )
        await self._client.write(refs)

    async def _read(self) -> Push | None:
        """Return the ref updates; None if a session ends without any. Raises BadRequest."""
        try:
            return await read_push_commands(self._client.body())
        except (BodyRefused, ClientDisconnected) as error:
            if not self._client.is_session:
                raise BadRequest(str(error)) from error
            return None

    async def _receive(self, push: Push, decided_at: float) -> None:
        """Plan and run the push.

        Adds a journal entry before refs move, and announces the moves before the response ends.
        """
        planned = await self._plan(push)
        hooks = await self._hooks(planned)
        report = PushReport(has_side_band=push.has_side_band)
        try:
            last = await self._run_git(planned, hooks, decided_at, report)
        except OnAnotherShard as error:
            # It moved after the client was let in. The journal says so before git gets anything.
            with contextlib.suppress(ClientDisconnected):
                await self._client.hand_over(error.shard, push.body)
            return
        if planned.has_more_to_say:
            last += await self._end_of_report(planned, report)
        await self._client.write(last, more=False)

    async def _plan(self, push: Push) -> PlannedPush:
        """Decide which ref updates git performs and which are rejected."""
        parts, pusher, id_ = self._parts, self._pusher, self._repository.id
        async with parts.db.read() as db:
            conditions = await parts.find_conditions(db, id_, pusher.account_id)
            rules = await rules_of(db, id_) if conditions.is_protected else NO_RULES
        if not conditions.has_account:
            await parts.accounts.get(pusher.account_id)
        options = proposals.read_options(push.options, push.commands)
        plan = Plan(list(push.commands), [], [])
        if _proposes(push.commands):
            plan = await proposals.plan(
                parts.db,
                parts.storage,
                self._repository.row,
                pusher.actor,
                push.commands,
                options,
                refusal=await refusal_of_proposals(parts.identity, self._repository.row, pusher),
            )
        others = [one for one in push.commands if not one.name.startswith(FOR)]
        plan.refusals.extend(find_refusals(rules, pusher, others))
        brings = any(one.after != ZERO_OID for one in plan.commands)
        looks_for_lfs = parts.settings.lfs_enabled and conditions.uses_lfs and brings
        return PlannedPush(push, plan, options, looks_for_lfs)

    async def _hooks(self, planned: PlannedPush) -> Path | None:
        """Return the folder of the hooks that git runs, if any. Raises HooksNotRun."""
        if not (planned.is_judged or self._parts.settings.max_file_bytes):
            return None
        root, refuses_refs = self._parts.storage.root, bool(planned.plan.refusals)
        return await asyncio.to_thread(hooks_folder, root, refuses_refs=refuses_refs)

    async def _run_git(
        self, planned: PlannedPush, hooks: Path | None, decided_at: float, report: PushReport
    ) -> bytes:
        """Let git move refs between journal entry and settlement. Return the last chunk of the response.

        Without a change that git may make, there is no journal entry.
        """
        id_ = self._repository.id
        async with (
            # Who may move nothing here gets no more room than a stranger.
            self._parts.admission.slot(id_, signed_in=not planned.refuses_all),
            self._journaled(planned) as push_id,
            self._question_if_late(planned, decided_at) as late,
        ):
            stream = self._git(planned, hooks, late)
            try:
                self._parts.loads.count(id_)
                answer = report.texts_of(stream) if planned.has_more_to_say else stream
                return await forward(self._client, SERVICE, answer, id_, return_last=True)
            finally:
                # Also when the client is gone or the process stops: refs may have moved.
                if push_id:
                    await self._settle(push_id, planned.push)

    def _journaled(self, planned: PlannedPush) -> AbstractAsyncContextManager[int]:
        if planned.refuses_all:
            return contextlib.nullcontext(0)
        return self._parts.journal.journaled(
            self._repository.id,
            self._pusher.account_id,
            planned.journaled_refs,
            restricted=self._pusher.restricted,
            options=planned.options.for_hooks,
        )

    def _question_if_late(self, planned: PlannedPush, decided_at: float) -> AbstractAsyncContextManager[Path]:
        parts, commands = self._parts, planned.push.commands
        refusal = partial(
            refusal_of_late_push, parts.db, parts.identity, self._renew, commands, planned.plan.refusals
        )
        hooks = partial(hooks_folder, parts.storage.root, refuses_refs=False)
        return parts.questions.question_if_late(decided_at, hooks, refusal)

    def _git(self, planned: PlannedPush, hooks: Path | None, late: Path) -> AsyncGenerator[bytes, None]:
        """Yield git's response to the planned push."""
        settings, id_, push = self._parts.settings, self._repository.id, planned.push
        return serve(
            self._parts.storage.path(id_),
            SERVICE,
            self._client.protocol,
            push.body_with(planned.plan.commands) if planned.plan.proposals else push.body,
            drain=not self._client.is_session,
            max_push_bytes=settings.max_push_bytes or None,
            max_memory=settings.max_git_memory,
            refusals=planned.plan.refusals,
            max_file_bytes=settings.max_file_bytes,
            hooks=hooks,
            late=late,
            object_count=push.object_count,
            ref_count=len(push.commands),
            refuses_all=planned.refuses_all,
            lfs_repository=id_ if planned.looks_for_lfs else 0,
            opened=planned.opened,
        )

    async def _settle(self, push_id: int, push: Push) -> None:
        small = push.object_count < SMALL_OBJECTS and self._client.received < SMALL_BYTES
        announcing = asyncio.create_task(announce_push(self._parts.journal, push_id, small=small))
        if push.shows_progress and self._client.is_started:
            await _show_progress(self._client, announcing)
        await asyncio.shield(announcing)

    async def _end_of_report(self, planned: PlannedPush, report: PushReport) -> bytes:
        """Announce the proposals. Return the end of git's report with the URLs of their pull requests."""
        accepted, refusals = await self._announce_proposals(planned, report)
        announced, all_ = accepted.difference(refusals), planned.plan.proposals
        proposed = [proposal for proposal in all_ if proposal.ref in announced]
        refused = [proposal for proposal in all_ if proposal.ref not in announced]
        lines = list(planned.options.remarks)
        try:
            if refused:
                await proposals.take_back(
                    self._parts.db,
                    self._parts.storage,
                    refused,
                    accepted,
                    repository_id=self._repository.id,
                )
            if proposed:
                lines += await self._addresses(proposed)
        except Exception:
            log.exception("the report of a push could not be completed", repository=self._repository.id)
        return report.packets({proposal.ref: proposal.client_ref for proposal in all_}, refusals, lines)

    async def _announce_proposals(
        self, planned: PlannedPush, report: PushReport
    ) -> tuple[set[str], dict[str, str]]:
        """Announce proposals.

        Return the refs that git has moved, and reasons by ref for rejected proposals.
        """
        accepted: set[str] = set()
        try:
            accepted = report.accepted()
            proposed = [proposal for proposal in planned.plan.proposals if proposal.ref in accepted]
            if not proposed:
                return accepted, {}
            refusals = await proposals.announce(
                self._parts.db,
                self._parts.storage,
                self._presenter,
                proposed,
                planned.options,
                repository_id=self._repository.id,
                account_id=self._pusher.account_id,
                restricted=self._pusher.restricted,
            )
        except Exception:
            log.exception("proposals not announced", repository=self._repository.id)
            reason = "was not announced; push again"
            refusals = {proposal.ref: reason for proposal in planned.plan.proposals}
        return accepted, refusals

    async def _addresses(self, proposed: Sequence[Proposal]) -> list[str]:
        """Return lines with addresses of the pull requests, after a short wait for issues to open them."""
        settings, numbers = self._parts.settings, dict[int, int]()
        async for _ in polls(settings.proposal_wait_seconds):
            numbers = dict(await proposals.pull_numbers(self._parts.db, proposed))
            if len(numbers) == len(proposed):
                break
        page = f"{settings.public_url}{self._repository.full_name}/pulls"
        lines = [f"Pull request: {page}/{numbers[one.id]}" for one in proposed if one.id in numbers]
        if len(lines) < len(proposed):
            lines.append(f"The pull request will be among those at {page}")
        return lines


async def announce_push(journal: Pushes, push_id: int, *, small: bool) -> None:
    """Announce the push. If this fails, the sweeper does it later, because the refs have moved already."""
    try:
        await journal.settle(push_id, small=small)
    except Exception as error:  # noqa: BLE001 - whatever it is, the client gets what git said
        say = log.warning if is_outage(error) else log.exception
        say("push not announced yet", push=push_id, error=repr(error))


async def _show_progress(client: Conversation, announcing: asyncio.Task[None]) -> None:
    """Send a progress line every few seconds, until the push is announced or the client disconnects."""
    seconds = 0.0
    with contextlib.suppress(ClientDisconnected, OSError):
        while not (await asyncio.wait([announcing], timeout=PROGRESS_SECONDS))[0]:
            seconds += PROGRESS_SECONDS
            await client.write(packets(PROGRESS, b"Recording the push: %d s\n" % seconds))


def _proposes(commands: Sequence[RefChange]) -> bool:
    return any(command.name.startswith(FOR) for command in commands)
