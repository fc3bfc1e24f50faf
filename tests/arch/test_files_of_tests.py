"""Tests are easy to find: `test_<module>.py`, or the name of a package, next to the code that they test."""

import re

import pytest

from .sources import ROOT, sources

ACROSS = {
    "access", "audit", "bombs", "broken_answers", "calls", "confirmations", "event_sizes", "fake_identity",
    "fake_repos", "forms", "full_disk", "golden", "growth", "hostile_input", "kill", "large_events", "layout",
    "lists", "long_texts", "oracle", "restricted_tokens", "restricted_users", "roles", "soak", "ssh_memory",
    "whole_service", "commonmark",
}  # fmt: skip
"""Tests of many modules at once."""

TRIED_THROUGH = {"repos": ["git", "remotes"]}
"""Libraries that tests of a service try through it."""
MEMBERS = [
    path.parent for part in ("libs", "services", "apps") for path in sorted((ROOT / part).glob("*/tests"))
]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_a_file_of_tests_is_named_for_a_module(member):
    members = [member, *(ROOT / "libs" / name for name in TRIED_THROUGH.get(member.name, ()))]
    own = [
        source.module
        for source in sources()
        if any((ROOT / source.place).is_relative_to(one) for one in members)
    ]
    names = {word for module in own for word in (module.rpartition(".")[2], "_".join(module.split(".")[1:]))}
    names |= {re.sub(r"^ingot_", "", module.split(".")[0]) for module in own}
    subjects = {file: file.stem.removeprefix("test_") for file in (member / "tests").rglob("test_*.py")}
    lost = [
        str(file.relative_to(ROOT))
        for file, subject in subjects.items()
        if subject not in names | ACROSS and file.parent.name not in names
    ]
    assert not lost, "\n".join(lost)
