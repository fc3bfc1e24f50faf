"""Routes for access tokens of the caller.

Tokens are created, listed and deleted only with the password. A token may delete itself.
"""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, delete, get, post
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from ingot_chassis.errors import NotFound
from ingot_chassis.http.times import in_utc
from ingot_contracts.limits import Name
from ingot_identity.access.api import own_tokens, present_token
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import whole_seconds
from ingot_identity.messages.components import MessageComponents
from ingot_identity.tokens import rules as tokens
from ingot_identity.tokens import store
from ingot_identity.tokens.store import TokenRow

MOST_REPOSITORIES = MOST_SCOPES = 100


class CreateAccessTokenOption(msgspec.Struct):
    """A new token. `scopes` are read:… or write:… of a group; an empty list means all.

    Without `expires_at` it works until it is deleted. With `repositories` (`owner/name`) it has access only
    to these repositories. Other requests with it are treated as anonymous.
    """

    name: Name = ""
    scopes: Annotated[list[Name], msgspec.Meta(max_length=MOST_SCOPES)] = []
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    repositories: Annotated[list[Name], msgspec.Meta(max_length=MOST_REPOSITORIES)] | None = None

    def expiry(self) -> datetime | None:
        """Return the time at which the token expires, in UTC; None if it never expires. Raises Invalid."""
        return in_utc(self.expires_at, "expires_at") if self.expires_at else None


class TokenOwner(msgspec.Struct):
    id: int
    login: str


class AccessToken(msgspec.Struct):
    """A token. `sha1` is the secret. It is empty except in the response to the creation.

    `token_last_eight` are the last eight characters of the secret. `repositories` has the current names of
    the repositories to which the token is restricted; absent without restriction. It omits deleted
    repositories, and repositories that the owner of the token may no longer see.
    """

    id: int
    name: str
    sha1: str = ""
    token_last_eight: str = ""
    scopes: list[str] = []
    created_at: datetime | None = None
    last_used_at: datetime | None = None
    expires_at: datetime | None = None
    repositories: list[str] | UnsetType = UNSET


class CurrentToken(AccessToken, kw_only=True):
    user: TokenOwner


@post(
    "/api/v1/users/{username:str}/tokens",
    policy=own_tokens(),
    operation_id="userCreateToken",
    tags=["user"],
    status_code=201,
)
async def create_token(request: IdentityRequest, data: CreateAccessTokenOption) -> AccessToken:
    """Create an access token. Its secret is shown only in this response."""
    name = data.name or request.query_params.get("name", "")
    scopes = list(dict.fromkeys(data.scopes)) or ["all"]
    expires_at = data.expiry()
    restricted: dict[int, str] = {}
    if data.repositories is not None:
        patience = request.settings.deletion_patience
        restricted = await tokens.named_repositories(
            request.db, request.principal, data.repositories, patience
        )
    async with request.db.transaction() as tx:
        token_id, secret = await tokens.create(tx, request.principal.id, name, scopes, expires_at, restricted)
        await request.part(MessageComponents).messages.notify(
            tx,
            "new_token",
            request.principal.id,
            page="/user/settings/applications",
            name=name,
            scopes=", ".join(scopes),
        )
        await request.audit(
            tx,
            "token.create",
            f"user {request.principal.name}",
            id=token_id,
            name=name.strip(),
            scopes=scopes,
            repositories=sorted(restricted.values()),
        )
    return AccessToken(
        id=token_id,
        name=name.strip(),
        sha1=secret,
        token_last_eight=secret[-8:],
        scopes=scopes,
        expires_at=expires_at,
        repositories=sorted(restricted.values()) or UNSET,
    )


@get(
    "/api/v1/users/{username:str}/tokens",
    policy=own_tokens(),
    operation_id="userGetTokens",
    tags=["user"],
)
async def list_tokens(request: IdentityRequest) -> Response[list[AccessToken]]:
    """List the caller's access tokens, latest first, without their secrets."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.principal.id, page)
        restricted = await store.repositories_of(db, [row.id for row in rows], request.principal)
    return Response(
        [_present_token(row, restricted.get(row.id)) for row in rows],
        headers=request.page_headers(page, total),
    )


@delete(
    "/api/v1/users/{username:str}/tokens/{token:str}",
    policy=own_tokens(),
    operation_id="userDeleteAccessToken",
    tags=["user"],
)
async def delete_token(request: IdentityRequest, token: str) -> None:
    """Delete an access token by its id, or by its name if that is unique.

    It stops working everywhere within 5 seconds.
    """
    async with request.db.transaction() as tx:
        token_id = await tokens.find(tx, request.principal.id, token)
        await tokens.delete(tx, request.principal.id, token_id)
        await request.audit(tx, "token.delete", f"user {request.principal.name}", id=token_id)


@get("/api/v1/token", policy=present_token(), operation_id="getCurrentToken", tags=["user"])
async def get_current_token(request: IdentityRequest) -> CurrentToken:
    """Return the access token of this request, without its secret."""
    async with request.db.read() as db:
        row = await store.get(db, request.principal.id, request.principal.token_id)
        if row is None:
            raise NotFound
        restricted = await store.repositories_of(db, [row.id], request.principal)
    shown = asdict(_present_token(row, restricted.get(row.id)))
    return CurrentToken(**shown, user=TokenOwner(request.principal.id, request.principal.name))


@delete("/api/v1/token", policy=present_token(), operation_id="deleteCurrentToken", tags=["user"])
async def delete_current_token(request: IdentityRequest) -> None:
    """Delete the access token of this request."""
    async with request.db.transaction() as tx:
        token_id = request.principal.token_id
        await tokens.delete(tx, request.principal.id, token_id)
        await request.audit(tx, "token.delete", f"user {request.principal.name}", id=token_id)


def _present_token(row: TokenRow, repositories: list[str] | None) -> AccessToken:
    return AccessToken(
        id=row.id,
        name=row.name,
        token_last_eight=row.last_eight,
        scopes=row.scopes.split(","),
        created_at=whole_seconds(row.created_at),
        last_used_at=whole_seconds(row.last_used_at) if row.last_used_at else None,
        expires_at=whole_seconds(row.expires_at) if row.expires_at else None,
        repositories=UNSET if repositories is None else repositories,
    )


routes = [create_token, list_tokens, delete_token, get_current_token, delete_current_token]
