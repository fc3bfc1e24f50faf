"""Access tokens of the caller. They are made, listed and deleted with the password only."""

from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
from litestar import Response, delete, get, post
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.policy import basic
from ingot_identity.api.call import Call
from ingot_identity.core import tokens
from ingot_identity.store import tokens as store

MOST_REPOSITORIES = MOST_SCOPES = 100


class CreateToken(msgspec.Struct):
    """`scopes` as read:… or write:… of a group; none means all. Without `expires_at` it works until deleted.

    With `repositories` (`owner/name`) it is the caller's there, and elsewhere as good as no token.
    """

    name: Annotated[str, msgspec.Meta(max_length=tokens.LONGEST_NAME)] = ""
    scopes: Annotated[list[str], msgspec.Meta(max_length=MOST_SCOPES)] = []
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    repositories: Annotated[list[str], msgspec.Meta(max_length=MOST_REPOSITORIES)] | None = None

    def expiry(self) -> datetime | None:
        """When it expires, in UTC. Raises Invalid."""
        try:
            return self.expires_at.astimezone(UTC) if self.expires_at else None
        except OverflowError as error:
            raise Invalid.field("expires_at", "range", "is out of range") from error


class AccessToken(msgspec.Struct, omit_defaults=True):
    """`sha1` is the secret, once, when the token is made; afterwards `token_last_eight` tells them apart.

    `repositories` are what it is restricted to, by their present names; absent without restriction. One that is
    gone, or not for its owner to see any more, is not named.
    """

    id: int
    name: str
    sha1: str = ""
    token_last_eight: str = ""
    scopes: list[str] = []
    created_at: datetime | None = None
    last_used_at: datetime | None = None
    expires_at: datetime | None = None
    repositories: list[str] | None = None


async def enter_as_oneself(
    connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler
) -> None:
    """The guard of all routes of tokens, whoever is in the path: other people have none."""
    if connection.path_params["username"].lower() != cast("Call", connection).who.name.lower():
        raise NotFound


@post(
    "/api/v1/users/{username:str}/tokens",
    policy=basic(),
    guards=[enter_as_oneself],
    operation_id="userCreateToken",
    tags=["user"],
    status_code=201,
)
async def create_token(request: Call, data: CreateToken) -> AccessToken:
    """Make an access token; its secret is shown only now."""
    name = data.name or request.query_params.get("name", "")
    scopes = list(dict.fromkeys(data.scopes)) or ["all"]
    expires_at = data.expiry()
    restricted: dict[int, str] = {}
    if data.repositories is not None:
        patience = request.settings.deletion_patience
        restricted = await tokens.named_repositories(request.db, request.who, data.repositories, patience)
    async with request.db.transaction() as tx:
        token_id, secret = await tokens.create(tx, request.who.id, name, scopes, expires_at, restricted)
    return AccessToken(
        id=token_id,
        name=name.strip(),
        sha1=secret,
        token_last_eight=secret[-8:],
        scopes=scopes,
        expires_at=expires_at,
        repositories=sorted(restricted.values()) or None,
    )


@get(
    "/api/v1/users/{username:str}/tokens",
    policy=basic(),
    guards=[enter_as_oneself],
    operation_id="userGetTokens",
    tags=["user"],
)
async def list_tokens(request: Call) -> Response[list[AccessToken]]:
    """The caller's access tokens, newest first, without their secrets."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(db, request.who.id, page)
        restricted = await store.repositories_of(db, [row.id for row in rows], request.who)
    return Response(
        [_view(row, restricted.get(row.id)) for row in rows], headers=request.page_headers(page, total)
    )


@delete(
    "/api/v1/users/{username:str}/tokens/{token_id:int}",
    policy=basic(),
    guards=[enter_as_oneself],
    operation_id="userDeleteAccessToken",
    tags=["user"],
)
async def delete_token(request: Call, token_id: int) -> None:
    """Delete an access token; it stops working everywhere within 5 seconds."""
    async with request.db.transaction() as tx:
        await tokens.delete(tx, request.who.id, token_id)


def _view(row: Any, repositories: list[str] | None) -> AccessToken:
    return AccessToken(
        id=row.id,
        name=row.name,
        token_last_eight=row.last_eight,
        scopes=row.scopes.split(","),
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        expires_at=row.expires_at,
        repositories=repositories,
    )


routes = [create_token, list_tokens, delete_token]
