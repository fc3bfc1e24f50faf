"""Each distribution declares its imports, and each declared dependency is explained once."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from ingot_contracts.topology import SERVICES

from .sources import ROOT, sources

MEMBERS = sorted(
    file.parent for part in ("libs", "services", "apps") for file in (ROOT / part).glob("*/pyproject.toml")
)
PROVIDES = packages_distributions()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", name)[0]).lower()


def declared(member) -> set[str]:
    project = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    return {canonical(line) for line in project["dependencies"]}


def imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.relative_to(ROOT).as_posix())
def test_a_distribution_declares_what_it_imports(member):
    place = member.relative_to(ROOT).as_posix() + "/"
    own = {folder.name for folder in (member / "src").iterdir()}
    names = set().union(*(imported(source.tree) for source in sources() if source.place.startswith(place)))
    foreign = names - own - set(sys.stdlib_module_names)
    declared_names = declared(member)
    assert not {
        name for name in foreign if not {canonical(d) for d in PROVIDES.get(name, [name])} & declared_names
    }


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.relative_to(ROOT).as_posix())
def test_every_dependency_has_its_reason(member):
    explained = {
        canonical(name)
        for name in re.findall(
            r"`([A-Za-z0-9_.\[\]-]+)`", (ROOT / "docs/reference/dependencies.md").read_text()
        )
    }
    assert not {name for name in declared(member) if not name.startswith("ingot-")} - explained


def modules_after(program: str) -> set[str]:
    """Return the modules that are loaded after the program has run."""
    command = [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("service", ["gateway", "web"])
def test_a_service_without_a_database_loads_no_library_for_one(service):
    """They take a quarter of the memory and of the time in which it starts."""
    loaded = modules_after(f"import ingot_{service}.__main__, ingot_{service}.app")
    assert not {"sqlalchemy", "alembic", "asyncpg", "aiosqlite"} & loaded


def test_a_command_loads_the_app_only_if_it_needs_it():
    """`migrate` and the server of SSH start in half of the time."""
    assert not {"ingot_repos.app", "pygit2", "asyncssh"} & modules_after("import ingot_repos.__main__")


def test_a_process_that_serves_repositories_loads_nothing_that_speaks_ssh():
    assert "asyncssh" not in modules_after("import ingot_repos.app")


def test_hooks_starts_without_what_sends_deliveries():
    """aiohttp is an eighth of the start; the first delivery imports it."""
    assert "aiohttp" not in modules_after("import ingot_hooks.__main__, ingot_hooks.app")


def test_what_keeps_ingot_from_starting_is_found_before_its_services_are_loaded():
    """An error of settings, ports, the folder or its secrets would come a second later."""
    apps = {f"ingot_{service}.app" for service in SERVICES}
    assert not (apps | {"sqlalchemy"}) & modules_after("import ingot_standalone.up")
