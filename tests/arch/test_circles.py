"""No module imports, in however many steps, one that imports it; imports for type checkers count as well."""

import ast

from .sources import Source, sources


def imported(source: Source, modules: set[str]) -> set[str]:
    """The modules of ours that ``source`` imports, wherever in the file."""
    targets: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            # A package that is only passed through on the way to its module is not what is meant.
            targets |= (named & modules) or {node.module}
    return (targets & modules) - {source.module}


def test_imports_form_no_circle():
    modules = {source.module for source in sources()}
    arrows = {source.module: imported(source, modules) for source in sources()}
    while free := {module for module, targets in arrows.items() if not targets & arrows.keys()}:
        arrows = {module: targets for module, targets in arrows.items() if module not in free}
    assert not arrows, f"in circles, or above one: {sorted(arrows)}"
