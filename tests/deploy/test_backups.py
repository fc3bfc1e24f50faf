"""The backups of a cluster: objects that manifests name exist, and scripts save and restore databases."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import asyncpg
import pytest
import yaml

from ingot_repos.upkeep.jobs.backups import DUMPS
from ingot_testing.non_empty import non_empty

from .backup_scripts import BackupScripts, script
from .manifests import K8S, Object, containers, documents, named, pods, renderer

SERVICES = ("mail", "hooks", "issues", "repos", "identity")
"""Consumers before those whom they listen to."""


WHOLE = "2026-11-23T02-00-00-000000Z"
INSTALLED = pytest.mark.parametrize("overlay", ["dev", "production"])


@cache
def with_backups(overlay: str) -> list[Object]:
    """Return an overlay with the backup component, as operators write it. Secrets of dev have no values."""
    if not renderer():
        pytest.skip("nothing here renders: install kustomize or kubectl, or build one with `make kustomize`")
    with tempfile.TemporaryDirectory() as folder:
        k8s = Path(folder) / "k8s"
        shutil.copytree(K8S, k8s, ignore=shutil.ignore_patterns("keys"))
        place = k8s / "overlays" / overlay
        file = place / ("kustomization.yaml" if overlay == "dev" else "repos/kustomization.yaml")
        kustomization = yaml.safe_load(file.read_text())
        for generator in kustomization.get("secretGenerator", ()):
            generator["literals"] = ["username=x", "password=x"]
            del generator["envs"]
        kustomization["components"] = ["../../components/backup" if overlay == "dev" else "backup"]
        file.write_text(yaml.safe_dump(kustomization))
        done = subprocess.run([*renderer(), place], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def secrets(objects: list[Object]) -> set[str]:
    """Those that are written, those from outside, and those that the operator of PostgreSQL makes."""
    names = {one["metadata"]["name"] for one in objects if one["kind"] in ("Secret", "ExternalSecret")}
    clusters = [one["metadata"]["name"] for one in objects if one["kind"] == "Cluster"]
    return names | {f"{name}-{part}" for name in clusters for part in ("app", "ca")}


def databases(pod: Object) -> list[Object]:
    """The secrets that are below /etc/databases."""
    (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == "databases"]
    return [source["secret"] for source in volume["projected"]["sources"]]


@INSTALLED
def test_what_a_backup_names_is_there(overlay):
    objects = with_backups(overlay)
    names = {(one["kind"], one["metadata"]["name"]) for one in objects}
    for name, pod in non_empty((name, pod) for name, pod in pods(objects) if name.startswith("CronJob")):
        assert ("ServiceAccount", pod["spec"]["serviceAccountName"]) in names, name
        for volume in pod["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                claim = volume["persistentVolumeClaim"]["claimName"]
                assert ("PersistentVolumeClaim", claim) in names, name
            elif volume["name"] == "databases":
                required = {one["name"] for one in databases(pod) if not one.get("optional")}
                assert required <= secrets(objects), name
                assert len(required) == len(SERVICES), name
    for name, container in non_empty(containers(objects)):
        if name.startswith("CronJob"):
            for source in container.get("envFrom", ()):
                assert ("ConfigMap", source["configMapRef"]["name"]) in names, name
            for variable in container["env"]:
                reference = variable.get("valueFrom", {}).get("configMapKeyRef")
                assert reference is None or ("ConfigMap", reference["name"]) in names, name


@INSTALLED
def test_each_shard_has_its_backups_beside_its_pod(overlay):
    objects = with_backups(overlay)
    shards = {
        one["metadata"]["name"].removeprefix("storage-repos-")
        for one in objects
        if one["kind"] == "PersistentVolumeClaim" and one["metadata"]["name"].startswith("storage-")
    }
    assert shards == ({"0"} if overlay == "dev" else {"0", "1"})
    crons = {one["metadata"]["name"] for one in objects if one["kind"] == "CronJob"}
    assert crons == {f"{job}-{n}" for job in ("backup", "restore", "restore-databases") for n in shards}
    for n in shards:
        for job in ("backup", "restore"):
            spec = named(objects, "CronJob", f"{job}-{n}")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
            claims = [
                volume["persistentVolumeClaim"]["claimName"]
                for volume in spec["volumes"]
                if "persistentVolumeClaim" in volume
            ]
            assert claims == [f"storage-repos-{n}", f"backup-{n}"]
        shard = named(objects, "Deployment", f"repos-{n}")["spec"]["template"]["metadata"]["labels"]
        backup = named(objects, "CronJob", f"backup-{n}")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (near,) = backup["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert near["labelSelector"]["matchLabels"].items() <= shard.items()


@INSTALLED
def test_backups_are_in_the_namespace_with_the_image_of_their_shard(overlay):
    objects = with_backups(overlay)
    assert {one["metadata"].get("namespace") for one in objects if one["kind"] == "CronJob"} == {"ingot"}
    images = {name: container["image"] for name, container in containers(objects)}
    of_shards = {image for name, image in images.items() if name.startswith("Deployment repos-")}
    assert {image for name, image in images.items() if name.endswith(" storage")} == of_shards


def test_production_verifies_the_databases_that_it_dumps_and_restores():
    objects = with_backups("production")
    assert named(objects, "ConfigMap", "ingot")["data"]["PGSSLMODE"] == "verify-full"
    for job in ("backup-0", "restore-databases-0"):
        pod = named(objects, "CronJob", job)["spec"]["jobTemplate"]["spec"]["template"]
        (container,) = [c for name, c in containers(objects) if name == f"CronJob {job} databases"]
        (mode,) = [one["valueFrom"] for one in container["env"] if one["name"] == "PGSSLMODE"]
        assert mode == {"configMapKeyRef": {"name": "ingot", "key": "PGSSLMODE", "optional": True}}
        paths = {
            one["name"]: one["items"][0]["path"] for one in databases(pod) if one["name"].endswith("-ca")
        }
        assert paths == {f"{service}-db-ca": f"{service}/ca.crt" for service in SERVICES}


def test_databases_come_before_git_and_consumers_before_emitters():
    spec = named(with_backups("dev"), "CronJob", "backup-0")["spec"]["jobTemplate"]["spec"]["template"][
        "spec"
    ]
    assert [one["name"] for one in spec["initContainers"]] == ["databases"]
    (git,) = spec["containers"]
    assert git["args"][:5] == ["backup", "--to", "/backup", "--databases", "/backup/.databases-$(POD)"]
    assert f"for service in {' '.join(SERVICES)}; do" in script("backup")


@INSTALLED
def test_a_restoration_is_of_the_backup_that_is_named_and_is_never_tried_again(overlay):
    objects = with_backups(overlay)
    for job in ("restore-0", "restore-databases-0"):
        spec = named(objects, "CronJob", job)["spec"]
        assert (spec["suspend"], spec["jobTemplate"]["spec"]["backoffLimit"]) == (True, 0)
    (files,) = [c for name, c in containers(objects) if name == "CronJob restore-0 storage"]
    assert files["args"] == ["restore", "--from", "/backup/$(BACKUP)", "--replace"]
    assert {"name": "BACKUP", "value": "NAME-OF-A-BACKUP"} in files["env"]


async def test_the_scripts_save_databases_and_put_them_back(postgres_server, tmp_path):
    server = await asyncpg.connect(postgres_server, ssl=False)
    urls = {name: f"{postgres_server.rsplit('/', 1)[0]}/backup_{name}" for name in SERVICES}
    scripts = BackupScripts(tmp_path, urls)
    backup = scripts.backups

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
        stale = backup / ".databases-old"
        stale.mkdir()
        os.utime(stale, (0, 0))
        done = scripts.run("backup", POD="one")
        assert done.returncode == 0, done.stderr
        (dumps,) = backup.glob(".databases-*")
        assert sorted(file.name for file in dumps.iterdir()) == sorted(DUMPS)
        assert {file.stat().st_mode & 0o777 for file in dumps.iterdir()} == {0o600}
        assert dumps.stat().st_mode & 0o777 == 0o700
        (backup / WHOLE).mkdir()
        dumps.rename(backup / WHOLE / "databases")
        for name in SERVICES:
            await execute(name, "UPDATE one SET word = 'later'")
        for of in ("", "NAME-OF-A-BACKUP"):
            done = scripts.run("restore-databases", BACKUP=of)
            assert (done.returncode, done.stderr.split(" in ")[0]) == (2, "no dump of identity")
        failed = scripts.run("backup", POD="two", PGSSLMODE="verify-full")
        assert failed.returncode != 0, "its TLS is verified"
        assert scripts.run("restore-databases", BACKUP=WHOLE, PGSSLMODE="verify-full").returncode != 0
        done = scripts.run("restore-databases", BACKUP=WHOLE)
        assert done.returncode == 0, done.stderr
        for name in SERVICES:
            assert [row["word"] for row in await execute(name, "SELECT word FROM one")] == [name]
        (backup / WHOLE / "databases" / "mail.dump").unlink()
        done = scripts.run("restore-databases", BACKUP=WHOLE)
        assert (done.returncode, done.stderr) == (0, ""), "a release without mail made that backup"
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        assert await execute("mail", tables) == []
        assert [row["word"] for row in await execute("hooks", "SELECT word FROM one")] == ["hooks"]
        (backup / WHOLE / "databases" / "hooks.dump").unlink()
        done = scripts.run("restore-databases", BACKUP=WHOLE)
        assert (done.returncode, done.stderr.split(" in ")[0]) == (2, "no dump of hooks")
    finally:
        for name in SERVICES:
            await server.execute(f"DROP DATABASE IF EXISTS backup_{name}")
        await server.close()
