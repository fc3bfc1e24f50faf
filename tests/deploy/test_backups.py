"""The backups of a cluster: what the manifests name is there, and their scripts save and restore databases."""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
import yaml

from ingot_chassis.testing.binaries import postgres_programs

from .manifests import K8S, Object, containers, named, pods, renderer

SERVICES = ("hooks", "issues", "repos", "identity")
"""Consumers before those whom they listen to."""


@cache
def with_backups() -> list[Object]:
    """The overlay dev with the component, as an overlay of somebody's own would have it; secrets have no values."""
    if not renderer():
        pytest.skip("nothing here renders: install kustomize or kubectl, or build one with `make kustomize`")
    with tempfile.TemporaryDirectory() as folder:
        k8s = Path(folder) / "k8s"
        shutil.copytree(K8S, k8s, ignore=shutil.ignore_patterns("keys"))
        dev = k8s / "overlays" / "dev" / "kustomization.yaml"
        overlay = yaml.safe_load(dev.read_text())
        for generator in overlay["secretGenerator"]:
            generator["literals"] = ["username=x", "password=x"]
            del generator["envs"]
        overlay["components"] = ["../../components/backup"]
        dev.write_text(yaml.safe_dump(overlay))
        done = subprocess.run([*renderer(), dev.parent], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def script(name: str) -> str:
    """What the container for the databases of a CronJob runs."""
    databases = [c for pod, c in containers(with_backups()) if pod.startswith(f"CronJob {name}-0 databases")]
    (container,) = databases
    return str(container["args"][0])


def test_what_a_backup_names_is_there():
    objects = with_backups()
    names = {(one["kind"], one["metadata"]["name"]) for one in objects}
    jobs = [(name, pod) for name, pod in pods(objects) if name.startswith("CronJob")]
    assert [name for name, _ in jobs] == [
        "CronJob backup-0", "CronJob restore-0", "CronJob restore-databases-0"
    ]  # fmt: skip
    for name, pod in jobs:
        assert ("ServiceAccount", pod["spec"]["serviceAccountName"]) in names, name
        for volume in pod["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                claim = volume["persistentVolumeClaim"]["claimName"]
                assert ("PersistentVolumeClaim", claim) in names, name
    for name, container in containers(objects):
        if name.startswith("CronJob"):
            for variable in container.get("env", ()):
                if "valueFrom" in variable:
                    assert ("Secret", variable["valueFrom"]["secretKeyRef"]["name"]) in names, name
                elif variable["name"].endswith("_DATABASE"):
                    assert ("Service", urlsplit(variable["value"]).hostname) in names, name
            for source in container.get("envFrom", ()):
                assert ("ConfigMap", source["configMapRef"]["name"]) in names, name
    shard = named(objects, "Deployment", "repos-0")["spec"]["template"]["metadata"]["labels"]
    affinity = jobs[0][1]["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity[0]["labelSelector"]["matchLabels"].items() <= shard.items()


def test_databases_come_before_git_and_consumers_before_emitters():
    spec = named(with_backups(), "CronJob", "backup-0")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert [one["name"] for one in spec["initContainers"]] == ["databases"]
    (git,) = spec["containers"]
    assert git["args"][:3] == ["backup", "--to", "/backup"]
    lines = [line for line in script("backup").splitlines() if line.startswith("pg_dump")]
    assert [line.rpartition("/")[2].partition(".dump")[0] for line in lines] == list(SERVICES)


async def test_the_scripts_save_databases_and_put_them_back(postgres_server, tmp_path):
    programs = next(
        folder for folder, _ in postgres_programs(tmp_path, None) if (folder / "pg_dump").exists()
    )
    backup = tmp_path / "backup"
    backup.mkdir()
    server = await asyncpg.connect(postgres_server, ssl=False)
    urls = {name: f"{postgres_server.rsplit('/', 1)[0]}/backup_{name}" for name in SERVICES}
    variables = {f"{name.upper()}_DATABASE": url for name, url in urls.items()}
    variables |= {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        text = script(name).replace("/backup", str(backup))
        return subprocess.run(
            ["sh", "-euc", text], env=variables, capture_output=True, text=True, check=False
        )

    async def execute(name: str, statement: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(urls[name], ssl=False)
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()

    try:
        for name in SERVICES:
            await server.execute(f"CREATE DATABASE backup_{name}")
            await execute(name, f"CREATE TABLE one AS SELECT '{name}' AS word")
        done = run("backup")
        assert done.returncode == 0, done.stderr
        (backup / ".unfinished").rename(backup / "2026-11-23T02-00-00-000000Z")
        for name in SERVICES:
            await execute(name, "UPDATE one SET word = 'later'")
        done = run("restore-databases")
        assert done.returncode == 0, done.stderr
        for name in SERVICES:
            assert [row["word"] for row in await execute(name, "SELECT word FROM one")] == [name]
        (backup / "2026-11-23T03-00-00-000000Z").mkdir()
        assert run("restore-databases").returncode != 0, "the newest has no databases"
    finally:
        for name in SERVICES:
            await server.execute(f"DROP DATABASE IF EXISTS backup_{name}")
        await server.close()
