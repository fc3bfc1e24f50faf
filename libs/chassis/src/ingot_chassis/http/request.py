"""Requests as services read them: JSON or form bodies as plain values, and the caller.

Keys match regardless of case, null is absent, an empty body is ``{}``, and forms are read like JSON. Clients
send empty strings for absent values. So an empty string is absent in the query, and in fields with fixed
values.
"""

import contextlib
import re
from collections.abc import AsyncGenerator
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from litestar import Request
from litestar.connection.base import empty_receive, empty_send
from litestar.exceptions import InternalServerException
from litestar.types import Receive, Scope, Send

from ingot_chassis.errors import ApiError, BadRequest, Invalid, Moved
from ingot_chassis.http.paging import Page, page_headers
from ingot_chassis.http.parts import PARTS, Parts, T
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.principal import PRINCIPAL_HEADER, Principal

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that no column can store: NUL and lone surrogates."""

_EMPTY_PARAMETER = re.compile(rb"(?:^|(?<=&))[^&=]*=(?:&|$)")


def header_of(scope: Scope, name: str) -> str | None:
    """Return one header of a request, or None. ``name`` is in lower case.

    The framework would build an object of all headers, which costs as much as all other guards.
    """
    wire_name = name.encode()
    for key, value in scope["headers"]:
        if key == wire_name:
            return value.decode("latin-1")
    return None


class UnsupportedMediaType(ApiError):
    """The Content-Type must be application/json, application/x-www-form-urlencoded or multipart/form-data."""

    status = 415


class ApiRequest(Request[Any, Any, Any]):
    """A request to a service."""

    def __init__(self, scope: Scope, receive: Receive = empty_receive, send: Send = empty_send) -> None:
        query = scope["query_string"]
        if b"=&" in query or query.endswith(b"="):
            scope["query_string"] = _EMPTY_PARAMETER.sub(b"", query)
        super().__init__(scope, receive, send)

    def part(self, kind: type[T]) -> T:
        """Return the service's object of exactly this class. Raises KeyError."""
        parts: Parts = self.app.state[PARTS]
        return parts[kind]

    @property
    def principal(self) -> Principal:
        """Return the verified caller."""
        return self.scope["principal"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def resource(self) -> Any:
        """Return the result of the route's policy. Its type depends on ``policy.resource``."""
        return self.scope["resource"]  # type: ignore[typeddict-item]

    @property
    def principal_token(self) -> str:
        """Return the caller's signed principal token, for calls to a peer; empty if anonymous."""
        return header_of(self.scope, PRINCIPAL_HEADER) or ""

    @property
    def peers(self) -> Peers:
        return self.app.state.peers  # type: ignore[no-any-return]

    @property
    def public_url(self) -> str:
        return self.app.state.settings.public_url  # type: ignore[no-any-return]

    def page(self) -> Page:
        """Return the requested page."""
        return Page.of(self.query_params, self.app.state.settings.page_size)

    def page_headers(self, page: Page, total: int) -> dict[str, str]:
        """Return ``Link`` and ``X-Total-Count`` for this list."""
        url = self.public_url.rstrip("/") + quote(self.scope["path"])
        return page_headers(page, total, url=url, query=list(self.query_params.multi_items()))

    def moved(self, **names: str) -> Moved:
        """Return the error that redirects to this URL with new values of path parameters.

        ``names`` has the new values by name.
        """
        template = self.scope["path_template"].split("/")
        path = self.scope["path"].split("/")
        for name, value in names.items():
            path[template.index("{" + name + "}")] = value
        query = self.scope["query_string"].decode("latin-1")
        location = urlsplit(self.public_url).path.rstrip("/") + quote("/".join(path))
        return Moved(f"{location}?{query}" if query else location, method=self.scope["method"])

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the body in parts.

        Raises BadRequest, which is not logged as an error, if the client disconnects.
        """
        try:
            async for part in super().stream():
                yield part
        except InternalServerException as error:
            raise BadRequest("the request broke off") from error

    async def raw_body(self) -> bytes:
        """Return the unparsed body."""
        return await super().body()

    async def body(self) -> bytes:
        """Return the body for the ``data`` argument of a handler: never empty."""
        return await super().body() or b"{}"

    async def json(self) -> Any:
        """Return the body as plain values; {} for an empty body. Raises Invalid or UnsupportedMediaType.

        The keys of an object are in lower case. Fields that are null are omitted. Empty texts are omitted,
        too, if their field does not allow them.
        """
        raw = await super().body()
        if not raw.strip():
            return {}
        try:
            value = _without_nulls(await self._decoded(raw))
            if isinstance(value, dict) and _has_long_number(value):
                self._refuse_long_numbers(value)
        except RecursionError as error:
            raise Invalid("the body is nested too deeply") from error
        if isinstance(value, dict) and "" in value.values():
            closed = _closed_fields(self._body_type)
            return {key: item for key, item in value.items() if item != "" or key not in closed}
        return value

    def _refuse_long_numbers(self, value: dict[str, Any]) -> None:
        with contextlib.suppress(msgspec.ValidationError):  # Litestar finds the error again, and reports it
            converted = msgspec.convert(value, self._body_type, strict=False)
            _refuse_unstorable(msgspec.to_builtins(converted), "")

    @property
    def _body_type(self) -> Any:
        return self.route_handler.parsed_fn_signature.parameters["data"].annotation

    async def _decoded(self, raw: bytes) -> Any:
        content_type = self.headers.get("content-type", "").lower()
        if "form-urlencoded" in content_type:
            return _grouped(parse_qsl(raw.decode("utf-8", "surrogateescape"), keep_blank_values=True))
        if "multipart/form-data" in content_type:
            return _grouped([(k, v) for k, v in (await self.form()).multi_items() if isinstance(v, str)])
        if content_type and "json" not in content_type and "text/plain" not in content_type:
            raise UnsupportedMediaType
        try:
            value = msgspec.json.decode(raw)
        except msgspec.DecodeError as error:
            raise Invalid(f"the body is not JSON: {error}") from error
        except UnicodeDecodeError as error:
            raise Invalid("the body is not UTF-8") from error
        return value


@cache
def _closed_fields(body_type: Any) -> frozenset[str]:
    """Return the lower-case names of fields that take fixed values other than ""."""
    described = msgspec.inspect.type_info(body_type)
    if not isinstance(described, msgspec.inspect.StructType):
        return frozenset()
    return frozenset(field.encode_name.lower() for field in described.fields if not _allows_empty(field.type))


def _allows_empty(field_type: msgspec.inspect.Type) -> bool:
    match field_type:
        case msgspec.inspect.UnionType(types=types):
            return any(
                _allows_empty(part) for part in types if not isinstance(part, msgspec.inspect.NoneType)
            )
        case msgspec.inspect.LiteralType(values=values):
            return "" in values
        case msgspec.inspect.EnumType(cls=members):
            return "" in {member.value for member in members}
        case _:
            return True


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Group form fields by name. A field that is repeated, or whose name ends in ``[]``, becomes a list."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        name = key.removesuffix("[]")
        if name in values or key.endswith("[]"):
            before = values.get(name, [])
            values[name] = [*(before if isinstance(before, list) else [before]), value]
        else:
            values[name] = value
    return values


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    cleaned = {key.lower(): item for key, item in value.items() if item is not None}
    _refuse_unstorable(cleaned, "")
    return cleaned


def _has_long_number(value: Any) -> bool:
    """Return whether a value has a text that may be a number of more than 64 bits, at any depth."""
    if isinstance(value, str):
        return len(value) > 18 and value.lstrip("-").isdecimal()
    if isinstance(value, dict):
        return any(map(_has_long_number, value.values()))
    return isinstance(value, list) and any(map(_has_long_number, value))


def _refuse_unstorable(value: Any, field: str) -> None:
    """Raise Invalid for values that no column can store, because only here the field is known.

    These are NUL, lone surrogates and numbers over 64 bits.
    """
    if isinstance(value, str):
        # Nearly every text is ASCII, and this check costs a hundredth of the search.
        if "\0" in value or (not value.isascii() and UNSTORABLE.search(value)):
            raise Invalid.field(field or "body", "characters", "holds characters that cannot be stored")
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise Invalid.field(field or "body", "range", "is out of range")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unstorable(key, field)
            _refuse_unstorable(item, f"{field}.{key}" if field else key)
    elif isinstance(value, list):
        for item in value:
            _refuse_unstorable(item, field)
