"""Pull requests."""

import contextlib
from collections.abc import Iterable
from typing import Literal

import msgspec
from litestar import Response, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import ApiError, Denied, Invalid, NotFound
from ingot_chassis.http.openapi import TextForms, response_spec
from ingot_contracts.issues import PullRequest
from ingot_contracts.limits import Name
from ingot_contracts.pulls import Compare, Comparison
from ingot_contracts.repos import RepositoryAccess, permission_of
from ingot_issues.api import queries
from ingot_issues.api.issues import CreateIssue, EditIssue, allowed_edit, issue_of, new_issue_of
from ingot_issues.api.policies import in_repository
from ingot_issues.api.queries import InState
from ingot_issues.api.request import IssuesRequest
from ingot_issues.api.reviewers import Reviewers, requests_of
from ingot_issues.api.texts import Head, Labels, Logins
from ingot_issues.core import labels as label_rules
from ingot_issues.core import pull_heads, pulls, reviews
from ingot_issues.core.access import may_propose, may_write
from ingot_issues.core.pulls import Retarget
from ingot_issues.store import accounts, repositories, searches
from ingot_issues.store import issues as issue_store
from ingot_issues.store import pulls as store
from ingot_issues.store.issues import IssueDetails, PullDetails
from ingot_issues.store.pulls import Branches
from ingot_issues.store.searches import IssueFilter
from ingot_issues.store.states import StateFilter

MOST_FILES = 200
"""Whose changes one answer has as text, where somebody asks for so many."""
NO_HEAD = "the head does not exist"
"""One answer for a fork that does not exist, a fork that the caller may not read, and a branch that does not exist."""


class CreatePullRequest(CreateIssue, kw_only=True):
    """``head`` is ``branch``, or ``owner:branch`` for the fork of that owner."""

    head: Head
    base: Name
    reviewers: Logins = msgspec.field(default_factory=list)
    team_reviewers: Logins = msgspec.field(default_factory=list)


class EditPullRequest(EditIssue, kw_only=True):
    """A field that is absent or empty stays."""

    labels: Labels | UnsetType = UNSET
    base: Name | UnsetType = UNSET


async def pull_of(request: IssuesRequest, number: int) -> PullDetails:
    """The pull request of that number. Raises NotFound, also for an issue."""
    return as_pull(await issue_of(request, number))


def as_pull(issue: IssueDetails) -> PullDetails:
    """Raises NotFound for an issue that is no pull request."""
    if not isinstance(issue, PullDetails):
        raise NotFound
    return issue


async def present(request: IssuesRequest, row: IssueDetails) -> PullRequest:
    [pull] = await present_page(request, [row])
    return pull


async def present_page(request: IssuesRequest, rows: Iterable[IssueDetails]) -> list[PullRequest]:
    """Pull requests, with what the caller may do to the repositories of their bases and heads."""
    pulls, base = [as_pull(row) for row in rows], request.access.repository
    permissions = {base.id: base.permissions}
    if forks := {pull.head_repository_id for pull in pulls} - {base.id}:
        with contextlib.suppress(ApiError):  # a change that was made already is answered all the same
            levels = await request.components.repos.levels(forks, request.principal_token)
            permissions |= {id_: permission_of(level) for id_, level in levels.items()}
    presenter, reader = request.presenter, request.principal.id
    return [presenter.pull(pull, base, reader=reader, permissions=permissions) for pull in pulls]


@get(
    "/pulls",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoListPullRequests",
    tags=["repository"],
)
async def list_pulls(
    request: IssuesRequest,
    in_state: InState = "",
    sort: str = "",
    labels: list[str] | None = None,
    milestone: list[str] | None = None,
    base_branch: str = "",
    poster: str = "",
) -> Response[list[PullRequest]]:
    """Pull requests in any state, newest first."""
    page = request.page()
    label_ids, label_names = queries.ids_and_names("labels", labels)
    milestone_ids, milestone_titles = queries.ids_and_titles("milestone", milestone)
    filters = IssueFilter(
        is_pull=True,
        state=queries.state(in_state, StateFilter.ALL),
        sort=sort,
        label_ids=label_ids,
        label_names=label_names,
        milestone_ids=[number for number in milestone_ids if number],
        milestone_titles=[title for title in milestone_titles if title != "0"],
        base_branch=queries.storable(base_branch),
        created_by=queries.storable(poster),
    )
    async with request.db.read() as db:
        rows, total = await searches.list_page(db, request.repository_id, filters, page)
    return Response(await present_page(request, rows), headers=request.page_headers(page, total))


