"""Routes of the caller's mail preferences, general or for one repository, and of links to unsubscribe."""

from typing import cast

import msgspec
from litestar import MediaType, Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import Connection, anyone, resource, signed_in
from ingot_chassis.security.principal import PRINCIPAL_HEADER
from ingot_contracts.repos.repositories import Repository
from ingot_mail.composition.rules import unsubscribe_page
from ingot_mail.preferences import store
from ingot_mail.preferences.components import PreferenceComponents
from ingot_mail.preferences.store import EVERYWHERE, Choices, Frequency

PATH = "/api/v1/user/mail-preferences"
REPOSITORY_PATH = PATH + "/{owner:str}/{repo:str}"
UNSUBSCRIBE_PATH = "/mail/unsubscribe/{token:str}"


class MailPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """The frequencies at which the caller gets notifications by mail.

    `mentions` is also for assignments and requests for a review, `own` is for the caller's own actions.
    `inherited`: the repository has no choices of its own.
    """

    mentions: Frequency
    participating: Frequency
    watching: Frequency
    own: bool
    inherited: bool = False


class EditMailPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """A change of choices: `off`, `instant`, `hourly` or `daily`."""

    mentions: Frequency | UnsetType = UNSET
    participating: Frequency | UnsetType = UNSET
    watching: Frequency | UnsetType = UNSET
    own: bool | UnsetType = UNSET


async def _decide(connection: Connection, _level: str) -> Repository:
    """Return the repository in the path. Raises NotFound, Unauthenticated, Denied, or Moved."""
    request = cast("DatabaseRequest", connection)
    owner, name = connection.path_params["owner"], connection.path_params["repo"]
    token = connection.headers.get(PRINCIPAL_HEADER, "")
    granted = await request.part(PreferenceComponents).repos.access(owner, name, token)
    repository, principal = granted.repository, request.principal
    if granted.of(None) == "none":
        raise NotFound
    if not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if not principal.towards(repository.id, public=True).signed_in:
        raise Denied("the token is restricted to other repositories")
    if repository.full_name.lower() != f"{owner}/{name}".lower():
        raise request.moved(owner=repository.owner.login, repo=repository.name)
    return repository


def _present(row: Choices, *, inherited: bool = False) -> MailPreferences:
    return MailPreferences(
        mentions=row.mentions,
        participating=row.participating,
        watching=row.watching,
        own=row.own,
        inherited=inherited,
    )


@get(PATH, policy=signed_in("read:user"), operation_id="userGetMailPreferences", tags=["user"])
async def get_preferences(request: DatabaseRequest) -> MailPreferences:
    """Get the caller's preferences for mail."""
    async with request.db.read() as db:
        row = await store.get(db, request.principal.id, EVERYWHERE)
    return _present(row or Choices(account_id=request.principal.id))


@patch(PATH, policy=signed_in("write:user"), operation_id="userEditMailPreferences", tags=["user"])
async def edit_preferences(request: DatabaseRequest, data: EditMailPreferences) -> MailPreferences:
    """Change the caller's preferences for mail."""
    return await _edit(request, data, EVERYWHERE)


@get(
    REPOSITORY_PATH,
    policy=resource("read", "read:user", _decide),
    operation_id="userGetMailPreferencesOfRepository",
    tags=["user"],
)
async def get_preferences_of_repository(request: DatabaseRequest) -> MailPreferences:
    """Get the caller's mail preferences for a repository."""
    async with request.db.read() as db:
        rows = await store.list_effective(db, [request.principal.id], _repository(request).id)
    row = rows[request.principal.id]
    return _present(row, inherited=row.repository_id == EVERYWHERE)


@patch(
    REPOSITORY_PATH,
    policy=resource("read", "write:user", _decide),
    operation_id="userEditMailPreferencesOfRepository",
    tags=["user"],
)
async def edit_preferences_of_repository(
    request: DatabaseRequest, data: EditMailPreferences
) -> MailPreferences:
    """Change the caller's mail preferences for a repository."""
    return await _edit(request, data, _repository(request).id)


@delete(
    REPOSITORY_PATH,
    policy=resource("read", "write:user", _decide),
    operation_id="userDeleteMailPreferencesOfRepository",
    tags=["user"],
)
async def delete_preferences_of_repository(request: DatabaseRequest) -> None:
    """Delete the caller's preferences for a repository, so the general preferences apply to it again."""
    async with request.db.transaction() as tx:
        await store.remove(tx, request.principal.id, _repository(request).id)


async def _edit(request: DatabaseRequest, data: EditMailPreferences, repository_id: int) -> MailPreferences:
    account_id = request.principal.id
    async with request.db.transaction() as tx:
        row = (await store.list_effective(tx, [account_id], repository_id))[account_id]
        changed = msgspec.structs.replace(row, repository_id=repository_id, **set_fields(data))
        await store.save(tx, changed)
    return _present(changed)


def _repository(request: DatabaseRequest) -> Repository:
    return cast("Repository", request.scope["resource"])  # type: ignore[typeddict-item]


@get(UNSUBSCRIBE_PATH, policy=anyone(), include_in_schema=False, media_type=MediaType.HTML)
async def get_unsubscribe_page(request: DatabaseRequest, token: str) -> Response[str]:
    """Return a page that asks for confirmation, so programs that follow links do not unsubscribe."""
    if request.part(PreferenceComponents).links.read(token) is None:
        raise NotFound
    return _page(is_done=False)


@post(UNSUBSCRIBE_PATH, policy=anyone(), include_in_schema=False, media_type=MediaType.HTML, status_code=200)
async def unsubscribe(request: DatabaseRequest, token: str) -> Response[str]:
    """End all mail about a repository for the person of the link (RFC 8058)."""
    subscription = request.part(PreferenceComponents).links.read(token)
    if subscription is None:
        raise NotFound
    choices = Choices(
        account_id=subscription.account_id,
        repository_id=subscription.repository_id,
        mentions=Frequency.OFF,
        participating=Frequency.OFF,
        watching=Frequency.OFF,
    )
    async with request.db.transaction() as tx:
        await store.save(tx, choices)
    return _page(is_done=True)


def _page(*, is_done: bool) -> Response[str]:
    headers = {
        "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(unsubscribe_page(is_done=is_done), headers=headers, media_type=MediaType.HTML)


routes = [
    get_preferences,
    edit_preferences,
    get_preferences_of_repository,
    edit_preferences_of_repository,
    delete_preferences_of_repository,
    get_unsubscribe_page,
    unsubscribe,
]
