"""Merges the OpenAPI documents of the services into one.

An operation of a service is included only if the gateway routes its path to the service. So every operation
in the document can be called. If a service does not respond, its last document is used.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ingot_gateway.clients.descriptions import HttpDescriptions
from ingot_gateway.latest_answers import LatestAnswers
from ingot_gateway.routes import OWN_PATHS, RouteTable

Document = dict[str, Any]
Describe = Callable[[], Document]

SCHEMAS = "#/components/schemas/"
ERROR = {"$ref": "#/components/responses/Error"}
MOVED = {"$ref": "#/components/responses/Moved"}
REPOSITORY = "/api/v1/repos/{owner}/{repo}"
TITLE = "Ingot"
INTERFACE_VERSION = "1.1.1"

SECURITY_SCHEMES: Document = {
    "BasicAuth": {"type": "http", "scheme": "basic", "description": "Name and password, or name and token."},
    "BearerToken": {"type": "http", "scheme": "bearer", "description": "The access token."},
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


class MergedDescription:
    """The merged document, cached for at most ``seconds``."""

    def __init__(self, descriptions: HttpDescriptions, public_url: str, seconds: float) -> None:
        self._public_url = public_url
        self._latest = LatestAnswers(
            descriptions.description, seconds, complaint="a service gives no API description"
        )
        self._merged_documents: dict[str, Document] = {}
        self._encoded, self._valid_until = b"", 0.0
        self._lock = asyncio.Lock()

    async def encoded(self, own: Describe) -> bytes:
        """Return the merged document as JSON. ``own`` returns the description of the gateway's own routes."""
        await self._updated(own)
        return self._encoded

    async def _updated(self, own: Describe) -> None:
        async with self._lock:
            if time.monotonic() < self._valid_until:
                return
            documents, seconds = await self._latest.ask()
            if documents != self._merged_documents or not self._encoded:
                merged = merge_documents({"gateway": own(), **documents}, self._public_url)
                self._encoded = msgspec.json.encode(merged)
                self._merged_documents = documents
            self._valid_until = time.monotonic() + seconds


def merge_documents(documents: Mapping[str, Document], public_url: str) -> Document:
    """Merge the OpenAPI documents of services, by service name, into one OpenAPI 3.1 document."""
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
            if is_routed(table, service, path):
                paths.setdefault(path, {}).update(_operations(path, item, service, renamed, ids))
    tags = sorted({tag for operation in _all_operations(paths) for tag in operation.get("tags", ())})
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": INTERFACE_VERSION},
        "servers": [{"url": public_url.rstrip("/")}],
        "security": [
            {},
            {"BasicAuth": []},
            {"BearerToken": []},
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
                },
                "Moved": {
                    "description": (
                        "The repository has another name now: `Location` is the same path under it."
                    ),
                    "headers": {"Location": {"schema": {"type": "string"}}},
                },
            },
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _all_operations(paths: Document) -> list[Document]:
    return [
        operation for item in paths.values() for operation in item.values() if isinstance(operation, dict)
    ]


def is_routed(table: RouteTable, service: str, path: str) -> bool:
    """True if the gateway routes ``path`` to the service."""
    route = table.find(path)
    return (service == "gateway" and path in OWN_PATHS) or (route is not None and route.service == service)


def _renamed(service: str, schemas: Document, taken: Document) -> dict[str, str]:
    """Return new names for schemas that differ from the schema with the same name in ``taken``.

    A schema also differs if it refers to a schema that gets a new name.
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


def _operations(
    path: str, item: Document, service: str, renamed: Mapping[str, str], ids: set[str]
) -> Document:
    item = _with_references(item, renamed)
    for method, entry in item.items():
        if isinstance(entry, dict) and "responses" in entry:
            entry["responses"] = _responses(path, method, entry["responses"])
            if "operationId" in entry:
                entry["operationId"] = _unique(entry["operationId"], service, ids)
    return item


def _responses(path: str, method: str, responses: Document) -> Document:
    """Return the responses of an operation, and the errors that every operation may return.

    The responses to paths of repositories include the redirect of a renamed repository.
    """
    described = {**responses}
    if "204" in described:
        described["204"] = {key: value for key, value in described["204"].items() if key != "content"}
    if path.startswith(REPOSITORY):
        described["302" if method == "get" else "307"] = MOVED
    return {**described, "4XX": ERROR, "5XX": ERROR}


def _unique(operation_id: str, service: str, taken: set[str]) -> str:
    unique = next(name for name in _candidates(operation_id, service) if name not in taken)
    taken.add(unique)
    return unique


def _candidates(operation_id: str, service: str) -> Iterable[str]:
    yield operation_id
    yield f"{service}_{operation_id}"
    number = 2
    while True:
        yield f"{service}_{operation_id}_{number}"
        number += 1
