"""The source files that the architecture tests look at, parsed once."""

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent


class Source(NamedTuple):
    """One module. ``place`` is its path from the root, with slashes."""

    place: str
    text: str
    tree: ast.Module


@cache
def sources() -> list[Source]:
    """Every module of every package; no tests, no migrations."""
    files = [file for part in ("libs", "services", "apps") for file in (ROOT / part).glob("*/src/**/*.py")]
    found = []
    for file in sorted(files):
        place = file.relative_to(ROOT).as_posix()
        if "/migrations/versions/" not in place:
            text = file.read_text()
            found.append(Source(place, text, ast.parse(text)))
    return found


@cache
def tracked() -> list[Path]:
    """Every text file that git tracks, or all files where there is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
        return [ROOT / name for name in names if (ROOT / name).is_file()]
    return [
        file
        for file in ROOT.rglob("*")
        if file.is_file() and not {".venv", ".tools", ".git"} & set(file.parts)
    ]


def called(node: ast.AST) -> str:
    """The dotted name that ``node`` calls, such as ``asyncio.create_task``; empty if it calls nothing named."""
    if not isinstance(node, ast.Call):
        return ""
    return dotted(node.func)


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
