"""Imports of tests, benchmarks and tools exist and are public.

The type checker reads only the code of packages, and tests of other folders run late. These tests find an
import of a deleted name first. A private name may be deleted with any change of its module.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from .sources import Source, sources, sources_of_tests

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Import(NamedTuple):
    """One name that ``place`` imports from ``module``, which is the path of a file without its suffix."""

    place: str
    module: str
    name: str


@cache
def modules() -> dict[str, Source]:
    """Every module by its path without its suffix, a package by its folder; one with ``src`` from there."""
    every = {}
    for source in (*sources(), *sources_of_tests()):
        path = source.place.split("/src/", 1)[-1].removesuffix(".py").removesuffix("/__init__")
        every[path] = source
    return every


def statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes that run when a module is loaded: none inside of its functions and classes."""
    for node in body:
        yield node
        if not isinstance(node, SCOPES):
            nodes = list(ast.iter_child_nodes(node))
            yield from statements(nodes)  # type: ignore[arg-type]


@cache
def names(module: str) -> set[str]:
    """Return names that a module itself binds; none for a missing module."""
    bound: set[str] = set()
    for node in statements(modules()[module].tree.body if module in modules() else []):
        if isinstance(node, SCOPES):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    return bound


def imports(source: Source) -> Iterator[Import]:
    """From modules of ours, wherever in the file."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").replace(".", "/")
            if node.level:
                module = (PurePosixPath(source.place).parents[node.level - 1] / module).as_posix()
            elif not module.startswith("ingot_"):
                continue
            for alias in node.names:
                yield Import(f"{source.place}:{node.lineno}", module, alias.name)


def is_there(one: Import) -> bool:
    """True for a module in a package, or a name in a module."""
    return f"{one.module}/{one.name}" in modules() or one.name in names(one.module)


def test_what_a_test_imports_is_there():
    every = [one for source in sources_of_tests() for one in imports(source)]
    assert len(every) > 1000
    missing = [f"{one.place}: {one.module} has no {one.name}" for one in every if not is_there(one)]
    assert not missing, "\n".join(missing)


def test_a_test_imports_no_private_name():
    private = [
        f"{one.place}: {one.name} of {one.module}"
        for source in sources_of_tests()
        for one in imports(source)
        if one.name.startswith("_")
    ]
    assert not private, "\n".join(private)
