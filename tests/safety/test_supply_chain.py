"""What is installed is what was locked: every package has hashes, and the bill of materials has every package."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")


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
    lock = (TOP / LOCKS[0]).read_text()
    assert bill["bomFormat"] == "CycloneDX"
    assert {(each["name"], each["version"]) for each in bill["components"]} == {
        (name, version) for name, version in re.findall(r"^([\w.-]+)==([\w.+!]+)", lock, re.MULTILINE)
    }
    assert all(each["properties"] for each in bill["components"])
