"""Routes of pull requests."""

import contextlib
from typing import Literal

import msgspec
from litestar import Response, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import ApiError, Conflict, Denied, Invalid, NotFound
from ingot_contracts.issues.pulls import PullRequest
from ingot_contracts.limits import Name
from ingot_contracts.repos.comparisons import Compare, Comparison
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.api import queries
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.queries import InState
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.api.texts import Head, Labels, Logins
from ingot_issues.access.rules.repositories import in_unit, may_propose, may_write
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import as_pull, present, present_page, pull_of
from ingot_issues.issues.api.routes import CreateIssueOption, EditIssueOption, allowed_edit, new_issue_of
from ingot_issues.issues.rules import labels as issue_labels
from ingot_issues.issues.store import details as issue_store
from ingot_issues.issues.store import lists as searches
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.issues.store.lists import IssueFilter
from ingot_issues.labels.rules import repository as label_rules
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.pulls.rules import opening as pulls
from ingot_issues.pulls.rules.opening import Retarget
from ingot_issues.pulls.store import rows as store
from ingot_issues.records.rules.targets import present_target
from ingot_issues.records.store.pulls import Branches
from ingot_issues.records.store.states import StateFilter
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.reviews.api.reviewers import Reviewers, requests_of
from ingot_issues.reviews.rules import submission as reviews

MOST_FILES = 200
"""Maximum number of files whose changes are in one text response."""
NO_HEAD = "the head does not exist"
"""The message for a missing fork, a fork that the caller may not read, and a missing branch."""


class CreatePullRequestOption(CreateIssueOption, kw_only=True):
    """A new pull request.

    `head` is `branch`, `owner:branch` for the fork of that owner, or `owner/repository:branch`.
    `allow_maintainer_edit` has no effect if the caller may not write to the head. Its default is a setting of
    the repository.
    """

    allow_maintainer_edit: bool | UnsetType = UNSET
    head: Head
    base: Name
    reviewers: Logins = msgspec.field(default_factory=list)
    team_reviewers: Logins = msgspec.field(default_factory=list)


class EditPullRequestOption(EditIssueOption, kw_only=True):
    """A change of a pull request. Absent or empty fields keep their values.

    Only the author may change `allow_maintainer_edit`. Enabling it requires write access to the head.
    """

    allow_maintainer_edit: bool | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET
    base: Name | UnsetType = UNSET


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
    """List pull requests, latest first. All states are listed, unless `state` is given."""
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
async def create_pull(request: IssuesRequest, data: CreatePullRequestOption) -> PullRequest:
    """Open a pull request. The caller needs write access to the base or the head repository."""
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
        pull = await pulls.open_pull(
            tx,
            context,
            new_issue,
            branches,
            comparison,
            allow_maintainer_edit=may_write(head) and _allows_maintainers(request, data),
        )
        if requests.account_ids or requests.teams:
            await reviews.request_reviews(tx, context, as_pull(pull), requests)
            pull = await issue_store.get_details_by_id(tx, pull.id) or pull
    # A job makes repos store the commits under the number. Commits of a fork may be read before that, so do
    # it now.
    if head.repository.id != request.repository_id:
        with contextlib.suppress(ApiError):
            await _compare(request, branches, pull.number)
        await pull_heads.requeue_closed(request.db, context, [pull])
    return await present(request, pull)


def _allows_maintainers(request: IssuesRequest, data: CreatePullRequestOption) -> bool:
    """Return `allow_maintainer_edit` of the request or, without it, the setting of the repository."""
    if data.allow_maintainer_edit is UNSET:
        return request.access.repository.default_allow_maintainer_edit
    return data.allow_maintainer_edit


async def _compare(request: IssuesRequest, branches: Branches, number: int = 0) -> Comparison:
    """Compare two branches of the request now. Raises NotFound."""
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
    """Return the repository and the branch of ``branch``, ``owner:branch`` or ``owner/name:branch``.

    Raises NotFound.
    """
    owner, colon, branch = head.partition(":")
    owner, slash, name = owner.partition("/") if colon else (owner, "", "")
    base = request.access.repository
    is_base = not slash or name.lower() == base.name.lower()
    if not colon or (is_base and owner.lower() == base.owner.login.lower()):
        own_branch = branch if colon else head
        if not own_branch or ":" in own_branch:
            raise NotFound(NO_HEAD)
        return in_unit(request.whole_access, "code"), own_branch
    if not owner or not branch or ":" in branch or (slash and not name):
        raise NotFound(NO_HEAD)
    try:
        relative = await (_relative(request, owner, name) if name else _fork_or_parent(request, owner))
        return in_unit(relative, "code"), branch
    except NotFound:
        raise NotFound(NO_HEAD) from None


async def _relative(request: IssuesRequest, owner: str, name: str) -> RepositoryAccess:
    """Return the named fork or parent of this repository. Raises NotFound."""
    base = request.access.repository
    access = await request.components.repos.access(owner, name, request.principal_token)
    parents = {one.parent.id for one in (base, access.repository) if one.parent is not None}
    if not parents & {base.id, access.repository.id}:
        raise NotFound(NO_HEAD)
    return access


