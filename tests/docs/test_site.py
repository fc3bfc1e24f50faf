"""The site of the docs builds without a warning, so without a dead link, and loads nothing from elsewhere."""

import re
import subprocess

import pytest

from ..arch.sources import ROOT, tracked

SPHINX = ROOT / ".tools/docs/bin/sphinx-build"
FILES = re.compile(r"`(ingot_\w+/[\w/]+\.py)`")
SHORT = re.compile(r"`([a-z_]+(?:/[a-z_]+)+\.py)`")
"""Files that are named from a folder inside their distribution on."""
DIARIES = {"HISTORY.md", "CHANGELOG.md"}
"""Pages about what was."""
PAGES = [file for file in tracked() if file.suffix == ".md"]


@pytest.mark.skipif(not SPHINX.exists(), reason="Sphinx is not installed: `make docs-site` installs it")
def test_the_site_builds_and_needs_no_network(tmp_path):
    command = [
        SPHINX,
        "-W",
        "--keep-going",
        "-q",
        "-c",
        "docs",
        "-d",
        tmp_path / "cache",
        ".",
        tmp_path / "site",
    ]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    loaded = [
        url
        for page in pages
        for url in re.findall(r'<(?:script|img|link)[^>]* (?:src|href)="(https?:[^"]+)', page.read_text())
    ]
    assert loaded == []


def test_a_file_that_a_page_names_from_its_package_on_exists():
    named = [(page, path) for page in PAGES for path in FILES.findall(page.read_text())]
    assert len(named) > 50
    lost = [
        f"{page.relative_to(ROOT)}: {path}" for page, path in named if not [*ROOT.glob(f"*/*/src/{path}")]
    ]
    assert lost == []


def test_a_file_that_a_page_names_from_a_folder_on_exists():
    names = {"/" + file.relative_to(ROOT).as_posix() for file in tracked()}
    named = [
        (page, path) for page in PAGES if page.name not in DIARIES for path in SHORT.findall(page.read_text())
    ]
    assert len(named) > 100
    lost = [
        f"{page.relative_to(ROOT)}: {path}"
        for page, path in named
        if not any(name.endswith(f"/{path}") for name in names)
    ]
    assert lost == []
