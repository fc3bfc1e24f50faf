"""Pull requests."""

import contextlib
from typing import Literal

import msgspec
from litestar import Response, get, patch, post
from msgspec import UNSET

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.policy import MAX_ID, resource
from ingot_contracts.issues import PullRequest
from ingot_contracts.repos import Compare, RepositoryAccess
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.api.issues import CreateIssue, EditIssue, apply_edit, opening
from ingot_issues.api.queries import InState
from ingot_issues.core import labels, pulls
from ingot_issues.core.access import may_propose, may_write
from ingot_issues.store import accounts, issues, repositories
from ingot_issues.store.issues import IssueRow, Wanted


class CreatePullRequest(CreateIssue, kw_only=True):
    """``head`` is ``branch``, or ``owner:branch`` for the fork of that owner."""

    head: str
    base: str


class EditPullRequest(EditIssue, kw_only=True):
    """What is absent or empty stays."""

    labels: list[int | str] = msgspec.field(default_factory=list)


async def pull_row(request: Call, number: int) -> IssueRow:
    """Raises NotFound also for the number of a plain issue."""
    row = await request.issue(number)
    if not row.is_pull:
        raise NotFound
    return row


async def view(request: Call, row: IssueRow) -> PullRequest:
    """One pull request with its surroundings."""
    async with request.db.read() as db:
        around = await issues.surroundings(db, [row])
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
    label_ids, label_names = queries.ids_and_names(labels)
    milestone_ids, milestone_titles = queries.ids_and_names(milestone)
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
        rows, total = await issues.search(db, request.repository_id, wanted, page)
        around = await issues.surroundings(db, rows)
    repository, reader = request.access.repository, request.who.id
    found = [request.viewing.pull(row, repository, around, reader=reader) for row in rows]
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
    compared = await request.repos.compare(
        request.repository_id,
        Compare(base_branch=data.base, head_repository_id=head.repository.id, head_branch=branch),
        request.statement,
    )
    proposal = pulls.Proposal(
        base_branch=data.base, head_repository=head.repository, head_branch=branch, comparison=compared
    )
    async with request.db.transaction() as tx:
        row = await pulls.open_pull(tx, request.jobs, site, begun, proposal)
    return await view(request, row)


async def head_of(request: Call, head: str) -> tuple[RepositoryAccess, str]:
    """The repository and the branch that ``head`` names. Raises NotFound."""
    owner, colon, branch = head.partition(":")
    base = request.access.repository
    if not colon or owner.lower() == base.owner.login.lower():
        own_branch = branch if colon else head
        if not own_branch or ":" in own_branch:
            raise NotFound("the head branch does not exist")
        return request.access, own_branch
    if not owner or not branch or ":" in branch:
        raise NotFound("the head branch does not exist")
    return await _related(request, owner), branch


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
        raise NotFound(f"{owner!r} has no fork of the repository")
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
    number, _, form = index.partition(".")
    if not (number.isascii() and number.isdigit() and 0 < int(number[:20]) <= MAX_ID):
        raise NotFound
    row = await pull_row(request, int(number))
    if form == "diff":
        return await _text(request, row, "diff")
    if form == "patch":
        return await _text(request, row, "patch")
    if "." in index:
        raise NotFound
    return Response(await view(request, row))


async def _text(
    request: Call, row: IssueRow, form: Literal["diff", "patch"]
) -> Response[PullRequest | bytes]:
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
    row = await apply_edit(request, row, data)
    if data.labels and await request.allowed(may_write):
        site = await request.site()
        ids = [label for label in data.labels if isinstance(label, int)]
        names = [label for label in data.labels if isinstance(label, str)]
        async with request.db.transaction() as tx:
            await labels.replace_on_issue(tx, site, row, ids, names)
    return await view(request, await pull_row(request, index))


routes = [list_pulls, create_pull, get_pull, edit_pull]
