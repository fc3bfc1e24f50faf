"""One description of the API out of those that the services give of themselves.

A service's operation is kept if the gateway sends its path to that service, so the description never promises
what nobody can reach. A service that cannot be asked is described as it was last.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import structlog

from ingot_chassis.errors import ApiError
from ingot_gateway.clients.descriptions import Descriptions
from ingot_gateway.routes import OWN, RouteTable

log = structlog.get_logger()

Document = dict[str, Any]

SERVICES = ("identity", "repos", "issues", "hooks")
RETRY_SECONDS = 5.0
SCHEMAS = "#/components/schemas/"
ERROR = {"$ref": "#/components/responses/Error"}
TITLE = "Ingot"
INTERFACE_VERSION = "1.1.1"

SECURITY_SCHEMES: Document = {
    "BasicAuth": {"type": "http", "scheme": "basic", "description": "Name and password, or name and token."},
    "AuthorizationHeaderToken": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`token` or `Bearer`, a space, and the access token.",
    },
    "Token": {"type": "apiKey", "in": "query", "name": "token"},
    "AccessToken": {"type": "apiKey", "in": "query", "name": "access_token"},
    "SudoHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "Sudo",
        "description": "The user a site administrator acts as; beside a credential.",
    },
    "SudoParam": {"type": "apiKey", "in": "query", "name": "sudo"},
}
ERROR_OBJECT: Document = {
    "type": "object",
    "title": "Error",
    "required": ["message", "url"],
    "properties": {
        "message": {"type": "string"},
        "url": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "message"],
                "properties": {name: {"type": "string"} for name in ("field", "code", "message")},
            },
        },
    },
}


class Merged:
    """The merged description, at most ``seconds`` old."""

    def __init__(self, descriptions: Descriptions, public_url: str, seconds: float) -> None:
        self._descriptions, self._public_url, self._seconds = descriptions, public_url, seconds
        self._last: dict[str, Document] = {}
        self._merged_from: dict[str, Document] = {}
        self._encoded, self._until = b"", 0.0
        self._making = asyncio.Lock()

    async def encoded(self, own: Document) -> bytes:
        """The description as JSON; ``own`` is what the gateway describes of itself."""
        async with self._making:
            if time.monotonic() >= self._until:
                complete = all(await asyncio.gather(*map(self._refreshed, SERVICES)))
                parts = {name: self._last[name] for name in SERVICES if name in self._last}
                if parts != self._merged_from or not self._encoded:
                    self._encoded = msgspec.json.encode(merge({"gateway": own, **parts}, self._public_url))
                    self._merged_from = parts
                seconds = self._seconds if complete else min(self._seconds, RETRY_SECONDS)
                self._until = time.monotonic() + seconds
            return self._encoded

    async def _refreshed(self, service: str) -> bool:
        try:
            self._last[service] = await self._descriptions.of(service)
        except ApiError as error:
            log.warning("no description to be had", of=service, error=error.message)
            return False
        return True


def merge(documents: Mapping[str, Document], public_url: str) -> Document:
    """One OpenAPI 3.1 document out of several, by service."""
    paths: Document = {}
    schemas: Document = {"Error": ERROR_OBJECT}
    ids: set[str] = set()
    table = RouteTable()
    for service, document in documents.items():
        own_schemas = document.get("components", {}).get("schemas", {})
        renamed = _renamed(service, own_schemas, schemas)
        for name, schema in own_schemas.items():
            schemas[renamed.get(name, name)] = _with_references(schema, renamed)
        for path, item in document.get("paths", {}).items():
            if _answers(table, service, path):
                paths.setdefault(path, {}).update(_operations(item, service, renamed, ids))
    operations = [entry for item in paths.values() for entry in item.values() if isinstance(entry, dict)]
    tags = sorted({tag for operation in operations for tag in operation.get("tags", ())})
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": INTERFACE_VERSION},
        "servers": [{"url": public_url.rstrip("/")}],
        "security": [
            {},
            {"BasicAuth": []},
            {"AuthorizationHeaderToken": []},
            {"Token": []},
            {"AccessToken": []},
        ],
        "tags": [{"name": tag} for tag in tags],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {
                "Error": {
                    "description": "What went wrong.",
                    "content": {"application/json": {"schema": {"$ref": SCHEMAS + "Error"}}},
                }
            },
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _answers(table: RouteTable, service: str, path: str) -> bool:
    if service == "gateway":
        return path in OWN
    route = table.find(path)
    return route is not None and route.service == service


def _renamed(service: str, schemas: Document, taken: Document) -> dict[str, str]:
    """New names for the schemas that mean something else than those of the same name before them.

    A schema also means something else if one that it refers to does.
    """
    renamed: dict[str, str] = {}
    while True:
        clashing = [
            name
            for name, schema in schemas.items()
            if name in taken
            and name not in renamed
            and (schema != taken[name] or any(other in renamed for other in _references(schema)))
        ]
        if not clashing:
            return renamed
        renamed |= {name: f"{service.capitalize()}{name}" for name in clashing}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(SCHEMAS)
        for entry in value.values():
            yield from _references(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _references(entry)


def _with_references(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_references(entry, renamed) for entry in value]
    if not isinstance(value, dict):
        return value
    changed = {key: _with_references(entry, renamed) for key, entry in value.items()}
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith(SCHEMAS):
        name = reference.removeprefix(SCHEMAS)
        changed["$ref"] = SCHEMAS + renamed.get(name, name)
    return changed


def _operations(item: Document, service: str, renamed: Mapping[str, str], ids: set[str]) -> Document:
    item = _with_references(item, renamed)
    for entry in item.values():
        if isinstance(entry, dict) and "responses" in entry:
            entry["responses"] = _with_error_objects(entry["responses"])
            if "operationId" in entry:
                entry["operationId"] = _unique(entry["operationId"], service, ids)
    return item


def _with_error_objects(responses: Document) -> Document:
    """Litestar describes errors of its own; here they are all the error object."""
    answers = {code: answer for code, answer in responses.items() if not _is_error(code)}
    return {**answers, "default": ERROR}


def _is_error(code: str) -> bool:
    return code == "default" or code.startswith(("4", "5"))


def _unique(wanted: str, service: str, taken: set[str]) -> str:
    found = next(name for name in _candidates(wanted, service) if name not in taken)
    taken.add(found)
    return found


def _candidates(wanted: str, service: str) -> Iterable[str]:
    yield wanted
    yield f"{service}_{wanted}"
    number = 2
    while True:
        yield f"{service}_{wanted}_{number}"
        number += 1
