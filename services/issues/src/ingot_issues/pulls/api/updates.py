"""Merges or rebases to bring a head branch up to date with its base."""

from typing import Annotated

from litestar import Response, post
from litestar.params import QueryParameter

from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.repos.merges import UpdateBranch, UpdateStyle
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.records.store.states import State

STYLES: dict[UpdateStyle, str] = {"merge": "allow_merge_update", "rebase": "allow_rebase_update"}
"""The field of ``Repository`` that allows each style of an update."""


@post(
    "/pulls/{index:int}/update",
    policy=in_repository("signed-in", "write:repository", "pulls", remembers=False),
    operation_id="repoUpdatePullRequest",
    tags=["repository"],
    status_code=200,
)
async def update_pull(
    request: IssuesRequest, index: int, style: Annotated[str, QueryParameter()] = ""
) -> Response[bytes]:
    """Merge the base into the head branch, or rebase the head branch. 409 on a conflict or if the head moved.

    Requires write access to the repository of the head. The base repository sets the default style.
    """
    pull, repository = await pull_of(request, index), request.access.repository
    chosen = _style(style, repository)
    if pull.state != State.OPEN:
        raise Invalid.field("index", "closed", "is a pull request that is merged or closed")
    if not getattr(repository, STYLES[chosen]):
        raise Denied(f"the repository does not allow the update style {chosen}")
    update = UpdateBranch(
        head_branch=pull.head_branch,
        head_sha=pull.head_sha,
        base_repository_id=repository.id,
        base_branch=pull.base_branch,
        style=chosen,
    )
    await request.components.repos.update_branch(pull.head_repository_id, update, request.principal_token)
    return Response(b"", media_type="text/plain")


def _style(text: str, repository: Repository) -> UpdateStyle:
    """Parse a style. Raises Invalid."""
    for style in STYLES:
        if style == (text or repository.default_update_style):
            return style
    if not text:
        return "merge"
    raise Invalid.field("style", "unknown", "is neither merge nor rebase")


routes = [update_pull]
