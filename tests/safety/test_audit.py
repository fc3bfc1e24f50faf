"""Every route that changes something is in the audit log, or it is said why not (``routes.txt``)."""

import re
from pathlib import Path

from .routes import ROUTES

ROOT = Path(__file__).parents[2]
REASONS = {"text", "git", "own", "value", "new", "repeat", "read", "begin", "client"}
"""``routes.txt`` says what they mean."""
CALL = re.compile(r'\b(?:audit|add_entry)\(\s*\w+,\s*(?:[\w()]+,\s*)?"([a-z0-9_]+\.[a-z_]+)"')
CLAUSE = re.compile(r"^((?:`[a-z0-9_]+\.`(?: and )?)+) ([a-z_, ]+)$")


def actions_in_docs() -> set[str]:
    """Those of the table in docs/audit.md, where actions of one thing stand behind its name."""
    actions = set()
    for line in (ROOT / "docs" / "audit.md").read_text().splitlines():
        for clause in line.strip("| ").partition(" | ")[2].split("; "):
            if one := re.fullmatch(r"`([a-z0-9_]+\.[a-z_]+)`", clause):
                actions.add(one[1])
            elif several := CLAUSE.match(clause):
                things, verbs = re.findall(r"`(.*?)`", several[1]), several[2].split(", ")
                actions |= {thing + verb for thing in things for verb in verbs}
    return actions


def test_every_route_that_changes_something_is_in_the_audit_log_or_has_a_reason_why_not():
    changing = [route for route in ROUTES if route.method != "GET"]
    assert [route.name for route in changing if bool(route.action) == bool(route.unaudited)] == []
    assert {route.unaudited for route in changing if route.unaudited} == REASONS


def test_every_action_is_described_and_tried():
    actions = actions_in_docs()
    assert {route.action for route in ROUTES if route.action} - actions == set()
    sources = [path.read_text() for path in ROOT.glob("services/*/src/**/api/*.py")]
    sources += [path.read_text() for path in ROOT.glob("services/*/src/**/core/*.py")]
    assert {action for source in sources for action in CALL.findall(source)} - actions == set()
    tests = "".join(path.read_text() for path in ROOT.glob("services/*/tests/test_audit.py"))
    assert {action for action in actions if f'"{action}"' not in tests} == set()
