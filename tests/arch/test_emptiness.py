"""Tests assert something even if what they loop over is empty: one once compared 0 deliveries with 0.

Parameters are looked after by pytest: ``empty_parameter_set_mark`` in pyproject.toml.
"""

import ast
from collections.abc import Iterator

import pytest

from ingot_testing.non_empty import non_empty

from .sources import sources_of_tests

Values = dict[str, list[ast.expr]]
Function = ast.FunctionDef | ast.AsyncFunctionDef
KEEP_LENGTH = {
    "chain",
    "dict",
    "enumerate",
    "gather",
    "list",
    "map",
    "product",
    "reversed",
    "set",
    "sorted",
    "tuple",
    "zip",
}
"""Functions whose results are empty only if an argument is."""


def is_filled(node: ast.expr, values: Values, depth: int = 0) -> bool:
    """Return True for what has an item for certain: a literal, a constant, what ``non_empty`` returns."""

    def of(inner: ast.expr) -> bool:
        return depth < 8 and is_filled(inner, values, depth + 1)

    match node:
        case ast.Tuple() | ast.List() | ast.Set():
            return any(not isinstance(item, ast.Starred) or of(item.value) for item in node.elts)
        case ast.Dict():
            return bool(node.keys)
        case ast.Constant():
            return bool(node.value)
        case ast.Await() | ast.Subscript():
            return of(node.value)
        case ast.BinOp():
            return of(node.left) or of(node.right)
        case ast.Name():
            own = values.get(node.id, [])
            return node.id.isupper() or (bool(own) and all(of(value) for value in own))
        case ast.Attribute():
            return node.attr.isupper()
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return all(not part.ifs and of(part.iter) for part in node.generators)
        case ast.Call(func=ast.Name(id="non_empty" | "range")) | ast.Call(func=ast.Attribute(attr="split")):
            return True
        case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values") as method):
            return of(method.value)
        case ast.Call():
            name = ast.unparse(node.func).rsplit(".")[-1]
            return name in KEEP_LENGTH and any(
                of(argument.value if isinstance(argument, ast.Starred) else argument)
                for argument in node.args
            )
    return False


def passes_on_nothing(node: ast.expr, values: Values) -> bool:
    """Return True for ``all(…)`` and ``not any(…)`` over what may be empty."""
    match node:
        case ast.BoolOp(op=ast.And()):
            return all(passes_on_nothing(part, values) for part in node.values)
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() as items]):
            return not is_filled(items, values)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[items])):
            return not is_filled(items, values)
    return False


def certain_assertions(node: ast.AST, values: Values) -> Iterator[ast.AST]:
    """Yield the assertions outside of loops that may run zero times."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.For | ast.AsyncFor) and not is_filled(child.iter, values):
            continue
        if isinstance(child, ast.Assert) and not passes_on_nothing(child.test, values):
            yield child
        if isinstance(child, ast.With) and any("raises" in ast.unparse(item) for item in child.items):
            yield child
        yield from certain_assertions(child, values)


def values_of(function: Function) -> Values:
    """Return what a function assigns to each of its names."""
    values: Values = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for name, value in pairs:
                    if isinstance(name, ast.Name):
                        values.setdefault(name.id, []).append(value)
    return values


def asserts_on_nothing(function: Function) -> bool:
    """Return True if a test has assertions, and none of them is certain to run on something."""
    if not any(isinstance(node, ast.Assert) for node in ast.walk(function)):
        return False
    return not any(certain_assertions(function, values_of(function)))


def test_no_test_passes_on_nothing():
    tests = non_empty(
        (source.place, node)
        for source in sources_of_tests()
        for node in ast.walk(source.tree)
        if isinstance(node, Function) and node.name.startswith("test_")
    )
    wrong = [f"{place}:{test.lineno} {test.name}" for place, test in tests if asserts_on_nothing(test)]
    assert not wrong, "take what they loop over from `non_empty(…)`:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("for row in rows:\n  assert row", True),
        ("for row in non_empty(rows):\n  assert row", False),
        ("for row in rows:\n  assert row\n assert len(rows) == 2", False),
        ("assert all(row for row in rows)", True),
        ("assert not any(row for row in rows)", True),
        ("assert all(row for row in ROWS)", False),
        ("cases = [1, 2]\n for case in cases:\n  assert case", False),
        ("cases = [row for row in ROWS if row]\n for case in cases:\n  assert case", True),
        ("for a, b in zip(rows, (1, 2), strict=True):\n  assert a == b", False),
        ("assert rows", False),
        ("check(rows)", False),
    ],
)
def test_a_test_that_may_assert_nothing_is_found(body, wrong):
    (function,) = ast.parse(f"def test_it(rows):\n {body}").body
    assert isinstance(function, Function)
    assert asserts_on_nothing(function) is wrong
