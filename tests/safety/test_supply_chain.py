"""What is installed is what was locked: every package has hashes, and the bill of materials has every package."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")


def locked_versions():
    """The name and version of each package that Ingot needs to run, in the order of the lock."""
    return re.findall(r"^([\w.-]+)==([\w.+!]+)", (TOP / LOCKS[0]).read_text(), re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_of_a_lock_has_one_version_and_hashes(lock):
    text = (TOP / lock).read_text()
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert len(blocks) > 20
    without = [
        block.splitlines()[0] for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)
    ]
    unpinned = [block.splitlines()[0] for block in blocks if not re.match(r"[\w.-]+==[\w.+!]+[ ;\\]", block)]
    assert (without, unpinned) == ([], [])


def test_the_bill_of_materials_has_every_locked_package():
    done = subprocess.run([sys.executable, TOP / "tools/sbom.py"], capture_output=True, check=True)
    bill = json.loads(done.stdout)
    assert bill["bomFormat"] == "CycloneDX"
    assert {(each["name"], each["version"]) for each in bill["components"]} == set(locked_versions())
    assert all(each["properties"] for each in bill["components"])


async def vulnerabilities(url):
    """The exit code of `make vulnerabilities`, and what it prints, with the database of advisories at the URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        TOP / "tools/vulnerabilities.py",
        env=os.environ | {"OSV_URL": url},
        stdout=subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_a_package_with_an_advisory_is_named(receiver):
    versions = locked_versions()
    results = [{"vulns": [{"id": "PYSEC-1"}]}] + [{}] * (len(versions) - 1)
    receiver.answer(200, body=json.dumps({"results": results}).encode())
    code, output = await vulnerabilities(receiver.url)
    assert (code, output.splitlines()[0]) == (1, f"{' '.join(versions[0])}: PYSEC-1")
    queries = json.loads(receiver.requests[0].body)["queries"]
    assert [(query["package"]["name"], query["version"]) for query in queries] == versions


async def test_advisories_that_cannot_be_reached_are_skipped_with_a_word(receiver):
    receiver.answer(200, body=b"<html>Sign in to this network</html>")
    for url in ("http://127.0.0.1:1", receiver.url):
        code, output = await vulnerabilities(url)
        assert (code, output.startswith(f"skipped: {url} cannot be reached")) == (0, True)
