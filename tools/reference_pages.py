"""Pages of docs/reference that follow from the code: operations of the API, events, metrics and commands."""

import argparse
import ast
import importlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from cryptography.fernet import Fernet

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.keys import SigningKey
from ingot_contracts.events import EVENTS, consumers_of
from ingot_contracts.topology import SERVICES

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/reference"
NOTE = "This page is written by `make docs` from the code. Change it there.\n"
METHODS = ("get", "post", "put", "patch", "delete")


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page and its text."""
    yield FOLDER / "operations.md", operations_page()
    yield FOLDER / "events.md", events_page()
    yield FOLDER / "metrics.md", metrics_page()
    yield FOLDER / "commands.md", commands_page()


def operations_page() -> str:
    """List the operations of the public API, by service and tag."""
    parts = [
        "# Operations of the API\n",
        NOTE,
        (
            "[The API](api.md) describes sign-in, errors, lists and limits. A running Ingot serves the\n"
            "description (OpenAPI 3.1) at `/api/v1/openapi.json`, and a page to try it at "
            "`/api/v1/swagger`.\n"
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for service in ("identity", "repos", "issues", "hooks", "mail"):
            description = openapi_description(_app(service, folder))
            rows: dict[str, list[tuple[str, ...]]] = {}
            for path, operations in sorted(description["paths"].items()):
                for method in METHODS:
                    if operation := operations.get(method):
                        tag = next(iter(operation.get("tags", [])), "other")
                        cells = (f"`{method.upper()}`", f"`{path}`", f"`{operation['operationId']}`")
                        rows.setdefault(tag, []).append(cells)
            parts.append(f"## {service}\n")
            for tag, operations_of in sorted(rows.items()):
                parts += [f"### {service}: {tag}\n", _table(("method", "path", "operation"), operations_of)]
    return "\n".join(parts)


def _app(service: str, folder: str) -> Any:
    """Build the app of a service that never opens its database."""
    settings = importlib.import_module(f"ingot_{service}.settings").Settings
    values = {
        "database_url": f"sqlite+aiosqlite:///{folder}/x.db",
        "private_key": SigningKey.generate().text(),
        "background": False,
        "sealing_key": Fernet.generate_key().decode(),
        "storage_root": folder,
    }
    accepted = {name: value for name, value in values.items() if name in settings.__struct_fields__}
    return importlib.import_module(f"ingot_{service}.app").create_app(settings(**accepted))


def events_page() -> str:
    """List the events with their consumers and fields."""
    parts = [
        "# Events between services\n",
        NOTE,
        (
            "Services announce changes over NATS JetStream. A released event gets new fields with a "
            "default,\nand never changes otherwise. [Webhooks](webhooks.md) describes the payloads that "
            "endpoints receive.\nThe gateway listens too, to drop cached responses. An event without a "
            "consumer is for it, or wakes workers\nof its own service.\n"
        ),
    ]
    for owner, events in sorted(EVENTS.items()):
        rows = [
            (
                f"`{event.__struct_config__.tag}`",
                f"`{event.__name__}`",
                ", ".join(one for one in SERVICES if one in consumers_of(event)) or "none",
                ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(event)),
            )
            for event in sorted(events, key=lambda one: str(one.__struct_config__.tag))
        ]
        parts += [f"## {owner}\n", _table(("event", "struct", "consumers", "fields"), rows)]
    return "\n".join(parts)


def metrics_page() -> str:
    """List the metrics that processes export."""
    rows = sorted(set(_metrics()))
    return "\n".join(
        [
            "# Metrics\n",
            NOTE,
            (
                "Every process exports them at `/metrics`, on a port of its own. Histograms end in "
                "`_bucket`,\n`_sum` and `_count`. [The runbook](../how-to/runbook.md) names the alerts that "
                "read them.\n"
            ),
            _table(("metric", "type", "labels", "meaning"), rows),
        ]
    )


def _metrics() -> Iterator[tuple[str, ...]]:
    for file in sorted(ROOT.glob("*/*/src/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id=("Counter" | "Gauge" | "Histogram") as kind),
                    args=[ast.Constant(value=str() as name), ast.Constant(value=str() as meaning), *rest],
                ):
                    labels = ast.literal_eval(rest[0]) if rest else []
                    yield f"`{name}`", kind.lower(), ", ".join(f"`{label}`" for label in labels), meaning


def commands_page() -> str:
    """List the commands with their arguments."""
    parts = ["# Commands\n", NOTE]
    mains = [("ingot", "ingot_standalone.__main__")]
    mains += [(f"ingot-{service}", f"ingot_{service}.__main__") for service in SERVICES]
    for name, module in mains:
        parts += [f"## `{name}`\n", _table(("command", "purpose", "arguments"), _commands(name, module))]
    return "\n".join(parts)


def _commands(name: str, module: str) -> list[tuple[str, ...]]:
    return list(_subcommands(name, _parser(importlib.import_module(module).main)))


def _parser(main: Callable[[], object]) -> argparse.ArgumentParser:
    """Return the parser that a command makes, without running the command."""
    parsers: list[argparse.ArgumentParser] = []

    def parse(parser: argparse.ArgumentParser, *_: object) -> None:
        parsers.append(parser)
        raise SystemExit

    with mock.patch.object(argparse.ArgumentParser, "parse_args", parse):
        try:
            main()
        except SystemExit:
            return parsers[0]
    raise AssertionError("the command parsed no arguments")


def _subcommands(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, ...]]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            purposes = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            for word, inner in action.choices.items():
                nested = list(_subcommands(f"{name} {word}", inner))
                yield from nested or [
                    (f"`{name} {word}`", purposes.get(word, ""), ", ".join(_arguments(inner)))
                ]


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001
        if not isinstance(action, argparse._HelpAction):  # noqa: SLF001
            shown = action.option_strings[-1] if action.option_strings else action.dest
            yield f"`{shown}`" + (f": {action.help}" if action.help else "")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
