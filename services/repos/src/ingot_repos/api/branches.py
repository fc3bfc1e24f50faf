"""Branches, as git has them."""

from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_contracts.repos import Commit, reaches
from ingot_repos.api.code_views import verifications_of
from ingot_repos.api.policies import in_repository
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core.excerpts import clip_for_list
from ingot_repos.core.presenter import author_addresses
from ingot_repos.core.protections import Actor, Rules, actor_of, may_merge
from ingot_repos.core.signatures import UNSIGNED
from ingot_repos.git.branches import Tip, branch_with_tip, page_of_branches
from ingot_repos.git.errors import RefNotFound, RepositoryNotFound
from ingot_repos.store.branches import rules_and_logins
from ingot_repos.store.protections import read_rule


class Branch(msgspec.Struct):
    """A branch, and what the caller may do to it. Only who may read the rules learns the name of the one that protects it."""

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
    """Branches of a repository with the accounts of their authors."""
    by_oid = {tip.commit.oid: tip for _, tip in tips}
    infos = [tip.commit for tip in by_oid.values()]
    signatures = {oid: tip.signature for oid, tip in by_oid.items() if tip.signature is not None}
    verifications = await verifications_of(request, infos, signatures)
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
    """The fields of a branch that follow from the rule that protects it, if one does."""
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
    """Branches by name, with `q` those whose names hold it. Long texts of their commits are shortened; the answer for one branch has them whole."""
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
    """One branch; its name may hold slashes."""
    repository = request.resource
    name = request.rest_of_path(6)  # the path parameter comes normalized
    try:
        tip = await request.storage.call(repository.id, branch_with_tip, name, request.components.reads.tips)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    return (await branch_views(request, repository, [tip]))[0]


routes = [list_branches, get_one]
