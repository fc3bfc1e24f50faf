"""Names are the field's terms, not words of our own: docs/reference/glossary.md has them.

Checked are definitions of modules, classes, functions, parameters, variables and attributes. Names of test
functions are sentences, so their words are not checked.
"""

import ast
import re

import pytest

from .sources import Source, sources, sources_of_tests

BANNED = frozenset(
    [
        "told",
        "wanted",
        "held",
        "known",
        "seen",
        "asked",
        "given",
        "made",
        "kept",
        "found",
        "gone",
        "sister",
        "sisters",
        "twin",
        "heir",
        "furnish",
        "bury",
        "buried",
        "leash",
        "leftovers",
        "filling",
        "surroundings",
        "around",
        "viewing",
        "newly",
        "marks",
        "places",
        "hop",
        "bell",
        "ring",
        "door",
        "doors",
        "elsewhere",
        "confined",
        "unconfined",
        "departures",
        "admitted",
        "presented",
        "pushed",
        "aside",
        "utils",
        "helpers",
        "manager",
        "common",
        "misc",
    ]
)
"""As a part of a name: ``known_accounts``, ``told``, ``TheDoor``."""

GERUND = re.compile(r"^(?!.*(Setting|String|Rating|Missing|Thing)$)[A-Z]\w*ing$")
"""A class is a thing or an agent, not something that goes on."""

ALLOWED = frozenset({"gone", "confined", "asked_at", "connection_made", "known_hosts"})
"""Exceptions: columns of tables, settings, variables with their values, and methods of libraries."""


def parts(name: str) -> set[str]:
    """The words of a name in either case: ``HTTPServer_of`` is http, server and of."""
    name = re.sub("not_?found", "", name, flags=re.IGNORECASE)  # as HTTP calls it
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)
    return {word.lower() for word in words}


def names(source: Source) -> list[tuple[int, str]]:
    """Every name that ``source`` makes, with its line."""
    bound: list[tuple[int, str]] = [(1, source.module.rpartition(".")[2])]
    for node in ast.walk(source.tree):
        match node:
            case ast.ClassDef():
                bound.append((node.lineno, node.name))
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("test_"):
                bound.append((node.lineno, node.name))
            case ast.arg():
                bound.append((node.lineno, node.arg))
            case ast.Name(ctx=ast.Store()):
                bound.append((node.lineno, node.id))
            case ast.Attribute(ctx=ast.Store()):
                bound.append((node.lineno, node.attr))
            case _:
                pass
    return bound


@pytest.mark.parametrize("package", sorted({one.package for one in (*sources(), *sources_of_tests())}))
def test_names_are_terms_of_the_field(package):
    wrong = [
        f"{source.place}:{line} {name}"
        for source in (*sources(), *sources_of_tests())
        if source.package == package
        for line, name in names(source)
        if (parts(name) & BANNED and name not in ALLOWED) or GERUND.match(name)
    ]
    assert not wrong, f"{len(wrong)} names:\n" + "\n".join(wrong)
