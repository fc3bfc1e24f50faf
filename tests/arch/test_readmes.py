"""The README of a service names each of its subjects in one table, and no others."""

import re
from itertools import takewhile

import pytest

from .sources import ROOT

SERVICES = sorted(file.parent.name for file in (ROOT / "services").glob("*/README.md"))
OF_FILES = {"gateway"}
"""Services that are one subject. Their table names modules, not folders."""


def readme_of(service: str) -> str:
    """Return the README of a service."""
    return (ROOT / "services" / service / "README.md").read_text()


def subjects(page: str) -> list[str]:
    """Return the names in the first column of the table of subjects. Raises if the page has no such table."""
    _, head, rest = page.partition("| subject | holds |\n|---|---|\n")
    assert head, "no table `| subject | holds |`"
    rows = takewhile(lambda line: line.startswith("|"), rest.splitlines())
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def folders(service: str) -> list[str]:
    """Return the packages of a service, without its migrations."""
    package = ROOT / "services" / service / "src" / f"ingot_{service}"
    return sorted(
        file.parent.name for file in package.glob("*/__init__.py") if file.parent.name != "migrations"
    )


def modules(service: str) -> set[str]:
    """Return the modules at the top of a service that have a subject."""
    package = ROOT / "services" / service / "src" / f"ingot_{service}"
    return {file.name for file in package.glob("*.py")} - {
        "__init__.py",
        "__main__.py",
        "app.py",
        "settings.py",
    }


@pytest.mark.parametrize("service", [service for service in SERVICES if service not in OF_FILES])
def test_the_table_of_subjects_has_exactly_the_folders(service):
    assert folders(service)
    assert sorted(subjects(readme_of(service))) == folders(service)


@pytest.mark.parametrize("service", sorted(OF_FILES))
def test_the_table_of_a_service_without_subjects_has_every_module(service):
    table = readme_of(service).split("| what | where |\n", 1)[1].split("\n\n", 1)[0]
    assert modules(service)
    assert modules(service) <= set(re.findall(r"`(\w+\.py)`", table))


def test_every_service_has_a_readme():
    assert [file.parent.name for file in sorted((ROOT / "services").glob("*/pyproject.toml"))] == SERVICES


def test_an_empty_table_has_no_subjects():
    assert subjects("| subject | holds |\n|---|---|\n\n| `a` | of another table |") == []


def test_a_page_without_the_table_is_an_error():
    with pytest.raises(AssertionError, match="no table"):
        subjects("| `a` | b |")
