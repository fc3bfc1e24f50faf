"""Proposals: a push to `refs/for/<branch>` opens a pull request without a fork. Every reader may propose.

git moves the hidden ref `refs/scratch/proposals/<id>` instead of the ref that the client names. issues gets
an event and opens or updates the pull request. From then on `refs/pull/<number>/head` has the proposed
commits, too.
"""

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from ingot_chassis.db.database import Database
from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.limits import NAME_CHARACTERS, TEXT_CHARACTERS
from ingot_contracts.repos.comparisons import proposal_head
from ingot_contracts.repos.events import CommitsProposed
from ingot_git.changes.proposals import FOR, current_tip, move_back, proposed_commit, split_target
from ingot_git.hooks.update_hook import RefRefusal
from ingot_git.process.configuration import PROPOSALS
from ingot_git.refs.refs import ZERO_OID, RefChange, is_valid_ref_name
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.commits.rules.excerpts import clip_for_event
from ingot_repos.presentation.rules.presenter import Presenter, as_user
from ingot_repos.protection.rules.decisions import Actor
from ingot_repos.pushes.store import proposals

LONGEST_TOPIC = 200
LONGEST_BRANCH = 255
MOST_IN_A_PUSH = 20
MOST_PENDING = 100
"""Limit of proposals of one account in one repository that are not pull requests yet."""
MOST_FOR_HOOKS = 20
LONGEST_FOR_HOOKS = 200
"""Limit of characters of an option that hooks get."""
_OF_PROPOSALS = ("topic", "title", "description", "force-push")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def proposal_ref(proposal_id: int) -> str:
    """Return the ref that keeps the proposed commits."""
    return f"{PROPOSALS}{proposal_id}"


class Options(msgspec.Struct, frozen=True):
    """The options of a push (`git push -o`).

    ``for_hooks`` are passed to the hooks of the server. ``remarks`` are lines for the client, about options
    that were passed to hooks or ignored.
    """

    topic: str = ""
    title: str = ""
    body: str = ""
    force: bool = False
    for_hooks: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Proposal(msgspec.Struct, frozen=True):
    """The proposal of one ref of a push. ``client_ref`` is the ref that the client named."""

    id: int
    base_branch: str
    topic: str
    client_ref: str
    before: str
    after: str

    @property
    def ref(self) -> str:
        """The ref that keeps the proposed commits."""
        return proposal_ref(self.id)


class Plan(msgspec.Struct, frozen=True):
    """A planned push: the ref updates for git, refs that git must reject, and the proposals."""

    commands: list[RefChange]
    refusals: list[RefRefusal]
    proposals: list[Proposal]


def read_options(options: Sequence[str], commands: Sequence[RefChange]) -> Options:
    """Parse the options of a push of these refs. If an option is repeated, the last one counts."""
    proposes = any(command.name.startswith(FOR) for command in commands)
    has_hooks = not all(command.name.startswith(FOR) for command in commands)
    values, for_hooks, remarks = dict[str, str](), list[str](), list[str]()
    for option in options:
        name, _, value = option.partition("=")
        if proposes and name in _OF_PROPOSALS:
            values[name] = value.strip()
        elif name in _OF_PROPOSALS:
            remarks.append(f"the option {name!r} means nothing here without {FOR}<branch>")
        elif (
            has_hooks
            and len(for_hooks) < MOST_FOR_HOOKS
            and len(option) <= LONGEST_FOR_HOOKS
            and "\0" not in option
        ):
            for_hooks.append(option)
            remarks.append(f"the option {name!r} goes to the hooks of this push")
        else:
            remarks.append(f"the option {name[:100]!r} means nothing here")
    return Options(
        topic=values.get("topic", ""),
        title=values.get("title", ""),
        body=values.get("description", ""),
        force=values.get("force-push", "") in ("true", "1"),
        for_hooks=tuple(for_hooks),
        remarks=tuple(remarks),
    )


async def plan(
    db: Database,
    storage: Storage,
    row: RepositoryRow,
    actor: Actor,
    commands: Sequence[RefChange],
    options: Options,
    *,
    refusal: str = "",
) -> Plan:
    """Plan git's work for each ref update.

    ``refusal`` is the reason why the actor may not propose; empty if the actor may propose.
    """
    planned = Plan([], [], [])
    taken = set[int]()
    if sum(command.name.startswith(FOR) for command in commands) > MOST_IN_A_PUSH:
        refusal = f"a push may propose at most {MOST_IN_A_PUSH} times"
    for command in commands:
        if not command.name.startswith(FOR):
            planned.commands.append(command)
            continue
        base, topic, reason = "", "", refusal
        if not reason:
            base, topic, reason = await _read_target(storage, row, actor, command, options)
        proposal_id = 0
        if not reason:
            async with db.transaction() as tx:
                proposal_id = await proposals.take(
                    tx, row.id, actor.id, base, topic, most_pending=MOST_PENDING
                )
            reason = _refusal_of_id(proposal_id, taken)
        if reason:
            planned.commands.append(command)
            planned.refusals.append(RefRefusal(command.name, reason))
            continue
        taken.add(proposal_id)
        proposal = Proposal(proposal_id, base, topic, command.name, ZERO_OID, command.after)
        await _add_proposal(planned, storage, row.id, proposal, options)
    return planned


