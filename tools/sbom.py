"""Print the bill of materials of Ingot (CycloneDX 1.6): each package of requirements.lock with hashes."""

import json
import re
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "requirements.lock"
_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*([^\\]+))?", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def packages(lock: str) -> list[tuple[str, str, list[str]]]:
    """Name, version and SHA-256 hashes of each package, in the order of the lock."""
    starts = [*_PACKAGE.finditer(lock)]
    ends = [*(start.start() for start in starts[1:]), len(lock)]
    return [
        (start[1], start[2], _HASH.findall(lock[start.start() : end]))
        for start, end in zip(starts, ends, strict=True)
    ]


def bill_of_materials(lock: str) -> dict[str, Any]:
    """The hashes of a package are those of its files, any of which may be installed: they are properties."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "ingot", "bom-ref": "ingot"}},
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "properties": [{"name": "lock:sha256", "value": value} for value in hashes],
            }
            for name, version, hashes in packages(lock)
        ],
    }


if __name__ == "__main__":
    json.dump(bill_of_materials(LOCK.read_text()), sys.stdout, indent=1)
