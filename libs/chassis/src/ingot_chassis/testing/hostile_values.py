"""Names that nobody should be able to do harm with, and the routes of a service that take them.

In the gate each is tried at a third of the places (those of repos, which start git, at a ninth), by ``make soak`` at all
(INGOT_SAFETY).
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote
from zlib import crc32

import msgspec
from litestar import Litestar

from ingot_chassis.testing.long_texts import request_fields

WHOLE = os.environ.get("INGOT_SAFETY") == "whole"
MARK = "zqx"
WORST = f"--upload-pack={MARK}"
"""It is tried everywhere: git would start it."""
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
"""What a database has to do with: PostgreSQL is stricter with texts and numbers."""
_TAKEN_BY_LITESTAR = {"request", "data", "state", "scope", "headers", "cookies", "query", "socket", "body"}

Schema = dict[str, Any]


def is_turn_of(value: str, place: int, *, every: int = 3) -> bool:
    """Whether a value is tried at the place of that number: at all of them, or at one of so many."""
    return WHOLE or value == WORST or (place + crc32(value.encode("utf-8", "surrogateescape"))) % every == 0


def written(value: str) -> str:
    """As it stands in a URL, with bytes that are no UTF-8 among them. The client shall not resolve ``..`` itself."""
    return quote(value.encode("utf-8", "surrogateescape"), safe="").replace(".", "%2E")


def as_text(value: str) -> str:
    """As it stands in JSON, where such bytes cannot be."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def undescribed(app: Litestar) -> Schema:
    """The routes that the description of ``app`` leaves out, in its form: between services, of git, of files.

    ``x-services`` of an operation are those that it answers.
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
    """One with a hostile value at one place, and ordinary ones at the others; ``services`` are those that it answers."""

    method: str
    url: str
    services: Collection[str] = ()
    body: Any = None


def in_addresses(
    document: Schema, values: Collection[str], ordinary: Mapping[str, str] | None = None
) -> Iterator[HostileRequest]:
    """Each value in each parameter of the paths and queries of a description; ``ordinary`` has others than "1"."""
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
    """Each value in each text and list of the bodies of a description, beside ``good`` values of the other fields."""
    for field in request_fields(document):
        operation = document["paths"][field.path][field.method.lower()]
        for value in (one for one in values if is_turn_of(one, len(field.name) + len(field.path))):
            text = as_text(value)
            body = field.within(good, [text] if field.is_list else text)
            url = _filled(field.path, ordinary or {})
            yield HostileRequest(field.method, url, operation.get("x-services", ()), body)


def _filled(path: str, names: Mapping[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda match: names.get(match[1], "1"), path)
