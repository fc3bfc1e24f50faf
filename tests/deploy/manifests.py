"""The objects in deploy/k8s: as they are written, and as Kustomize renders each overlay."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
K8S = ROOT / "deploy" / "k8s"
OVERLAYS = ("dev", "production", "production-ingress")
Object = dict[str, Any]


@cache
def renderer() -> tuple[str, ...]:
    """The command that renders a folder; empty where there is none."""
    built = ROOT / ".tools" / "kustomize"
    if manifests := shutil.which("kustomize") or (built.exists() and str(built)):
        return (str(manifests), "build")
    return (manifests, "kustomize") if (manifests := shutil.which("kubectl")) else ()


def documents(text: str) -> list[Object]:
    """Return the objects of a YAML text. libyaml takes a sixth of the time of the parser in Python."""
    return [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]


@cache
def rendered(place: str, *, kustomization: str = "") -> list[Object]:
    """Return the objects of deploy/k8s/``place``, with a temporary kustomization.

    The keys of the overlay dev are created for the test.
    """
    if not renderer():
        pytest.skip("nothing here renders: install kustomize or kubectl, or build one with `make kustomize`")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "k8s"
        shutil.copytree(K8S, copy, ignore=shutil.ignore_patterns("keys"))
        keys = copy / "overlays" / "dev" / "keys"
        subprocess.run(
            [sys.executable, ROOT / "tools" / "make_keys.py", keys], check=True, stdout=subprocess.DEVNULL
        )
        if kustomization:
            (copy / place).mkdir(parents=True)
            (copy / place / "kustomization.yaml").write_text(kustomization)
        done = subprocess.run([*renderer(), copy / place], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return documents(done.stdout)


@cache
def written() -> list[Object]:
    """Every object in every file, before any patch."""
    files = [file for file in sorted(K8S.rglob("*.yaml")) if file.name != "kustomization.yaml"]
    return [one for file in files for one in documents(file.read_text()) if "kind" in one]


def objects(source: str) -> list[Object]:
    """``written`` for the files, else the name of an overlay."""
    return written() if source == "written" else rendered(f"overlays/{source}")


def named(manifests: list[Object], kind: str, name: str) -> Object:
    (one,) = [o for o in manifests if o["kind"] == kind and o["metadata"]["name"] == name]
    return one


def pods(manifests: list[Object]) -> Iterator[tuple[str, Object]]:
    """The name of each object that makes pods, and the template."""
    for one in manifests:
        if one["kind"] == "CronJob":
            yield f"CronJob {one['metadata']['name']}", one["spec"]["jobTemplate"]["spec"]["template"]
        if one["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield f"{one['kind']} {one['metadata']['name']}", one["spec"]["template"]


def containers(manifests: list[Object]) -> Iterator[tuple[str, Object]]:
    for name, pod in pods(manifests):
        for container in [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]:
            yield f"{name} {container['name']}", container
