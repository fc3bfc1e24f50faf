"""Policies of routes: declared next to the route, enforced before the handler. Without one, access is denied.

``@get("/user", policy=signed_in("read:user"))``. A policy that depends on a row (a repository, an
organization) is declared with ``resource`` and a function that decides. ``request.resource`` is the result of
that function.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from ingot_chassis.errors import Denied, Invalid, NotFound, Unauthenticated
from ingot_chassis.http.request import UNSTORABLE, header_of
from ingot_chassis.security.principal import ANONYMOUS, PRINCIPAL_HEADER, SERVICE_HEADER, Principal

MAX_ID = 2**63 - 1
"""The largest id a database column holds."""

Caller = Literal["anyone", "resource", "signed-in", "basic", "admin", "service"]
Connection = ASGIConnection[Any, Any, Any, Any]
Decide = Callable[[Connection, str], Awaitable[object]]
"""A function ``(connection, level)`` that returns the row in the path if the caller has ``level``.

Raises NotFound, Denied or Unauthenticated. ``connection.scope["principal"]`` is the caller.
"""


class Policy(msgspec.Struct, frozen=True):
    """The policy of a route. ``scope`` is required of a token, ``level`` is passed to ``decide``.

    ``services`` are the services that may call the route if ``caller`` is "service".
    """

    caller: Caller
    scope: str = ""
    level: str = ""
    services: tuple[str, ...] = ()
    decide: Decide | None = None


def anyone(scope: str = "") -> Policy:
    return Policy("anyone", scope)


def signed_in(scope: str) -> Policy:
    return Policy("signed-in", scope)


def basic() -> Policy:
    """Policy for callers that gave a password: for routes that create credentials."""
    return Policy("basic")


def admin(scope: str = "write:admin") -> Policy:
    return Policy("admin", scope)


def resource(level: str, scope: str, decide: Decide) -> Policy:
    """Policy with ``decide``: it checks the caller's access at ``level`` to the resource in the path."""
    return Policy("resource", scope, level, decide=decide)


def services(*names: str) -> Policy:
    """Policy for calls from the services ``names`` only. The gateway never routes such a path."""
    return Policy("service", services=names)


async def enforce(connection: Connection, handler: BaseRouteHandler) -> None:
    """Enforce the policies of routes. Every service app has this guard.

    Sets ``scope["principal"]``, and ``scope["resource"]`` to the result of a resource policy. Raises
    NotFound, Invalid, Unauthenticated, Denied.
    """
    policy: Policy | None = handler.opt.get("policy")
    if policy is None or (policy.caller == "resource" and policy.decide is None):
        raise NotFound
    if not all(_storable(value) for value in connection.path_params.values()):
        raise NotFound
    if b"%00" in connection.scope["query_string"]:
        raise Invalid("a parameter holds a character that cannot be stored")
    state = connection.app.state
    if policy.caller == "service":
        service_token = header_of(connection.scope, SERVICE_HEADER)
        if service_token is None or state.service_verifier.verify(service_token) not in policy.services:
            raise NotFound
    token = header_of(connection.scope, PRINCIPAL_HEADER)
    principal: Principal = await state.principal_verifier.verify(token) if token else ANONYMOUS
    connection.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]
    _require(policy, principal)
    if policy.decide is not None:
        resource = await policy.decide(connection, policy.level)
        connection.scope["resource"] = resource  # type: ignore[typeddict-unknown-key]


def _storable(value: object) -> bool:
    """Return whether a column can store the path parameter. Otherwise no such resource can exist."""
    if isinstance(value, int):
        return 0 < value <= MAX_ID
    return not isinstance(value, str) or not UNSTORABLE.search(value)


def _require(policy: Policy, principal: Principal) -> None:
    if policy.caller == "admin" and not principal.admin:
        raise Denied(f"only for site administrators; a token needs the scope {policy.scope}")
    if policy.caller in ("signed-in", "basic") and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if principal.restricted_to is not None and _is_beyond_restricted_tokens(policy):
        raise Denied("the token is restricted to some repositories and cannot do this")
    if policy.caller == "basic" and not principal.by_password:
        raise Unauthenticated("only with Basic authentication by password")
    if principal.signed_in and not principal.may(policy.scope):
        raise Denied(f"the token lacks the scope {policy.scope}")


def _is_beyond_restricted_tokens(policy: Policy) -> bool:
    """True if restricted tokens may not use the route: it may change data without an access function."""
    return policy.caller == "admin" or (policy.caller == "signed-in" and not policy.scope.startswith("read:"))
