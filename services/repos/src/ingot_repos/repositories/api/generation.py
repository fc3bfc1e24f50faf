"""Creation of repositories from a template."""

import msgspec
from litestar import post

from ingot_chassis.clock import now
from ingot_chassis.errors import Conflict, Denied, Invalid, NotFound
from ingot_contracts.limits import Name
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.policies import in_repository, organization_for_new, own_account
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.repositories.api.creation import create_new
from ingot_repos.repositories.rules.creation import InitialFields, NameTaken, NewRepository, TemplateFiles
from ingot_repos.repositories.store import topics

PARTS = ("git_content", "topics", "labels", "protected_branch", "webhooks", "git_hooks", "avatar")


class GenerateRepository(msgspec.Struct, kw_only=True):
    """The parts of the template to copy. At least one switch must be on.

    `webhooks`, `git_hooks` and `avatar` copy nothing: webhooks have secrets, and templates have no git hooks.
    """

    owner: Name
    name: Name
    description: Name = ""
    default_branch: Name = ""
    private: bool = False
    git_content: bool = False
    topics: bool = False
    labels: bool = False
    protected_branch: bool = False
    webhooks: bool = False
    git_hooks: bool = False
    avatar: bool = False


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/generate",
    policy=in_repository("signed-in", "write:repository", on_disk=True),
    operation_id="generateRepo",
    tags=["repository"],
    status_code=201,
)
async def generate(request: RepositoryRequest, data: GenerateRepository) -> Repository:
    """Create a repository from a template.

    The template's files become one commit. Topics, labels and branch protections are copied on request.
    """
    template = request.resource.row
    if not template.template:
        raise Invalid("the repository is not a template")
    if not any(getattr(data, part) for part in PARTS):
        raise Invalid.field("git_content", "missing", "or another part of the template has to be true")
    if data.protected_branch and not reaches(request.resource.level, "write"):
        raise Denied("needs write access to the template, because it reveals the protections")
    owner = await _owner(request, data.owner)
    request.acquire_slot()
    copied_topics: list[str] = []
    if data.topics:
        async with request.db.read() as db:
            copied_topics = await topics.names_of(db, template.id)
    files = None
    if data.git_content:
        files = TemplateFiles(
            repository_id=template.id,
            branch=template.default_branch,
            names=_names(request, template, owner, data),
        )
    new = NewRepository(
        name=data.name,
        fields=InitialFields(description=data.description, private=data.private),
        default_branch=data.default_branch or template.default_branch,
        copy=files,
        topics=copied_topics,
        labels_of=template.id if data.labels else 0,
        protections_of=template.id if data.protected_branch else 0,
    )
    try:
        return await create_new(request, owner, new)
    # 409 as for imports and forks; only the oldest ways to create a repository answer 422
    except NameTaken as error:
        raise Conflict(error.message, errors=error.errors) from None


async def _owner(request: RepositoryRequest, login: str) -> AccountRow:
    """Return the owner that the body names: the caller or an organization.

    Site administrators may name any account. Raises Invalid, Denied.
    """
    caller = await own_account(request)
    if login.lower() == caller.login.lower():
        return caller
    try:
        owner = await request.part(AccountCopies).get_by_login(login)
        if owner.kind == AccountKind.ORGANIZATION:
            return await organization_for_new(request, login)
    except NotFound:
        raise Invalid.field("owner", "unknown", "there is no such account") from None
    if not request.principal.admin:
        raise Denied("only administrators create repositories for other users")
    return owner


def _names(
    request: RepositoryRequest, template: RepositoryRow, owner: AccountRow, data: GenerateRepository
) -> dict[str, str]:
    """Return the variables for the files of the template, by name."""
    today = now()
    values = {"YEAR": f"{today:%Y}", "MONTH": f"{today:%m}", "DAY": f"{today:%d}"}
    for prefix, login, name, description in (
        ("REPO", owner.login, data.name, data.description),
        ("TEMPLATE", template.owner_login, template.name, template.description),
    ):
        link = f"{request.public_url}{login}/{name}"
        values |= {
            f"{prefix}_NAME": name,
            f"{prefix}_DESCRIPTION": description,
            f"{prefix}_OWNER": login,
            f"{prefix}_LINK": link,
            f"{prefix}_HTTPS_URL": f"{link}.git",
        }
    return values


routes = [generate]
