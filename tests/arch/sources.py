"""The source files that the architecture tests look at, parsed once."""

import ast
import gc
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

    @property
    def package(self) -> str:
        """Such as ``ingot_issues``; of a test its folder, such as ``services/issues/tests``."""
        if "/src/" in self.place:
            return self.place.split("/src/", 1)[1].split("/", 1)[0]
        folders = self.place.split("/")
        return "/".join(folders[: 3 if folders[0] in ("libs", "services", "apps") else 1])

    @property
    def module(self) -> str:
        """Such as ``ingot_issues.issues.rules.editing``; of a package its name."""
        path = self.place.split("/src/", 1)[-1].removesuffix(".py").removesuffix("/__init__")
        return path.replace("/", ".")


@cache
def sources() -> list[Source]:
    """Every module of every package; no tests, no migrations."""
    files = [file for part in ("libs", "services", "apps") for file in (ROOT / part).glob("*/src/**/*.py")]
    parsed = []
    for file in sorted(files):
        place = file.relative_to(ROOT).as_posix()
        if "/migrations/versions/" not in place:
            text = file.read_text()
            parsed.append(Source(place, text, ast.parse(text)))
    gc.freeze()  # some million nodes, which every collection would look at again
    return parsed


@cache
def sources_of_tests() -> list[Source]:
    """Every module of tests, benchmarks and tools."""
    folders = (*ROOT.glob("*/*/tests"), ROOT / "tests", ROOT / "benchmarks", ROOT / "tools")
    parsed = []
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        text = file.read_text()
        parsed.append(Source(file.relative_to(ROOT).as_posix(), text, ast.parse(text)))
    gc.freeze()
    return parsed


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
    """Return the dotted name that ``node`` calls, such as ``asyncio.create_task``, or ""."""
    if not isinstance(node, ast.Call):
        return ""
    return dotted(node.func)


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else f".{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