async def _add_proposal(
    planned: Plan, storage: Storage, repository_id: int, proposal: Proposal, options: Options
) -> None:
    """Plan the move of a proposal's ref from its current commit.

    Without the option ``force-push``, git must reject a move that replaces commits which are not merged.
    """
    before, is_merged = await storage.call(repository_id, current_tip, proposal.ref, proposal.base_branch)
    planned.commands.append(RefChange(proposal.ref, before, proposal.after))
    planned.proposals.append(msgspec.structs.replace(proposal, before=before))
    if before != ZERO_OID and not is_merged and not options.force:
        text = (
            f"this replaces commits of the topic {proposal.topic!r}: add -o force-push=true, "
            "or name another -o topic="
        )
        planned.refusals.append(RefRefusal(proposal.ref, text, forced_only=True))


async def announce(
    db: Database,
    storage: Storage,
    presenter: Presenter,
    proposed: Sequence[Proposal],
    options: Options,
    *,
    repository_id: int,
    account_id: int,
    restricted: bool,
) -> dict[str, str]:
    """Announce proposals to issues. Return reasons by ref for the proposals that are rejected."""
    messages, reasons = await _read_messages(storage, repository_id, proposed)
    async with db.transaction() as tx:
        row = await repositories.get_unfiltered(tx, repository_id)
        account = await accounts.get(tx, account_id)
        for proposal in proposed:
            if row is None or proposal.id not in messages:
                continue
            if not await proposals.record(tx, repository_id, proposal.id, compared_sha=ZERO_OID):
                reasons[proposal.ref] = "was taken back with another push of its topic; push again"
                continue
            event = CommitsProposed(
                repository=presenter.repository(row),
                pusher=as_user(account) if account else GHOST,
                base_branch=proposal.base_branch,
                head=proposal_head(proposal.topic, proposal.id),
                after=proposal.after,
                title=options.title,
                body=options.body,
                message=messages[proposal.id],
                restricted=restricted,
            )
            tx.emit(event, key=row.id)
    return reasons


async def _read_messages(
    storage: Storage, repository_id: int, proposed: Sequence[Proposal]
) -> tuple[dict[int, str], dict[str, str]]:
    """Return messages of commits by proposal id, and reasons by ref for proposals without commits."""
    messages, reasons = dict[int, str](), dict[str, str]()
    for proposal in proposed:
        commit = await storage.call(repository_id, proposed_commit, proposal.after, proposal.base_branch)
        if commit is None:
            reasons[proposal.ref] = f"has no commits that {proposal.base_branch} lacks"
        else:
            messages[proposal.id] = clip_for_event(commit).message
    return messages, reasons


async def take_back(
    db: Database,
    storage: Storage,
    refused: Sequence[Proposal],
    accepted: Collection[str],
    *,
    repository_id: int,
) -> None:
    """Undo rejected proposals of a push. git has moved only the refs that are ``accepted``."""
    changes = [RefChange(one.ref, one.before, one.after) for one in refused if one.ref in accepted]
    await storage.call(repository_id, move_back, changes)
    empty = []
    for one in refused:
        tip, _ = await storage.call(repository_id, current_tip, one.ref, one.base_branch)
        if tip == ZERO_OID:
            empty.append(one.id)
    async with db.transaction() as tx:
        await proposals.forget(tx, empty)


async def pull_numbers(db: Database, proposed: Sequence[Proposal]) -> Mapping[int, int]:
    """Return pull request numbers by proposal id.

    Proposals whose current commit issues has not compared are omitted.
    """
    numbers = {}
    async with db.read() as tx:
        for proposal in proposed:
            row = await proposals.get(tx, proposal.id)
            if row is not None and row.number and row.compared_sha == proposal.after:
                numbers[proposal.id] = row.number
    return numbers


async def _read_target(
    storage: Storage, row: RepositoryRow, actor: Actor, command: RefChange, options: Options
) -> tuple[str, str, str]:
    """Return base branch, topic, and the reason to reject the proposal.

    The reason is empty if the proposal is allowed.
    """
    if len(command.name) > len(FOR) + LONGEST_BRANCH + 1 + LONGEST_TOPIC:
        return "", "", "the name is too long"
    base, topic = await storage.call(row.id, split_target, command.name.removeprefix(FOR))
    topic = topic or options.topic or base[:LONGEST_TOPIC]
    return base, topic, _refusal(row, actor, command, base, topic, options)


def _refusal_of_id(proposal_id: int, taken: Collection[int]) -> str:
    if not proposal_id:
        return f"{MOST_PENDING} others of your proposals are no pull requests yet"
    return "another ref of the push has the same topic" if proposal_id in taken else ""


def _refusal(
    row: RepositoryRow, actor: Actor, command: RefChange, base: str, topic: str, options: Options
) -> str:
    name = command.name.removeprefix(FOR)
    rules = (
        (not actor.id, "a deploy key cannot propose commits"),
        (not row.pulls_enabled, "the repository takes no pull requests"),
        (not base, f"there is no branch {name!r}"),
        (len(base) > LONGEST_BRANCH, f"the name of the branch has more than {LONGEST_BRANCH} characters"),
        (command.after == ZERO_OID, "a pull request is closed, not deleted"),
        (
            len(topic) > LONGEST_TOPIC or not is_valid_ref_name(topic) or bool(_CONTROL.search(topic)),
            "the topic is not a valid name; use the characters of a branch name",
        ),
        (len(options.title) > NAME_CHARACTERS, f"the title has more than {NAME_CHARACTERS} characters"),
        (bool(_CONTROL.search(options.title)), "the title has control characters"),
        ("\0" in options.body, "the description has a NUL"),
        (len(options.body) > TEXT_CHARACTERS, f"the description has more than {TEXT_CHARACTERS} characters"),
    )
    return next((reason for is_broken, reason in rules if is_broken), "")
