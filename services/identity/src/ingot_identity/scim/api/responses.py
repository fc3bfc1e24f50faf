"""Requests and responses of SCIM clients: the token, errors, pages of lists, versions, attributes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from litestar import Request, Response

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.http.request import header_of
from ingot_chassis.telemetry import client_address
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.scim.rules import tokens
from ingot_identity.scim.rules.bodies import Values, read_body
from ingot_identity.scim.rules.errors import ScimError
from ingot_identity.scim.rules.filters import Condition, read_conditions, require_filterable
from ingot_identity.scim.rules.ids import id_of
from ingot_identity.scim.rules.provisioning import SourceClient, actor_of
from ingot_identity.scim.rules.schemas import ERROR, LIST
from ingot_identity.sources.rules.configs import read_config

MEDIA_TYPE = "application/scim+json"
MOST_RESULTS = 100
"""Maximum and default number of results per page."""
Resource = dict[str, Any]


async def _source_of_token(connection: Connection, level: str) -> object:
    del level
    return await tokens.source_of(
        connection.app.state.database, header_of(connection.scope, "authorization") or ""
    )


def source_client() -> Policy:
    """Policy for clients of a source with a token of that source. ``request.resource`` is the source."""
    return resource("", "", _source_of_token)


def answer(body: Resource, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response[bytes]:
    return Response(
        msgspec.json.encode(body), status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {})
    )


def _error(request: Request[Any, Any, Any], error: ApiError) -> Response[bytes]:
    """Return the error in the form of SCIM (RFC 7644, section 3.12)."""
    del request
    status = 400 if error.status == 422 else error.status
    body: Resource = {"schemas": [ERROR], "detail": error.message, "status": str(status)}
    scim_type = getattr(error, "scim_type", "invalidValue" if error.status == 422 else "")
    if scim_type:
        body["scimType"] = scim_type
    return answer(body, status=status, headers=error.headers)


OPTIONS: dict[str, Any] = {"include_in_schema": False, "exception_handlers": {ApiError: _error}}
"""Options of every SCIM route, in addition to its policy."""


def client_of(request: IdentityRequest) -> SourceClient:
    """Return the client that sent the request."""
    source = request.resource
    return SourceClient(
        request.db,
        request.presenter,
        source,
        read_config(source.config),
        actor_of(source, client_address()),
        request.former_names_reserved_for,
    )


async def body_of(request: IdentityRequest) -> Values:
    """Return the attributes in the body, with names in lower case. Raises UnsupportedBody, ScimError."""
    return read_body(request.headers.get("content-type", ""), await request.raw_body())


def version_of(request: IdentityRequest) -> int | None:
    """Return the version in ``If-Match``; None without one; 0, which matches none, for any other text."""
    text = request.headers.get("if-match", "").strip()
    if text in ("", "*"):
        return None
    return id_of(text.removeprefix("W/").strip('"'))


class Range(NamedTuple):
    """The requested part of a list."""

    offset: int
    limit: int


def _range_of(request: IdentityRequest) -> Range:
    start, count = _number(request, "startIndex", 1), _number(request, "count", MOST_RESULTS)
    return Range(max(start, 1) - 1, min(max(count, 0), MOST_RESULTS))


def _number(request: IdentityRequest, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        raise ScimError("invalidValue", f"{name} must be a number with at most 9 digits")
    return int(text)


class ListQuery(NamedTuple):
    """The requested part of a list, and the conditions for its resources."""

    range: Range
    conditions: list[Condition]


def list_query(request: IdentityRequest, names: tuple[str, ...]) -> ListQuery:
    """Return the list query of a request. Raises ScimError for a filter by attributes not in ``names``."""
    text = request.query_params.get("filter", "")
    conditions = read_conditions(text) if text else []
    require_filterable(conditions, names)
    # A text that is no id is that of no resource.
    plain = [
        (name, str(id_of(value)) if name in ("id", "members.value") else value) for name, value in conditions
    ]
    return ListQuery(_range_of(request), plain)


def list_answer(
    request: IdentityRequest, resources: list[Resource], total: int, start: int
) -> Response[bytes]:
    return answer(
        {
            "schemas": [LIST],
            "totalResults": total,
            "startIndex": start,
            "itemsPerPage": len(resources),
            "Resources": [chosen(request, resource) for resource in resources],
        }
    )


def resource_answer(request: IdentityRequest, body: Resource, *, status: int = 200) -> Response[bytes]:
    headers = {"ETag": body["meta"]["version"], "Location": body["meta"]["location"]}
    return answer(chosen(request, body), status=status, headers=headers)


def chosen(request: IdentityRequest, body: Resource) -> Resource:
    """Return the resource with the requested attributes. Its id is always included."""
    included, excluded = _names(request, "attributes"), _names(request, "excludedAttributes")
    if not included and not excluded:
        return body
    keep: Callable[[str], bool] = included.__contains__ if included else lambda name: name not in excluded
    return {name: value for name, value in body.items() if name in ("schemas", "id") or keep(name.lower())}


def is_left_out(request: IdentityRequest, name: str) -> bool:
    """True if the query excludes the attribute."""
    included = _names(request, "attributes")
    return name not in included if included else name in _names(request, "excludedAttributes")


def _names(request: IdentityRequest, parameter: str) -> frozenset[str]:
    """Return the attributes in a parameter, in lower case; only the first part of ``name.familyName``."""
    text = request.query_params.get(parameter, "")
    names = (item.strip().rpartition(":")[2].partition(".")[0].lower() for item in text.split(","))
    return frozenset(name for name in names if name)
