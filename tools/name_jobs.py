"""Names the migration Jobs of overlays/production by a hash of what they run: a Job cannot be changed, only replaced.

Run it after a change of an image, a tag or a Job: ``.venv/bin/python tools/name_jobs.py``. ``--check`` changes nothing and
ends with 1 if a name is not that of its content. It needs kustomize or kubectl.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
PRODUCTION = ROOT / "deploy" / "k8s" / "overlays" / "production"


def name_of(service: str, job: dict[str, Any]) -> str:
    """The name of a Job with this content."""
    content = json.dumps(job["spec"], sort_keys=True).encode()
    return f"{service}-migrate-{hashlib.sha256(content).hexdigest()[:10]}"


def rendered_job(folder: Path) -> dict[str, Any]:
    """The one Job of an overlay."""
    built = ROOT / ".tools" / "kustomize"
    kustomize = shutil.which("kustomize") or (str(built) if built.exists() else "")
    command = [kustomize, "build"] if kustomize else ["kubectl", "kustomize"]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=True)
    (job,) = (one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "Job")
    return dict(job)


def main() -> int:
    """Write the names, or check them."""
    wrong = 0
    for file in sorted(PRODUCTION.glob("*/kustomization.yaml")):
        text, service = file.read_text(), file.parent.name
        if f"{service}-migrate" not in text:
            continue
        name = name_of(service, rendered_job(file.parent))
        new = re.sub(rf"(path: /metadata/name, value: ){service}-migrate-[a-z0-9.-]+", rf"\g<1>{name}", text)
        if new != text:
            wrong += 1
            print(f"{service}: {name}")
            if "--check" not in sys.argv:
                file.write_text(new)
    return 1 if wrong and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
