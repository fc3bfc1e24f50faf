"""Policies of paths that name an account or a team. ``access/rules.py`` decides before the body is read.

Routes about the caller's own account (``/api/v1/user/…``) have the policies of the chassis. Other routes must
not have those policies: a token that is restricted to repositories could read there (``tests/test_roles.py``
tries it on every route).
"""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import Moved, NotFound
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.security.principal import Principal
from ingot_identity.access import rules as access
from ingot_identity.access.rules import Level, SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules import edits
from ingot_identity.accounts.store import former_names

Find = Callable[[Executor, Principal, dict[str, Any]], Awaitable[object]]
"""A function ``(db, principal, path_params)`` that returns the path's resource. Raises NotFound, Denied."""


def public(scope: str) -> Policy:
    """Policy for every caller, on a route that names no account or team."""

    async def decide(connection: Connection, _level: str) -> None:
        principal_of(connection, SignIn.OPTIONAL)

    return resource(SignIn.OPTIONAL, scope, decide)


def of_account(scope: str) -> Policy:
    """Policy for callers who may see the user or organization ``{username}``."""
    return _naming(
        lambda db, principal, path: access.account(db, principal, path["username"]), SignIn.OPTIONAL, scope
    )


def of_user(sign_in: SignIn, scope: str) -> Policy:
    """Policy for callers with this kind of sign-in, on a route that names the user ``{username}``."""
    return _naming(lambda db, _principal, path: edits.get_user(db, path["username"]), sign_in, scope)


def own_relation_to_user(scope: str) -> Policy:
    """Policy for routes about the caller's own account that also name the user ``{username}``."""
    return _naming(
        lambda db, _principal, path: edits.get_user(db, path["username"]),
        SignIn.REQUIRED,
        scope,
        reads_own_account=scope.startswith("read:"),
    )


def own_tokens() -> Policy:
    """Policy for the caller with a password, on a route that names the caller as ``{username}``."""

    async def decide(connection: Connection, _level: str) -> None:
        principal = principal_of(connection, SignIn.BASIC)
        access.require_own_name(principal, connection.path_params["username"])

    return resource(SignIn.BASIC, "", decide)


def present_token() -> Policy:
    """Policy for every caller with a token, whatever its scopes, on a route about that token."""

    async def decide(connection: Connection, _level: str) -> None:
        principal: Principal = connection.scope["principal"]  # type: ignore[typeddict-item]
        access.require_token(principal)

    return resource("token", "", decide)


def of_membership(scope: str) -> Policy:
    """Policy for callers who may see the role of the user ``{username}`` in the organization ``{org}``."""
    return _naming(
        lambda db, principal, path: access.user_in_organization(db, principal, path["username"], path["org"]),
        SignIn.REQUIRED,
        scope,
    )


def in_organization(level: Level, scope: str) -> Policy:
    """Policy for callers of ``level`` in the organization ``{org}``.

    Anonymous callers are allowed only on routes that read with the level ``READ``. A use case that writes
    checks the level again, inside its transaction.
    """
    is_public = level is Level.READ and scope.startswith("read:")
    return _naming(
        lambda db, principal, path: access.organization(db, principal, path["org"], level),
        SignIn.OPTIONAL if is_public else SignIn.REQUIRED,
        scope,
    )


def of_team(level: Level, scope: str) -> Policy:
    """Policy for callers of ``level`` in the organization of the team ``{team_id}``."""
    return _naming(
        lambda db, principal, path: access.team(db, principal, path["team_id"], level), SignIn.REQUIRED, scope
    )


def of_team_in_organization(scope: str) -> Policy:
    """Policy for owners of the organization ``{org}``, which must have the team ``{team_id}``."""
    return _naming(
        lambda db, principal, path: access.owned_team(db, principal, path["org"], path["team_id"]),
        SignIn.REQUIRED,
        scope,
    )


def _naming(find: Find, sign_in: SignIn, scope: str, *, reads_own_account: bool = False) -> Policy:
    """Policy for callers with this sign-in. ``request.resource`` is the result of ``find``.

    For the former name of an account that the caller may see, Moved is raised instead of NotFound.
    """

    async def decide(connection: Connection, _level: str) -> object:
        principal = principal_of(connection, sign_in, reads_own_account=reads_own_account)
        database: Database = connection.app.state.database
        async with database.read() as db:
            try:
                return await find(db, principal, connection.path_params)
            except NotFound:
                moved = await _moved(db, principal, connection)
                if moved is None:
                    raise
                raise moved from None

    return resource(sign_in, scope, decide)


async def _moved(db: Executor, principal: Principal, connection: Connection) -> Moved | None:
    """Return the error with the new path; None unless the path has a former name that the caller may see."""
    name = "org" if "org" in connection.path_params else "username"
    login = connection.path_params.get(name)
    row = await former_names.get_account(db, login) if login else None
    if row is None or not await access.may_know_of(db, principal, row):
        return None
    return cast("IdentityRequest", connection).moved(**{name: row.login})


def principal_of(connection: Connection, sign_in: SignIn, *, reads_own_account: bool = False) -> Principal:
    """Return the caller, with only the rights that the credential has on this route.

    The result also replaces the principal of the request. Raises Unauthenticated, Denied.
    """
    principal: Principal = connection.scope["principal"]  # type: ignore[typeddict-item]
    access.require_sign_in(principal, sign_in)
    if not reads_own_account:
        principal = access.outside_own_account(principal, public=sign_in is SignIn.OPTIONAL)
        connection.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]
    return principal
