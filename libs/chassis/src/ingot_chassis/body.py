"""Requests as services read them: JSON or form bodies into plain values, the caller, the database.

Keys match without regard to case, null is absent, an empty body is ``{}`` and a form counts like JSON.
"""

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from litestar import Request
from litestar.exceptions import InternalServerException

from ingot_chassis.database import Database
from ingot_chassis.errors import ApiError, BadRequest, Invalid, Moved
from ingot_chassis.paging import Page, page_headers
from ingot_chassis.peers import Peers
from ingot_chassis.principal import PRINCIPAL_HEADER, Principal


class UnsupportedMediaType(ApiError):
    """The Content-Type must be application/json, application/x-www-form-urlencoded or multipart/form-data."""

    status = 415


class ApiRequest(Request[Any, Any, Any]):
    """One request to a service."""

    @property
    def who(self) -> Principal:
        """The verified caller."""
        return self.scope["principal"]  # type: ignore[typeddict-item,no-any-return]

    @property
    def statement(self) -> str:
        """The caller's signed principal, to pass on to a peer."""
        return self.headers.get(PRINCIPAL_HEADER, "")

    @property
    def db(self) -> Database:
        return self.app.state.database  # type: ignore[no-any-return]

    @property
    def peers(self) -> Peers:
        return self.app.state.peers  # type: ignore[no-any-return]

    @property
    def public_url(self) -> str:
        return self.app.state.settings.public_url  # type: ignore[no-any-return]

    def page(self) -> Page:
        """The page that is asked for."""
        return Page.of(self.query_params, self.app.state.settings.page_size)

    def page_headers(self, page: Page, total: int) -> dict[str, str]:
        """``Link`` and ``X-Total-Count`` for this list."""
        url = self.public_url.rstrip("/") + quote(self.scope["path"])
        return page_headers(page, total, url=url, query=list(self.query_params.multi_items()))

    def moved(self, **names: str) -> Moved:
        """What to raise when the path parameters ``names`` have these values now."""
        template = self.scope["path_template"].split("/")
        path = self.scope["path"].split("/")
        for name, value in names.items():
            path[template.index("{" + name + "}")] = value
        query = self.scope["query_string"].decode("latin-1")
        location = urlsplit(self.public_url).path.rstrip("/") + quote("/".join(path))
        return Moved(f"{location}?{query}" if query else location, method=self.scope["method"])

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The body in parts. Raises BadRequest when the client leaves before its end, which is no failure of ours."""
        try:
            async for part in super().stream():
                yield part
        except InternalServerException as error:
            raise BadRequest("the request broke off") from error

    async def raw_body(self) -> bytes:
        """The body as it came."""
        return await super().body()

    async def body(self) -> bytes:
        """The body as the ``data`` argument of a handler sees it: never empty."""
        return await super().body() or b"{}"

    async def json(self) -> Any:
        """The body as plain values. Raises BadRequest, Invalid or UnsupportedMediaType."""
        raw = await super().body()
        if not raw.strip():
            return {}
        try:
            return _without_nulls(await self._decoded(raw))
        except RecursionError as error:
            raise BadRequest("the body is nested too deeply") from error

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
            raise BadRequest(f"the body is not JSON: {error}") from error
        except UnicodeDecodeError as error:
            raise BadRequest("the body is not UTF-8") from error
        return value


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Form fields by name; one that comes twice, or ends in ``[]``, is a list."""
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


def _refuse_unstorable(value: Any, field: str) -> None:
    """No column holds NUL, a lone surrogate or a number over 64 bits: refuse them while the field is known."""
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
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
