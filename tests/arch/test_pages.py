"""Texts for people: links work, generated pages are current, and no place of origin appears."""

import re
import subprocess
import sys

import pytest

from .sources import ROOT, tracked

LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)\s#]+)")
# Written apart, so this file does not find itself.
REGISTRY_HOSTS = re.compile(
    "|".join(("py" + r"pi\.org", "python" + "hosted", "crates" + r"\.io", "npm" + "js"))
)
PAGES = [file for file in tracked() if file.suffix == ".md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file(page):
    missing = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert not missing


def test_no_file_names_a_package_registry():
    telling = []
    for file in tracked():
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        if REGISTRY_HOSTS.search(text):
            telling.append(file.relative_to(ROOT).as_posix())
    assert not telling


def test_the_page_of_settings_is_fresh():
    checked = subprocess.run(
        [sys.executable, "tools/generate_docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, f"make docs writes it anew: {checked.stdout}{checked.stderr}"


@pytest.mark.parametrize("service", ["identity", "repos", "issues", "hooks", "mail", "web", "gateway"])
def test_a_service_explains_itself(service):
    page = (ROOT / "services" / service / "README.md").read_text()
    for heading in ("Owns", "Does not own", "HTTP", "Events", "Calls", "Settings", "Run it alone"):
        assert re.search(rf"^#+ {heading}", page, re.MULTILINE), heading