@post(
    "/pulls",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoCreatePullRequest",
    tags=["repository"],
    status_code=201,
)
async def create_pull(request: IssuesRequest, data: CreatePullRequest) -> PullRequest:
    """Propose to merge a branch. The caller needs write access to the repository of the base or of the head."""
    head, head_branch = await head_of(request, data.head)
    if not await request.allowed(lambda base: may_propose(base, head)):
        raise Denied("write access to the repository, or to the fork, is needed")
    await request.require_unblocked()
    new_issue = await new_issue_of(request, data)
    reviewers = Reviewers(reviewers=data.reviewers, team_reviewers=data.team_reviewers)
    requests = await requests_of(request, reviewers, base_branch=data.base, author_id=request.principal.id)
    context = await request.context()
    branches = Branches(data.base, head.repository.id, head_branch)
    comparison = await _compare(request, branches)
    for repository in (context.repository, head.repository):
        async with request.db.transaction() as tx:
            await repositories.add_missing(tx, repository)
    async with request.db.transaction() as tx:
        pull = await pulls.open_pull(tx, context, new_issue, branches, comparison)
        if requests.account_ids or requests.teams:
            await reviews.request_reviews(tx, context, as_pull(pull), requests)
            pull = await issue_store.get_details_by_id(tx, pull.id) or pull
    # A job makes repos keep the commits under the number. Those of a fork may be read before that, so ask now.
    if head.repository.id != request.repository_id:
        with contextlib.suppress(ApiError):
            await _compare(request, branches, pull.number)
        await pull_heads.tell_again(request.db, context, [pull])
    return await present(request, pull)


async def _compare(request: IssuesRequest, branches: Branches, number: int = 0) -> Comparison:
    """How two branches compare now. Raises NotFound."""
    missing = NotFound("the base or the head branch does not exist")
    longest = max(len(branches.base_branch), len(branches.head_branch))
    if not branches.base_branch or longest > pulls.LONGEST_BRANCH:
        raise missing
    question = Compare(**branches._asdict(), number=number)
    try:
        return await request.components.repos.compare(
            request.repository_id, question, request.principal_token
        )
    except NotFound:
        raise missing from None


async def head_of(request: IssuesRequest, head: str) -> tuple[RepositoryAccess, str]:
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
        return await _fork_or_parent(request, owner), branch
    except NotFound:
        raise NotFound(NO_HEAD) from None


async def _fork_or_parent(request: IssuesRequest, owner: str) -> RepositoryAccess:
    """The repository of ``owner`` that is a fork of this one, or that this one is a fork of. Raises NotFound."""
    base, repos = request.access.repository, request.components.repos
    if base.parent is not None and base.parent.owner.login.lower() == owner.lower():
        return await repos.access_by_id(base.parent.id, request.principal_token)
    with contextlib.suppress(NotFound):  # a fork may have another name
        namesake = await repos.access(owner, base.name, request.principal_token)
        if namesake.repository.parent is not None and namesake.repository.parent.id == base.id:
            return namesake
    async with request.db.read() as db:
        owner_id = await accounts.get_id(db, owner)
        fork_id = await repositories.get_fork_id(db, base.id, owner_id) if owner_id else None
    if fork_id is None:
        raise NotFound(NO_HEAD)
    return await repos.access_by_id(fork_id, request.principal_token)


@get(
    "/pulls/{base:str}/{head:path}",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullRequestByBaseHead",
    tags=["repository"],
)
async def get_pull_by_branches(request: IssuesRequest, base: str, head: str) -> PullRequest:
    """The newest pull request between two branches; `head` is `branch` or `owner:branch`."""
    head_access, head_branch = await head_of(request, head.removeprefix("/"))
    branches = Branches(base, head_access.repository.id, head_branch)
    async with request.db.read() as db:
        pull = await store.get_newest_details(db, request.repository_id, branches)
    if pull is None:
        raise NotFound
    return await present(request, pull)


