"""A push, and what git and a client say to each other, streamed both ways: the same for HTTP and for SSH.

The handlers have decided before. These answers are raw ASGI, because one begins while its request is read.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial

import structlog

from ingot_chassis.db.driver import is_outage
from ingot_chassis.errors import BadRequest, NotFound, Unavailable
from ingot_repos.api.exchanges import ClientDisconnected, Exchange
from ingot_repos.api.push_rights import (
    Pusher,
    Renew,
    find_refusals,
    refusal_of_late_push,
    refusal_of_proposals,
)
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shards import forward_push
from ingot_repos.core import proposals
from ingot_repos.core.placements import OnAnotherShard
from ingot_repos.core.proposals import Options, Plan, Proposal
from ingot_repos.core.protections import NO_RULES, Rules, rules_of
from ingot_repos.core.waits import looks
from ingot_repos.git.errors import BodyRefused, GitError
from ingot_repos.git.fetch_requests import WantRefused
from ingot_repos.git.proposals import FOR
from ingot_repos.git.push_advertisement import advertise_for_push
from ingot_repos.git.push_reports import PushReport, refusal_of_push
from ingot_repos.git.push_requests import Push, read_push_commands
from ingot_repos.git.smart_http import inflate, serve
from ingot_repos.git.spools import Part
from ingot_repos.git.update_hook import hooks_folder
from ingot_repos.store import push_conditions

log = structlog.get_logger()

MAX_INFLATED = 64 * 1024 * 1024
SMALL_OBJECTS, SMALL_BYTES = 100, 1024 * 1024
"""A push of fewer of both is a small change."""


async def push(repository: ResolvedRepository, pusher: Pusher, renew: Renew, exchange: Exchange) -> None:
    """Receive a push. Once the client has said what it pushes, room for git is waited for. Raises Unavailable, NotFound.

    When it takes long, it is decided anew by ``renew`` before refs move: what was taken away meanwhile moves none.
    """
    decided_at = asyncio.get_running_loop().time()
    request, body = exchange.request, exchange.body()
    if exchange.is_session:
        await exchange.start("application/octet-stream")
        refs = await advertise_for_push(
            request.storage,
            repository.id,
            exchange.protocol,
            is_session=True,
            max_memory=request.max_git_memory,
        )
        await exchange.write(refs)
    try:
        push = await read_push_commands(inflate(body, MAX_INFLATED) if exchange.is_gzip else body)
    except (BodyRefused, ClientDisconnected) as error:
        if not exchange.is_session:
            raise BadRequest(str(error)) from error
        push = None
    if push is None or (exchange.is_session and not push.commands):
        # There was nothing to push.
        await exchange.write(b"", more=False)
        return
    try:
        await _receive(repository, pusher, renew, decided_at, push, exchange)
    except (Unavailable, NotFound) as error:
        if not exchange.is_session:
            raise
        refusal = refusal_of_push(error.message, has_side_band=push.has_side_band)
        await exchange.write(refusal, more=False)


async def _receive(
    repository: ResolvedRepository,
    pusher: Pusher,
    renew: Renew,
    decided_at: float,
    push: Push,
    exchange: Exchange,
) -> None:
    """It is journaled before refs move, and announced before the client gets the end of the answer."""
    request = exchange.request
    path = request.storage.path(repository.id)
    async with request.db.read() as db:
        conditions = await push_conditions.get(db, repository.id, pusher.account_id)
        rules = await rules_of(db, repository.id) if conditions.is_protected else NO_RULES
    if not conditions.has_account:
        await request.components.accounts.get(pusher.account_id)
    plan, options = await _planned(repository, pusher, push, exchange, rules)
    refusals = plan.refusals
    refused = {one.ref for one in refusals if one.is_certain}
    refuses_all = refused.issuperset(command.name for command in plan.commands)
    # Nobody can fetch proposals.
    stay = refused.union(proposal.ref for proposal in plan.proposals)
    names = [command.name for command in plan.commands if command.name not in stay]
    max_file_bytes, hooks = request.settings.max_file_bytes, None
    looks_for_lfs = request.components.lfs_pushes.looks_at(plan.commands, uses_lfs=conditions.uses_lfs)
    if refusals or max_file_bytes or plan.proposals or looks_for_lfs:
        hooks = await asyncio.to_thread(hooks_folder, request.storage.root, refuses_refs=bool(refusals))
    proposes = any(command.name.startswith(FOR) for command in push.commands)
    has_more_to_say = plan.proposals or options.remarks
    journaled = request.components.pushes.journaled(
        repository.id, pusher.account_id, names, restricted=pusher.restricted, options=options.for_hooks
    )
    hooks_if_late = partial(hooks_folder, request.storage.root, refuses_refs=False)
    of_late_push = partial(refusal_of_late_push, request, renew, push.commands, refusals)
    try:
        async with (
            # Who may move nothing here gets no more room than a stranger.
            request.components.admission.slot(repository.id, signed_in=not refuses_all),
            contextlib.nullcontext(0) if refuses_all else journaled as push_id,
            request.questions.question_if_late(decided_at, hooks_if_late, of_late_push) as late,
        ):
            stream = serve(
                path,
                "git-receive-pack",
                exchange.protocol,
                push.body_with(plan.commands) if plan.proposals else push.body,
                drain=not exchange.is_session,
                max_push_bytes=request.settings.max_push_bytes or None,
                max_memory=request.max_git_memory,
                refusals=refusals,
                max_file_bytes=max_file_bytes,
                hooks=hooks,
                late=late,
                object_count=push.object_count,
                ref_count=len(push.commands),
                refuses_all=refuses_all,
                lfs_repository=repository.id if looks_for_lfs else 0,
                # What is left of refs/for/ is refused by the update hook, for its reasons.
                opened=[FOR, *(proposal.ref for proposal in plan.proposals)] if proposes else (),
            )
            report = PushReport(has_side_band=push.has_side_band)
            try:
                answer_to_push = report.texts_of(stream) if has_more_to_say else stream
                last = await forward(
                    exchange, "git-receive-pack", answer_to_push, repository, return_last=True
                )
            finally:
                # Also when the client is gone or the process stops: refs may have moved.
                if push_id:
                    small = push.object_count < SMALL_OBJECTS and exchange.received < SMALL_BYTES
                    await asyncio.shield(announce_push(request, push_id, small=small))
    except OnAnotherShard as error:
        # It moved after the client was let in. The journal says so before git gets anything.
        with contextlib.suppress(ClientDisconnected):
            await forward_push(request, error.shard, push.body, exchange.send)
        return
    if has_more_to_say:
        last += await _end_of_report(repository, pusher, plan, options, report, request)
    await exchange.write(last, more=False)


async def _planned(
    repository: ResolvedRepository, pusher: Pusher, push: Push, exchange: Exchange, rules: Rules
) -> tuple[Plan, Options]:
    """What git is to do, and what it refuses."""
    request = exchange.request
    options = proposals.read_options(push.options, push.commands)
    plan = Plan(list(push.commands), [], [])
    others = [one for one in push.commands if not one.name.startswith(FOR)]
    if len(others) < len(push.commands):
        plan = await proposals.plan(
            request.db,
            request.storage,
            repository.row,
            pusher.actor,
            push.commands,
            options,
            refusal=await refusal_of_proposals(request, repository, pusher),
        )
    plan.refusals.extend(find_refusals(rules, pusher, others))
    return plan, options


async def _end_of_report(
    repository: ResolvedRepository,
    pusher: Pusher,
    plan: Plan,
    options: Options,
    report: PushReport,
    request: RepositoryRequest,
) -> bytes:
    """Announce what was proposed, and say where it is."""
    names = {proposal.ref: proposal.client_ref for proposal in plan.proposals}
    lines = list(options.remarks)
    refusals: dict[str, str] = {}
    accepted: set[str] = set()
    try:
        accepted = report.accepted()
        proposed = [proposal for proposal in plan.proposals if proposal.ref in accepted]
        if proposed:
            refusals = await proposals.announce(
                request.db,
                request.storage,
                request.presenter,
                proposed,
                options,
                repository_id=repository.id,
                account_id=pusher.account_id,
                restricted=pusher.restricted,
            )
    except Exception:
        log.exception("proposals not announced", repository=repository.id)
        refusals = {proposal.ref: "was not announced; push again" for proposal in plan.proposals}
    announced = accepted.difference(refusals)
    proposed = [proposal for proposal in plan.proposals if proposal.ref in announced]
    refused = [proposal for proposal in plan.proposals if proposal.ref not in announced]
    try:
        if refused:
            await proposals.take_back(
                request.db, request.storage, refused, accepted, repository_id=repository.id
            )
        if proposed:
            lines += await _addresses(repository, proposed, request)
    except Exception:
        log.exception("the end of a push failed", repository=repository.id)
    return report.packets(names, refusals, lines)


async def _addresses(
    repository: ResolvedRepository, proposed: Sequence[Proposal], request: RepositoryRequest
) -> list[str]:
    """Where the pull requests are. Issues opens them, which is awaited for a moment."""
    numbers: Mapping[int, int] = {}
    async for _ in looks(request.settings.proposal_wait_seconds):
        numbers = await proposals.pull_numbers(request.db, proposed)
        if len(numbers) == len(proposed):
            break
    page = f"{request.settings.public_url}{repository.full_name}/pulls"
    lines = [f"Pull request: {page}/{numbers[one.id]}" for one in proposed if one.id in numbers]
    if len(lines) < len(proposed):
        lines.append(f"The pull request will be among those at {page}")
    return lines


async def announce_push(request: RepositoryRequest, push_id: int, *, small: bool) -> None:
    """Announce the push. If that fails the sweeper does it: the refs have moved already."""
    try:
        await request.components.pushes.settle(push_id, small=small)
    except Exception as error:  # noqa: BLE001 - whatever it is, the client gets what git said
        say = log.warning if is_outage(error) else log.exception
        say("push not announced yet", push=push_id, error=repr(error))


async def forward(
    exchange: Exchange,
    service: str,
    stream: AsyncGenerator[Part, None],
    repository: ResolvedRepository,
    *,
    return_last: bool = False,
) -> bytes:
    """Forward git's answer. With ``return_last`` its last chunk is returned instead, and the answer stays open.

    In a session the client waits for each chunk before it goes on, so none is held back to be the last. Nor is one of a
    file, which would be gone.
    """
    exchange.request.components.loads.count(repository.id)
    chunk_to_write: bytes | None = None
    async with contextlib.aclosing(stream):
        try:
            async for chunk in stream:
                if chunk_to_write is None:
                    await exchange.start(f"application/x-{service}-result")
                else:
                    await exchange.write(chunk_to_write)
                if isinstance(chunk, bytes) and (return_last or not exchange.is_session):
                    chunk_to_write = chunk
                else:
                    await exchange.write(chunk)
                    chunk_to_write = b""
        except BodyRefused as error:
            if not exchange.is_started and chunk_to_write is None:
                raise BadRequest(str(error)) from error
            log.info("git request refused", repository=repository.id, error=str(error))
        except WantRefused as error:
            log.info("fetch refused", repository=repository.id, error=str(error))
            chunk_to_write = (chunk_to_write or b"") + error.packet
            await exchange.start(f"application/x-{service}-result")
        except GitError as error:
            log.info("git ended early", repository=repository.id, service=service, error=str(error))
    if chunk_to_write is None:
        await exchange.start(f"application/x-{service}-result")
        chunk_to_write = b""
    if not return_last:
        await exchange.write(chunk_to_write, more=False)
    return chunk_to_write
