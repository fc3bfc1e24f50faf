"""Run the build stage of the image without a container engine: its COPY lines, then its one script."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = ROOT / "deploy" / "images" / "Dockerfile"
IGNORED = ROOT / ".dockerignore"
IMPORTS_ALL = """
import importlib, pkgutil, sys
folder, package = sys.argv[1:]
sys.path.insert(0, folder)
for name in (package, "ingot_chassis", "ingot_contracts"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        if not module.name.endswith("__main__") and ".migrations" not in module.name:
            importlib.import_module(module.name)
outside = {
    module.__name__: module.__file__ for module in sys.modules.values()
    if "-packages" in (getattr(module, "__file__", None) or "") and not module.__file__.startswith(folder)
}
sys.exit(f"not of the image: {outside}" if outside else 0)
"""


def context(folder: Path) -> Path:
    """The files that ``.dockerignore`` lets into a build, copied to ``folder``."""
    lines = [line for line in IGNORED.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*", "nothing is let in but what is named"
    for pattern in (line[1:] for line in lines if line.startswith("!")):
        files = list(ROOT.glob(pattern))
        assert files, f"{pattern} names nothing"
        for file in files:
            _copy(file, folder / file.relative_to(ROOT))
    return folder


def built(service: str, folder: Path) -> Path:
    """Build the folder /app of the image of ``service`` below ``folder``, with the commands of the
    Dockerfile."""
    stage = DOCKERFILE.read_text().split("\nFROM ")[1].replace("\\\n", " ").replace("${SERVICE}", service)
    image_context, work, app = context(folder / "context"), folder / "work", folder / "app"
    for line in re.findall(r"^COPY (.*)$", stage, re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            into = work / target / (Path(source).name if target.endswith("/") or target == "./" else "")
            _copy(image_context / source, into)
    (command,) = re.findall(r'(deploy/images/assemble) "\$SERVICE" /app', stage)
    uv = ROOT / ".tools"  # a uv that was put there before; a build without it fetches its own
    if uv.exists():
        (work / ".tools").symlink_to(uv)
    subprocess.run([str(work / command), service, str(app)], check=True, env=_with_shared_cache())
    return app


def entrypoint(app: Path, python: str) -> list[str]:
    """The ENTRYPOINT of the Dockerfile, with ``app`` for /app."""
    (words,) = re.findall(r"^ENTRYPOINT \[(.*)\]$", DOCKERFILE.read_text(), re.MULTILINE)
    replaced = {"python3": python, "/app": str(app)}
    return [replaced.get(word, word) for word in re.findall(r'"([^"]*)"', words)]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(
            source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"), dirs_exist_ok=True
        )
    else:
        shutil.copy2(source, target)


def _with_shared_cache() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
