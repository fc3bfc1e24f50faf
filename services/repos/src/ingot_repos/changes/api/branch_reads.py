"""Routes that read branches."""

from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.commits import Commit
from ingot_git.changes.branches import Tip, branch_with_tip, page_of_branches
from ingot_git.process.errors import RefNotFound, RepositoryNotFound
from ingot_git.storage.read_cache import ReadCache
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.changes.store import rules_and_logins
from ingot_repos.commits.api.views import verifications_of
from ingot_repos.commits.rules.excerpts import clip_for_list
from ingot_repos.commits.rules.signatures import UNSIGNED
from ingot_repos.presentation.rules.presenter import author_addresses
from ingot_repos.protection.rules.decisions import Actor, Rules, actor_of, may_merge
from ingot_repos.protection.store import read_rule


class Branch(msgspec.Struct):
    """A branch, and the caller's permissions for it.

    `effective_branch_protection_name` is set only for callers who may read the rules.
    """

    name: str
    commit: Commit
    protected: bool = False
    required_approvals: int = 0
    enable_status_check: bool = False
    status_check_contexts: list[str] = []
    user_can_push: bool = False
    user_can_merge: bool = False
    effective_branch_protection_name: str = ""


async def branch_views(
    request: RepositoryRequest, repository: ResolvedRepository, tips: list[tuple[str, Tip]]
) -> list[Branch]:
    """Return the branches of a repository with the accounts of their authors."""
    by_oid = {tip.commit.oid: tip for _, tip in tips}
    infos = [tip.commit for tip in by_oid.values()]
    signatures = {oid: tip.signature for oid, tip in by_oid.items() if tip.signature is not None}
    verifications = await verifications_of(request, repository.id, infos, signatures)
    async with request.db.read() as db:
        rows, logins = await rules_and_logins(db, repository.id, author_addresses(*infos))
    rules = Rules(rows, ())
    row = repository.row
    actor = actor_of(request.principal, row, repository.level)
    writes = reaches(repository.level, "write") and not row.archived and not row.mirror
    commits = {
        info.oid: request.presenter.commit(
            repository.full_name, info, logins, verification=verifications.get(info.oid, UNSIGNED)
        )
        for info in infos
    }
    return [
        Branch(
            name=name,
            commit=commits[tip.commit.oid],
            **_guard(rules, actor, name, tip.commit.oid, writes=writes),
        )
        for name, tip in tips
    ]


def _guard(rules: Rules, actor: Actor, name: str, tip: str, *, writes: bool) -> dict[str, Any]:
    """Return the fields of a branch that depend on its protection rule."""
    row = rules.of_branch(name)
    if row is None:
        return {"user_can_push": writes, "user_can_merge": writes}
    rule = read_rule(row)
    return {
        "protected": True,
        "required_approvals": rule.required_approvals,
        "enable_status_check": rule.enable_status_check,
        "status_check_contexts": rule.status_check_contexts,
        "user_can_push": writes and rules.may_push(actor, name, tip),
        "user_can_merge": writes and may_merge(rule, actor),
        "effective_branch_protection_name": row.rule_name if reaches(actor.level, "write") else "",
    }


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/branches",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoListBranches",
    tags=["repository"],
)
async def list_branches(request: RepositoryRequest, q: str = "") -> Response[list[Branch]]:
    """List branches by name. With `q`, list only branches whose names contain it.

    Long texts of commits are shortened. Only the route for one branch returns the complete texts.
    """
    repository = request.resource
    page = request.page()
    try:
        tips, total = await request.storage.call(
            repository.id, page_of_branches, q, page.offset, page.limit, clip_for_list
        )
    except RepositoryNotFound:
        raise NotFound from None
    return Response(await branch_views(request, repository, tips), headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/branches/{branch:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetBranch",
    tags=["repository"],
)
async def get_one(request: RepositoryRequest, branch: str) -> Branch:  # noqa: ARG001 - see below
    """Get one branch. Its name may contain slashes."""
    repository = request.resource
    name = request.rest_of_path(6)  # the path parameter is normalized
    try:
        tip = await request.storage.call(repository.id, branch_with_tip, name, request.part(ReadCache).tips)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    return (await branch_views(request, repository, [tip]))[0]


routes = [list_branches, get_one]
