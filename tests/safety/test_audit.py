"""Every route that changes something is in the audit log, or it is said why not (``routes.txt``)."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .apps import app_of
from .routes import ROUTES

ROOT = Path(__file__).parents[2]
REASONS = {"text", "git", "own", "value", "new", "repeat", "read", "begin", "client"}
"""``routes.txt`` says what they mean."""
CALL = re.compile(r'\b(?:audit|add_entry)\(\s*\w+,\s*(?:[\w()]+,\s*)?"([a-z0-9_]+\.[a-z_]+)"')
SERVICES = ("identity", "repos", "hooks", "mail")
"""Those that have an audit log."""
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
CLAUSE = re.compile(r"^((?:`[a-z0-9_]+\.`(?: and )?)+) ([a-z_, ]+)$")


def actions_in_docs() -> set[str]:
    """Those of the table in docs/reference/audit.md, where actions of one thing stand behind its name."""
    actions = set()
    for line in (ROOT / "docs/reference/audit.md").read_text().splitlines():
        for clause in line.strip("| ").partition(" | ")[2].split("; "):
            if one := re.fullmatch(r"`([a-z0-9_]+\.[a-z_]+)`", clause):
                actions.add(one[1])
            elif several := CLAUSE.match(clause):
                things, verbs = re.findall(r"`(.*?)`", several[1]), several[2].split(", ")
                actions |= {thing + verb for thing in things for verb in verbs}
    return actions


def code_of(function: Callable[..., Any], read: set[object]) -> str:
    """Return the source of a function and of all functions of Ingot that it reaches; each is read once."""
    if not isinstance(function, FunctionType) or function in read or "ingot_" not in function.__module__:
        return ""
    read.add(function)
    source = inspect.getsource(function)
    return source + "".join(
        code_of(_resolved(name, function.__globals__), read) for name in {*NAME.findall(source)}
    )


def _resolved(name: str, names: dict[str, Any]) -> Any:
    """Return the object behind ``name`` or ``module.name``."""
    first, *rest = name.split(".")
    one = names.get(first)
    return getattr(one, rest[0], None) if rest and isinstance(one, ModuleType) else one


def test_every_route_that_changes_something_is_in_the_audit_log_or_has_a_reason_why_not():
    changing = [route for route in ROUTES if route.method != "GET"]
    assert [route.name for route in changing if bool(route.action) == bool(route.unaudited)] == []
    assert {route.unaudited for route in changing if route.unaudited} == REASONS


def test_a_route_that_is_in_the_audit_log_writes_its_action(tmp_path):
    handlers = {
        f"{method} {route.path_format}": handler
        for service in SERVICES
        for route in app_of(service, tmp_path).routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods
    }
    silent = [
        route.name
        for route in ROUTES
        if route.action and f'"{route.action}"' not in code_of(handlers[route.name].fn, set())
    ]
    assert silent == []


def test_every_action_is_described_and_tried():
    actions = actions_in_docs()
    assert {route.action for route in ROUTES if route.action} - actions == set()
    sources = [path.read_text() for path in ROOT.glob("services/*/src/**/*.py")]
    assert {action for source in sources for action in CALL.findall(source)} - actions == set()
    tests = "".join(path.read_text() for path in ROOT.glob("services/*/tests/test_audit.py"))
    assert {action for action in actions if f'"{action}"' not in tests} == set()
