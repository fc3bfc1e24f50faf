"""Name the migration Jobs of overlays/production by a hash of their content: a Job can only be replaced.

It also writes the checksum of the shared settings, so a change of them replaces the pods. Run it after a
change of an image, a tag, a Job or the settings of the platform: ``.venv/bin/python tools/name_jobs.py``.
``--check`` changes nothing and exits with 1 if a hash is stale. It needs kustomize or kubectl.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
PRODUCTION = ROOT / "deploy" / "k8s" / "overlays" / "production"
PLATFORM = PRODUCTION / "platform"
CHECKSUM = PLATFORM / "checksum" / "kustomization.yaml"


def name_of(service: str, job: dict[str, Any]) -> str:
    """The name of a Job with this content."""
    return f"{service}-migrate-{digest(job['spec'])}"


def digest(content: Any) -> str:
    """Ten digits that change with the content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def rendered(folder: Path) -> list[dict[str, Any]]:
    """The objects of an overlay."""
    built = ROOT / ".tools" / "kustomize"
    kustomize = shutil.which("kustomize") or (str(built) if built.exists() else "")
    command = [kustomize, "build"] if kustomize else ["kubectl", "kustomize"]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def new_texts() -> Iterator[tuple[Path, str]]:
    """Each file with the hashes that it should have."""
    for file in sorted(PRODUCTION.glob("*/kustomization.yaml")):
        text, service = file.read_text(), file.parent.name
        if f"{service}-migrate" in text:
            (job,) = (one for one in rendered(file.parent) if one["kind"] == "Job")
            yield (
                file,
                re.sub(rf"(value: ){service}-migrate-[a-z0-9.-]+", rf"\g<1>{name_of(service, job)}", text),
            )
    shared = ("ConfigMap", "ingot")
    (settings,) = (one for one in rendered(PLATFORM) if (one["kind"], one["metadata"]["name"]) == shared)
    yield (
        CHECKSUM,
        re.sub(r'settings: "\w+"', f'settings: "{digest(settings["data"])}"', CHECKSUM.read_text()),
    )


def main() -> int:
    """Write the hashes, or check them."""
    changed = {file: text for file, text in new_texts() if text != file.read_text()}
    for file, text in changed.items():
        print(file.relative_to(ROOT))
        if "--check" not in sys.argv:
            file.write_text(text)
    return 1 if changed and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
