"""Requests with texts and lists far above their limits, generated from the description of a service."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import httpx

LONG = 5_000_000
MANY = 100_000

Schema = dict[str, Any]
Keys = tuple[str | int, ...]
"""The keys that lead to a field of a body; 0 for the items of a list."""


class RequestField(NamedTuple):
    """A text or a list in the body of an operation. ``name`` is the field's name in errors."""

    method: str
    path: str
    operation_id: str
    keys: Keys
    name: str
    schema: Schema

    @property
    def is_list(self) -> bool:
        return "array" in _types(self.schema)

    def excess(self, length: int = LONG) -> Any:
        """Return a value far above the limit of this kind of text or list."""
        if not self.is_list:
            return "x" * length
        return [{"integer": 1, "object": {}}.get(self.schema["items"].get("type"), "x")] * MANY

    def within(self, body: Any, value: Any) -> Any:
        """Return ``body`` with ``value`` in this field."""
        return _with_value(body, self.keys, value)

    def complaint(self, answer: httpx.Response) -> str:
        """Return the fault of a response; empty if the response names the field and its limit."""
        if not 400 <= answer.status_code < 500:
            return f"answers {answer.status_code}"
        errors = answer.json().get("errors", [])
        messages = [error["message"] for error in errors if _plain(error["field"]) == self.name]
        if not messages:
            return f"does not name the field: {answer.text[:200]}"
        if self.schema.keys() & {"enum", "const", "format"}:
            return ""
        status = 400 if self.operation_id == "issueAddTime" else 422
        limited = answer.status_code == status and any(re.search(r"\d", message) for message in messages)
        return "" if limited else f"does not name the limit: {answer.text[:200]}"


def _plain(field: str) -> str:
    """Return the name of a field without indexes: ``files[0].path`` is ``files.path``."""
    return re.sub(r"\[[^]]*\]", "", field)


def request_fields(description: Schema) -> Iterator[RequestField]:
    """Yield each text and list of each JSON body in ``description`` (OpenAPI)."""
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            if schema is not None:
                for keys, name, inner in _fields(description, schema, (), ""):
                    yield RequestField(method.upper(), path, operation["operationId"], keys, name, inner)


def _fields(description: Schema, schema: Schema, keys: Keys, name: str) -> Iterator[tuple[Keys, str, Schema]]:
    if "$ref" in schema:
        schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    types = _types(schema)
    for key in ("oneOf", "anyOf", "allOf"):
        rest = {word: value for word, value in schema.items() if word != key}
        for one in schema.get(key, ()):
            yield from _fields(description, one | rest, keys, name)
    if types & {"string", "array"}:
        yield keys, name, schema
    if "items" in schema:
        yield from _fields(description, schema["items"], (*keys, 0), name)
    for key, inner in schema.get("properties", {}).items():
        yield from _fields(description, inner, (*keys, key), f"{name}.{key}".lstrip("."))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _fields(description, schema["additionalProperties"], (*keys, "anything"), name)


def _types(schema: Schema) -> set[str]:
    types = schema.get("type", ())
    return {types} if isinstance(types, str) else set(types)


def _with_value(body: Any, keys: Sequence[str | int], value: Any) -> Any:
    if not keys:
        return value
    key, *rest = keys
    if key == 0:
        return [_with_value(body[0] if body else None, rest, value)]
    return {**(body or {}), key: _with_value((body or {}).get(key), rest, value)}