@get(
    "/pulls/{index:str}",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullRequest",
    tags=["repository"],
    responses={200: response_spec(PullRequest, "The pull request")},
    text_forms=TextForms(
        "repoDownloadPullDiffOrPatch",
        "diffType",
        ("diff", "patch"),
        "The changes of a pull request as text; with `binary` a diff has those of binary files, as a patch always has; "
        f"with `files` a diff has those of so many files at most, {MOST_FILES} at most, with `page` the next ones, and "
        "`X-Total-Count` counts all; `whitespace` then says which changes of white space are not shown: `ignore-all`, `ignore-change` "
        "(of its amount) or `ignore-eol` (at the ends of lines).",
        query=("binary", "files", "page", "whitespace"),
    ),
)
async def get_pull(
    request: IssuesRequest,
    index: str,
    binary: bool = False,
    files: int = 0,
    page: int = 1,
    whitespace: str = "",
) -> Response[PullRequest | bytes]:
    """A pull request by its number; with `.diff` or `.patch` after it, its changes as text."""
    number, form = number_and_form(index)
    pull = await pull_of(request, number)
    if form == "diff" and files > 0:
        return await _diff_of_files(request, pull, min(files, MOST_FILES), max(1, page), whitespace)
    if form is not None:
        return await text_of(request, pull, form, binary=binary)
    return Response(await present(request, pull))


def number_and_form(index: str) -> tuple[int, Literal["diff", "patch"] | None]:
    """The parts of `7`, `7.diff` or `7.patch`. Raises NotFound for anything else."""
    digits, dot, form = index.partition(".")
    number = queries.id_in(digits)
    if not number:
        raise NotFound
    if form not in ("", "diff", "patch") or (dot and not form):
        raise NotFound
    return number, "diff" if form == "diff" else "patch" if form == "patch" else None


async def text_of(
    request: IssuesRequest, pull: PullDetails, form: Literal["diff", "patch"], *, binary: bool
) -> Response[PullRequest | bytes]:
    """The changes of a pull request as text; with ``binary`` a diff has those of binary files too."""
    commits = (pull.merge_base, pull.head_sha)
    text = await request.components.repos.diff(
        request.repository_id, *commits, form, request.principal_token, binary=binary
    )
    return Response(text, media_type="text/plain")


async def _diff_of_files(
    request: IssuesRequest, pull: PullDetails, files: int, page: int, whitespace: str
) -> Response[PullRequest | bytes]:
    """The changes of a page of so many files."""
    text, total = await request.components.repos.diff_of_files(
        request.repository_id,
        pull.merge_base,
        pull.head_sha,
        request.principal_token,
        offset=(page - 1) * files,
        files=files,
        whitespace=queries.ignored_whitespace(whitespace),
    )
    headers = {} if total is None else {"X-Total-Count": str(total)}
    return Response(text, media_type="text/plain", headers=headers)


@patch(
    "/pulls/{index:int}",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoEditPullRequest",
    tags=["repository"],
    status_code=201,
)
async def edit_pull(request: IssuesRequest, index: int, data: EditPullRequest) -> PullRequest:
    """Change a pull request: its author and writers may; only writers change assignees, labels, milestone and due date."""
    pull = await pull_of(request, index)
    data.body = data.body or UNSET
    data.milestone = data.milestone or UNSET
    data.assignee = data.assignee or UNSET
    edit = await allowed_edit(request, pull, data)
    retarget = await _retarget_of(request, pull, data.base) if data.base else None
    replaces_labels = bool(data.labels) and await request.allowed(may_write)
    ids, names = label_rules.ids_and_names(data.labels or []) if replaces_labels else ([], [])
    context = await request.context()
    async with request.db.transaction() as tx:
        edited = await pulls.edit_pull(tx, context, pull, edit, retarget)
        if replaces_labels:
            edited = await label_rules.replace_on_issue(tx, context, pull, ids, names) or edited
    return await present(request, edited)


async def _retarget_of(request: IssuesRequest, pull: PullDetails, base: str) -> Retarget | None:
    """How the head compares with another base; None for the present base. Raises Conflict, Invalid or NotFound."""
    if base == pull.base_branch:
        return None
    pulls.refuse_other_base(pull)
    if (pull.head_repository_id, pull.head_branch) == (request.repository_id, base):
        raise Invalid.field("base", "same", "is the head branch")
    branches = Branches(base, pull.head_repository_id, pull.head_branch)
    return Retarget(base_branch=base, comparison=await _compare(request, branches, pull.number))


routes = [list_pulls, create_pull, get_pull, get_pull_by_branches, edit_pull]
