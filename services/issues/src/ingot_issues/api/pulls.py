"""Pull requests."""

import contextlib
from typing import Literal

import msgspec
from litestar import Response, get, patch, post
from msgspec import UNSET

from ingot_chassis.errors import ApiError, Conflict, Denied, Invalid, NotFound
from ingot_chassis.policy import resource
from ingot_contracts.issues import PullRequest
from ingot_contracts.pulls import Compare, Comparison
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.api.issues import CreateIssue, EditIssue, allowed_edit, opening
from ingot_issues.api.queries import InState
from ingot_issues.core import labels, pulls
from ingot_issues.core.access import may_propose, may_write
from ingot_issues.store import accounts, repositories, searches
from ingot_issues.store.issues import IssueRow
from ingot_issues.store.searches import Wanted
from ingot_issues.store.surroundings import Surroundings

NO_HEAD = "the head does not exist"
"""The one answer for no fork, none that the caller may see, and no such branch in it."""


class CreatePullRequest(CreateIssue, kw_only=True):
    """``head`` is ``branch``, or ``owner:branch`` for the fork of that owner."""

    head: str
    base: str


class EditPullRequest(EditIssue, kw_only=True):
    """What is absent or empty stays."""

    labels: list[int | str] = msgspec.field(default_factory=list)
    base: str = ""


async def pull_row(request: Call, number: int) -> IssueRow:
    """Raises NotFound also for the number of a plain issue."""
    row = await request.issue(number)
    if not row.is_pull:
        raise NotFound
    return row


def view(request: Call, row: IssueRow) -> PullRequest:
    """One pull request; its row has its surroundings."""
    around = Surroundings.of([row])
    return request.viewing.pull(row, request.access.repository, around, reader=request.who.id)


@get(
    "/pulls",
    policy=resource("read", "read:repository"),
    unit="pulls",
    operation_id="repoListPullRequests",
    tags=["repository"],
)
async def list_pulls(
    request: Call,
    in_state: InState = "",
    sort: str = "",
    labels: list[str] | None = None,
    milestone: list[str] | None = None,
) -> Response[list[PullRequest]]:
    """Pull requests in any state, newest first."""
    page = request.page()
    label_ids, label_names = queries.ids_and_names("labels", labels)
    milestone_ids, milestone_titles = queries.ids_and_names("milestone", milestone)
    wanted = Wanted(
        is_pull=True,
        state=queries.state(in_state, "all"),
        sort=sort,
        label_ids=label_ids,
        label_names=label_names,
        milestone_ids=[number for number in milestone_ids if number],
        milestone_titles=milestone_titles,
    )
    async with request.db.read() as db:
        rows, total = await searches.search(db, request.repository_id, wanted, page)
    around = Surroundings.of(rows)
    viewing, repository, reader = request.viewing, request.access.repository, request.who.id
    found = [viewing.pull(row, repository, around, reader=reader) for row in rows]
    return Response(found, headers=request.page_headers(page, total))


@post(
    "/pulls",
    policy=resource("signed-in", "write:repository"),
    unit="pulls",
    operation_id="repoCreatePullRequest",
    tags=["repository"],
    status_code=201,
)
async def create_pull(request: Call, data: CreatePullRequest) -> PullRequest:
    """Propose to merge a branch: into a repository one may write to, or from one."""
    head, branch = await head_of(request, data.head)
    if not await request.allowed(lambda base: may_propose(base, head)):
        raise Denied("write access to the repository, or to the fork, is needed")
    begun = await opening(request, data)
    site = await request.site()
    compared = await _compared(request, data.base, head.repository.id, branch)
    proposal = pulls.Proposal(
        base_branch=data.base, head_repository=head.repository, head_branch=branch, comparison=compared
    )
    for side in (site.repository, head.repository):
        async with request.db.transaction() as tx:
            await repositories.save(tx, side)
    async with request.db.transaction() as tx:
        row = await pulls.open_pull(tx, site, begun, proposal)
    # A job has the commits kept under the number; those of a fork are not here until then, but may be read at once.
    if head.repository.id != request.repository_id:
        with contextlib.suppress(ApiError):
            await _compared(request, data.base, head.repository.id, branch, row.number)
    return view(request, row)


async def _compared(
    request: Call, base: str, head_repository_id: int, branch: str, number: int = 0
) -> Comparison:
    """How two branches compare now. Raises NotFound."""
    wanted = Compare(
        base_branch=base, head_repository_id=head_repository_id, head_branch=branch, number=number
    )
    missing = NotFound("the base or the head branch does not exist")
    if not 0 < len(base) <= pulls.LONGEST_BRANCH or len(branch) > pulls.LONGEST_BRANCH:
        raise missing
    try:
        return await request.repos.compare(request.repository_id, wanted, request.statement)
    except NotFound:
        raise missing from None