async def _fork_or_parent(request: IssuesRequest, owner: str) -> RepositoryAccess:
    """Return the fork or parent of this repository that ``owner`` owns. Raises NotFound."""
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
    """Get the latest pull request between two branches.

    `head` is `branch`, `owner:branch` or `owner/repository:branch`.
    """
    head_access, head_branch = await head_of(request, head.removeprefix("/"))
    branches = Branches(base, head_access.repository.id, head_branch)
    async with request.db.read() as db:
        pull = await store.get_newest_details(db, request.repository_id, branches)
    if pull is None:
        raise NotFound
    return await present(request, pull)


def number_and_form(index: str) -> tuple[int, Literal["diff", "patch"] | None]:
    """Split `7`, `7.diff` or `7.patch` into number and form. Raises NotFound for other texts."""
    digits, dot, form = index.partition(".")
    number = queries.id_in(digits)
    if not number:
        raise NotFound
    if form not in ("", "diff", "patch") or (dot and not form):
        raise NotFound
    return number, "diff" if form == "diff" else "patch" if form == "patch" else None


def require_target(pull: PullDetails, commit_id: str, base_branch: str, merge_base: str) -> None:
    """Raise Conflict if a value that the caller names is not the current value.

    Empty values are not compared.
    """
    named = (commit_id.lower(), base_branch, merge_base.lower())
    for name, value, current in zip(
        ("commit_id", "base_branch", "merge_base"), named, present_target(pull), strict=True
    ):
        if value and value != current:
            raise Conflict(f"the changes have moved: {name} is now {current}")


async def text_of(
    request: IssuesRequest, pull: PullDetails, form: Literal["diff", "patch"], *, binary: bool
) -> Response[bytes]:
    """Return the changes of a pull request as text. ``binary``: a diff includes binary files."""
    commits = (pull.merge_base, pull.head_sha)
    text = await request.components.repos.diff(
        request.repository_id, *commits, form, request.principal_token, binary=binary, base_tip=pull.base_sha
    )
    return Response(text, media_type="text/plain")


async def diff_of_files(
    request: IssuesRequest, pull: PullDetails, files: int, page: int, whitespace: str
) -> Response[bytes]:
    """Return the changes of one page of files as text. `X-Total-Count` has the number of all files."""
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
async def edit_pull(request: IssuesRequest, index: int, data: EditPullRequestOption) -> PullRequest:
    """Change a pull request. Allowed for its author, and for users with write access.

    Without write access, changes of assignees, labels, milestone and due date are ignored.
    """
    pull = await pull_of(request, index)
    data.body = data.body or UNSET
    data.milestone = data.milestone or UNSET
    data.assignee = data.assignee or UNSET
    edit = await allowed_edit(request, pull, data)
    retarget = await _retarget_of(request, pull, data.base) if data.base else None
    allow = await _allowance_of(request, pull, data)
    replaces_labels = bool(data.labels) and await request.allowed(may_write)
    ids, names = label_rules.ids_and_names(data.labels or []) if replaces_labels else ([], [])
    context = await request.context()
    async with request.db.transaction() as tx:
        edited = await pulls.edit_pull(tx, context, pull, edit, retarget, allow_maintainer_edit=allow)
        if replaces_labels:
            edited = await issue_labels.replace_on_issue(tx, context, pull, ids, names) or edited
    return await present(request, edited)


async def _allowance_of(
    request: IssuesRequest, pull: PullDetails, data: EditPullRequestOption
) -> bool | None:
    """Return the new ``allow_maintainer_edit``, or None if it does not change.

    Raises Denied unless the caller is the author. Enabling it requires write access to the head.
    """
    if data.allow_maintainer_edit in (UNSET, pull.allow_maintainer_edit):
        return None
    refusal = Denied("only the author of the pull request, with write access to its head, may change that")
    if pull.author_id != request.principal.id:
        raise refusal
    if data.allow_maintainer_edit is False:
        return False
    try:
        head = await request.components.repos.access_by_id(pull.head_repository_id, request.principal_token)
    except NotFound:
        raise refusal from None
    if not may_write(in_unit(head, "code")):
        raise refusal
    return True


async def _retarget_of(request: IssuesRequest, pull: PullDetails, base: str) -> Retarget | None:
    """Return the new base with its comparison to the head. Return None if ``base`` is the current base.

    Raises Conflict, Invalid or NotFound.
    """
    if base == pull.base_branch:
        return None
    pulls.refuse_other_base(pull)
    if (pull.head_repository_id, pull.head_branch) == (request.repository_id, base):
        raise Invalid.field("base", "same", "is the head branch")
    branches = Branches(base, pull.head_repository_id, pull.head_branch)
    comparison = await _compare(request, branches, pull.number)
    dismisses = await request.components.repos.dismisses_approvals(request.repository_id, base)
    return Retarget(base_branch=base, comparison=comparison, dismisses=dismisses)


routes = [list_pulls, create_pull, get_pull_by_branches, edit_pull]
