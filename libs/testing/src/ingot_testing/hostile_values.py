"""Hostile names, and the routes of a service that accept names.

A usual test run tries each name at a third of the places. In repos, which starts git, it is a ninth. ``make
soak`` tries all places (INGOT_SAFETY).
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote
from zlib import crc32

import msgspec
from litestar import Litestar

from ingot_testing.long_texts import request_fields

WHOLE = os.environ.get("INGOT_SAFETY") == "whole"
MARK = "zqx"
WORST = f"--upload-pack={MARK}"
"""A name that is tried everywhere, because git would run it."""
VALUES = [
    f"-{MARK}",
    WORST,
    f"--output={MARK}",
    "..",
    f"../{MARK}",
    f"{MARK}/../..",
    f"/{MARK}",
    f"{MARK}//x",
    f"{MARK}\0",
    f"{MARK}\nnew",
    f"{MARK}\r\nSet-Cookie: a=b",
    f"{MARK}@{{1}}",
    f"@{{-1}}{MARK}",
    "@",
    f"{MARK}:path",
    f":{MARK}",
    f"{MARK}^{{commit}}",
    f"{MARK}~1",
    f"{MARK}*",
    "HEAD",
    f"{MARK}.git",
    ".git",
    "git~1",
    ".g\u200cit",
    f"{MARK}\u2024git",
    "\u0430pp",
    "\uff41pp",
    f"{MARK}.lock",
    f"refs/heads/{MARK}",
    f"'; DROP TABLE account; --{MARK}",
    "%",
    "\udcff",
    f"{MARK}" * 2000,
    "0",
    "-1",
    "9" * 20,
    "9" * 5000,
    "0" * 40,
]
STORED = [f"{MARK}\0", f"{MARK}\nnew", "\udcff", "9" * 20, "-1", f"{MARK}\u2024git"]
"""Values for databases. PostgreSQL is stricter with texts and numbers than SQLite."""
_TAKEN_BY_LITESTAR = {"request", "data", "state", "scope", "headers", "cookies", "query", "socket", "body"}

Schema = dict[str, Any]


def is_turn_of(value: str, place: int, *, every: int = 3) -> bool:
    """Return whether a value is tried at this place.

    A full run tries it at all places, other runs at every ``every``-th place. The worst value is always
    tried.
    """
    return WHOLE or value == WORST or (place + crc32(value.encode("utf-8", "surrogateescape"))) % every == 0


def written(value: str) -> str:
    """Return the value percent-encoded for a URL, with its invalid UTF-8.

    Dots are encoded, too, because a client would resolve ``..``.
    """
    return quote(value.encode("utf-8", "surrogateescape"), safe="").replace(".", "%2E")


def as_text(value: str) -> str:
    """Return the value for JSON, which cannot contain invalid UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def undescribed(app: Litestar) -> Schema:
    """Return internal, git and file routes, in the form of an API description.

    The description of ``app`` omits them. ``x-services`` of an operation are the services that may call it.
    """
    paths: dict[str, Schema] = {}
    schemas: Schema = {}
    for route in app.routes:
        for handler in getattr(route, "route_handlers", []):
            policy = handler.opt.get("policy")
            if handler.include_in_schema or policy is None:
                continue
            in_path = re.findall(r"{(\w+)}", route.path_format)
            arguments = handler.parsed_fn_signature.parameters
            names = {
                getattr(one.kwarg_definition, "name", None) or name
                for name, one in arguments.items()
                if name not in _TAKEN_BY_LITESTAR | {*in_path}
            }
            operation: Schema = {
                "operationId": handler.handler_name,
                "parameters": [{"name": name, "in": "path"} for name in in_path]
                + [{"name": name, "in": "query"} for name in sorted(names)],
                "x-services": sorted(policy.services),
            }
            if "data" in arguments:
                (schema,), used = msgspec.json.schema_components(
                    (arguments["data"].annotation,), ref_template="#/components/schemas/{name}"
                )
                schemas |= used
                operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
            for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                paths.setdefault(route.path_format, {})[method.lower()] = operation
    return {"paths": paths, "components": {"schemas": schemas}}


class HostileRequest(NamedTuple):
    """A request with a hostile value at one place, and ordinary values elsewhere.

    ``services`` are the services that may send it.
    """

    method: str
    url: str
    services: Collection[str] = ()
    body: Any = None


def in_addresses(
    document: Schema, values: Collection[str], ordinary: Mapping[str, str] | None = None
) -> Iterator[HostileRequest]:
    """Yield requests with each value in each path and query parameter of a description.

    ``ordinary`` replaces the default "1".
    """
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for number, place in enumerate(operation.get("parameters", [])):
                name = place["name"]
                for value in (one for one in values if is_turn_of(one, number + len(path))):
                    names = {**(ordinary or {}), **({name: written(value)} if place["in"] == "path" else {})}
                    url = _filled(path, names) + (
                        f"?{name}={written(value)}" if place["in"] == "query" else ""
                    )
                    yield HostileRequest(method.upper(), url, operation.get("x-services", ()))


def in_bodies(
    document: Schema,
    values: Collection[str],
    good: Mapping[str, Any],
    ordinary: Mapping[str, str] | None = None,
) -> Iterator[HostileRequest]:
    """Yield requests with each value in each text and list of the bodies, with ``good`` values elsewhere."""
    for field in request_fields(document):
        operation = document["paths"][field.path][field.method.lower()]
        for value in (one for one in values if is_turn_of(one, len(field.name) + len(field.path))):
            text = as_text(value)
            body = field.within(good, [text] if field.is_list else text)
            url = _filled(field.path, ordinary or {})
            yield HostileRequest(field.method, url, operation.get("x-services", ()), body)


def _filled(path: str, names: Mapping[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda match: names.get(match[1], "1"), path)