async def head_of(request: Call, head: str) -> tuple[RepositoryAccess, str]:
    """The repository and the branch that ``head`` names. Raises NotFound."""
    owner, colon, branch = head.partition(":")
    base = request.access.repository
    if not colon or owner.lower() == base.owner.login.lower():
        own_branch = branch if colon else head
        if not own_branch or ":" in own_branch:
            raise NotFound(NO_HEAD)
        return request.access, own_branch
    if not owner or not branch or ":" in branch:
        raise NotFound(NO_HEAD)
    try:
        return await _related(request, owner), branch
    except NotFound:
        raise NotFound(NO_HEAD) from None


async def _related(request: Call, owner: str) -> RepositoryAccess:
    """The repository of ``owner`` that is a fork of this one, or that this one is a fork of. Raises NotFound."""
    base = request.access.repository
    if base.parent is not None and base.parent.owner.login.lower() == owner.lower():
        return await request.repos.access_by_id(base.parent.id, request.statement)
    with contextlib.suppress(NotFound):  # a fork may have another name
        namesake = await request.repos.access(owner, base.name, request.statement)
        if namesake.repository.parent is not None and namesake.repository.parent.id == base.id:
            return namesake
    async with request.db.read() as db:
        owner_id = await accounts.id_of(db, owner)
        fork_id = await repositories.fork_of(db, base.id, owner_id) if owner_id else None
    if fork_id is None:
        raise NotFound(NO_HEAD)
    return await request.repos.access_by_id(fork_id, request.statement)


@get(
    "/pulls/{index:str}",
    policy=resource("read", "read:repository"),
    unit="pulls",
    operation_id="repoGetPullRequest",
    tags=["repository"],
)
async def get_pull(request: Call, index: str) -> Response[PullRequest | bytes]:
    """A pull request by its number; with `.diff` or `.patch` behind it, what it changes as text."""
    number, form = number_and_form(index)
    row = await pull_row(request, number)
    if form is not None:
        return await text_of(request, row, form)
    return Response(view(request, row))


def number_and_form(index: str) -> tuple[int, Literal["diff", "patch"] | None]:
    """What `7`, `7.diff` or `7.patch` asks for. Raises NotFound for anything else."""
    digits, dot, form = index.partition(".")
    number = queries.id_in(digits)
    if not number:
        raise NotFound
    if form not in ("", "diff", "patch") or (dot and not form):
        raise NotFound
    return number, "diff" if form == "diff" else "patch" if form == "patch" else None


async def text_of(
    request: Call, row: IssueRow, form: Literal["diff", "patch"]
) -> Response[PullRequest | bytes]:
    """What a pull request changes."""
    text = await request.repos.diff(
        request.repository_id, row.merge_base, row.head_sha, form, request.statement
    )
    return Response(text, media_type="text/plain")


@patch(
    "/pulls/{index:int}",
    policy=resource("signed-in", "write:repository"),
    unit="pulls",
    operation_id="repoEditPullRequest",
    tags=["repository"],
    status_code=201,
)
async def edit_pull(request: Call, index: int, data: EditPullRequest) -> PullRequest:
    """Change a pull request: its author and writers may; only writers change what is around the text."""
    row = await pull_row(request, index)
    data.body = data.body or UNSET
    data.milestone = data.milestone or UNSET
    data.assignee = data.assignee or UNSET
    wanted = await allowed_edit(request, row, data)
    retargeted = data.base if data.base != row.base_branch else ""
    compared = await _compared_with(request, row, retargeted) if retargeted else None
    relabelled = bool(data.labels) and await request.allowed(may_write)
    ids, names = labels.ids_and_names(data.labels) if relabelled else ([], [])
    site = await request.site()
    async with request.db.transaction() as tx:
        changed = await pulls.edit_pull(tx, site, row, wanted, retargeted, compared)
        if relabelled:
            changed = await labels.replace_on_issue(tx, site, row, ids, names) or changed
    return view(request, changed)


async def _compared_with(request: Call, row: IssueRow, base: str) -> Comparison:
    """How the head compares with another base. Raises Conflict, Invalid or NotFound."""
    if row.state != "open":
        raise Conflict("the pull request is merged or closed")
    if (row.head_repository_id, row.head_branch) == (request.repository_id, base):
        raise Invalid.field("base", "same", "is the head branch")
    return await _compared(request, base, row.head_repository_id, row.head_branch, row.number)


routes = [list_pulls, create_pull, get_pull, edit_pull]
