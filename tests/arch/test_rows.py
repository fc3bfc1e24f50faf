"""Rows of a database have types (`ingot_chassis.db.rows`), so mypy sees a misspelt column."""

import ast

import pytest

from .sources import Source, called, sources

ROWS = ("row", "rows", "entry", "entries")


def is_any(annotation: ast.expr | None) -> bool:
    """True if a type contains ``Any``, except as the value of a dict to write, such as ``dict[str, Any]``."""
    if annotation is None:
        return False
    words = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return "Any" in words and not words & {"dict", "Select"}


def untyped_rows(source: Source) -> list[str]:
    """Places where a row is handed on as ``Any``, or a row type is another name for it."""
    lines = []
    for node in ast.walk(source.tree):
        match node:
            case ast.arg(arg=name, annotation=annotation) if name.endswith(ROWS) and is_any(annotation):
                lines.append(f"{source.place}:{node.lineno} {name}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.endswith("Row") and is_any(
                value
            ):
                lines.append(f"{source.place}:{node.lineno} {name}")
            case ast.Name(id="UNTYPED"):
                lines.append(f"{source.place}:{node.lineno} UNTYPED")
            case ast.FunctionDef() | ast.AsyncFunctionDef() if "/store/" in source.place and is_any(
                node.returns
            ):
                lines.append(f"{source.place}:{node.lineno} {node.name} returns Any")
            case _:
                pass
    return lines


WITHOUT_ROWS = frozenset({"rowcount", "scalar", "scalar_one", "scalar_one_or_none", "scalars"})
"""Allowed uses of a plain result: numbers, and columns one at a time."""

DATABASE = ("ingot_chassis.db.", "ingot_testing.")
"""Modules that execute statements for all others."""


def is_execute(node: ast.AST) -> bool:
    """``await db.execute(…)``."""
    return isinstance(node, ast.Await) and called(node.value).endswith(".execute")


def plain_rows(source: Source) -> list[str]:
    """Places where the rows of a plain ``execute`` are read, of which mypy knows no column."""
    if source.module.startswith(DATABASE):
        return []
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}

    def reads_rows(result: ast.AST) -> bool:
        user = parents[result]
        match user:
            case ast.Expr() | ast.Return():
                return False
            case ast.Attribute(attr="first") if isinstance(parents[parents[user]], ast.Compare):
                return False
            case ast.Attribute(attr=attribute):
                return attribute not in WITHOUT_ROWS
            case ast.Assign(targets=[ast.Name(id=name)]):
                uses = [n for n in ast.walk(function_of(user)) if isinstance(n, ast.Name) and n.id == name]
                return any(reads_rows(use) for use in uses if isinstance(use.ctx, ast.Load))
            case _:
                return True

    def function_of(node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            node = parents[node]
        return node

    return [
        f"{source.place}:{node.value.lineno} execute"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Await) and is_execute(node) and reads_rows(node)
    ]


@pytest.mark.parametrize("package", sorted({source.package for source in sources()}))
def test_rows_have_types(package):
    lines = [
        place
        for source in sources()
        if source.package == package
        for place in (*untyped_rows(source), *plain_rows(source))
    ]
    assert not lines, f"{len(lines)} lines:\n" + "\n".join(lines)
