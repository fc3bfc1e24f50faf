"""Check what changed since a base and what depends on it.

``python tools/affected.py [--base REF] [--most FILES]``. The base is where the branch left `origin/main`, or
HEAD. It checks format, style, types and layers, and runs the nearest tests.

The distance of a test file is the number of imports between it and the change. It is 0 if the file changed
or is named for a changed module. It is 1 if it imports one or is of its subject, 2 if it imports a module
that does. Wiring (`app`, `components`) leads everywhere and is skipped.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
WIRING = {"app", "components", "__main__"}
ROLES = {"api", "internal", "jobs", "events", "components", "rules", "store", "clients"}
FARTHEST = 2
WORKERS = 2
STATIC_TESTS = [f"tests/arch/test_{name}.py" for name in ("names", "mistakes", "prose")]
"""Checks of sources that take seconds."""


def changed_files(base: str) -> list[str]:
    """Return the paths that differ from the base, and new ones that are not ignored."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=True).stdout

    if not base:
        has_main = subprocess.run(
            ["git", "rev-parse", "-q", "--verify", "origin/main"], cwd=TOP, capture_output=True, check=False
        )
        base = git("merge-base", "HEAD", "origin/main").strip() if has_main.returncode == 0 else "HEAD"
    names = git("diff", "--name-only", "-z", base) + git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted(set(names.split("\0")) - {""})


def module_of(path: str) -> str:
    """Return the module of a source below `src`; empty for any other path."""
    _, src, inner = path.partition("/src/")
    return (
        inner.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        if src and path.endswith(".py")
        else ""
    )


def imports_of(text: str) -> set[str]:
    """Return the names that a source imports from this workspace: modules, and what it takes from them.

    Two expressions take a tenth of the time that `ast` takes for all sources.
    """
    names = set(re.findall(r"^ *import (ingot_[\w.]+)", text, re.MULTILINE))
    for module, imported in re.findall(r"^ *from (ingot_[\w.]+) import (\([^)]*\)|.*)$", text, re.MULTILINE):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", imported))}
    return names


class Sources:
    """All sources and tests, and what they import."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.imports = {path.relative_to(TOP).as_posix(): imports_of(path.read_text()) for path in files}
        self.tests = sorted(path for path in self.imports if Path(path).name.startswith("test_"))

    @classmethod
    def read(cls) -> "Sources":
        members = [folder for kind in ("libs", "services", "apps") for folder in (TOP / kind).iterdir()]
        return cls(
            path for member in members for part in ("src", "tests") for path in (member / part).rglob("*.py")
        )

    def distances_from(self, changed: Sequence[str]) -> dict[str, int]:
        """Return the tests that depend on changed files, each with its distance, the nearest first."""
        distances = {path: 0 for path in changed if path in self.tests}
        modules = {module for path in changed if (module := module_of(path))}
        visited: set[str] = set()
        for distance in range(FARTHEST):
            for path in self.tests:
                if any(is_named_for(path, module) for module in modules):
                    distances.setdefault(path, distance)
            for path in self.tests:
                if self.imports[path] & modules:
                    distances.setdefault(path, distance + 1)
            for path in self.tests:
                if any(is_of_subject(path, module) for module in modules):
                    distances.setdefault(path, distance + 1)
            visited |= modules
            modules = {
                module
                for path, names in self.imports.items()
                if names & modules and (module := module_of(path)) and module not in visited
                and module.rpartition(".")[2] not in WIRING
            }  # fmt: skip
        return dict(sorted(distances.items(), key=lambda item: item[1]))


def place_of(path: str, package: str) -> tuple[list[str], str]:
    """Return the folders and the name of a test of a package; an empty name for tests of other ones."""
    _, _, place = path.partition(f"/{package.removeprefix('ingot_')}/tests/")
    *folders, file = place.removesuffix(".py").split("/")
    return folders, file.removeprefix("test_")


def is_named_for(path: str, module: str) -> bool:
    """True if a test has the name of a part of the module. A name of a role counts in its subject alone."""
    package, *names = module.split(".")
    folders, name = place_of(path, package)
    is_own = name not in ROLES or folders == names[:1]
    return bool(name) and is_own and name in (*names, "_".join(names))


def is_of_subject(path: str, module: str) -> bool:
    """True if a test is in the folder of the module's subject."""
    package, *names = module.split(".")
    folders, name = place_of(path, package)
    return bool(name) and bool(folders) and folders == names[:1]


def run(title: str, command: Sequence[str | Path]) -> bool:
    """Run one check and print its output if it fails."""
    began = time.monotonic()
    environment = {"INGOT_TEST_DATABASES": "turns"} | os.environ
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    is_right = done.returncode == 0
    print(f"{'ok    ' if is_right else 'FAILED'} {title} ({time.monotonic() - began:.0f} s)", flush=True)
    if not is_right:
        print(done.stdout[-8000:] + done.stderr[-4000:], flush=True)
    return is_right


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", default="", help="revision to compare with")
    parser.add_argument("--most", type=int, default=12, help="test files to run, the nearest first")
    options = parser.parse_args()
    changed = changed_files(options.base)
    python = [path for path in changed if path.endswith(".py") and (TOP / path).exists()]
    if not python:
        print(f"{len(changed)} files changed, none of Python")
        return
    tests = list(Sources.read().distances_from(changed))
    members = sorted({path.partition("/src/")[0] for path in python if "/src/" in path})
    sources = [f"{member}/src" for member in members]
    near, far = tests[: options.most], tests[options.most :]
    print(f"{len(changed)} files changed; {len(tests)} test files depend on them", flush=True)
    pytest = [BIN / "python", "-m", "pytest", "-q"]

    def static() -> bool:
        results = [
            run("style", [BIN / "ruff", "check", "--quiet", *python]),
            run("format", [BIN / "ruff", "format", "--quiet", "--check", *python]),
            not sources or run(f"types of {', '.join(members)}", [BIN / "mypy", *sources]),
            not sources or run("layers", [BIN / "lint-imports"]),
        ]
        return all(results)

    with ThreadPoolExecutor() as threads:
        checking = threads.submit(static)
        own = [path for path in STATIC_TESTS if (TOP / path).exists()]
        is_right = run("names, mistakes and prose", [*pytest, *own])
        if near:
            is_right = (
                run(f"{len(near)} test files: {' '.join(near)}", [*pytest, "-n", str(WORKERS), *near])
                and is_right
            )
        is_right = checking.result() and is_right
    if far:
        targets = sorted({f"test-{path.split('/')[1]}" for path in far})
        print(f"{len(far)} test files further away did not run: make {' '.join(targets)}")
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
