"""The Helm chart is what the tool makes of the Kustomize bases, and renders to the same objects."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingot_testing.non_empty import non_empty

from .manifests import ROOT, Object, containers, documents, named, renderer

sys.path.insert(0, str(ROOT / "tools"))
import helm_chart

if not renderer():
    pytest.skip("nothing here renders: install kustomize or kubectl", allow_module_level=True)


def helm() -> str:
    built = ROOT / ".tools" / "helm"
    program = shutil.which("helm") or (str(built) if built.exists() else "")
    if not program:
        pytest.skip("needs helm on PATH, or `make helm`")
    return program


@cache
def charted(*values: str) -> list[Object]:
    """Return the output of the chart with these values."""
    sets = [part for value in values for part in ("--set", value)]
    command = [helm(), "template", "ingot", str(helm_chart.CHART), "--kube-version", "1.33.0", *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def plain(one: Any) -> Any:
    """An object without what the chart adds to it: empty values, checksums, and hashes in names of Jobs."""
    if isinstance(one, dict):
        dropped = ("checksum/settings", "helm.sh/resource-policy")
        fields = {key: plain(value) for key, value in one.items() if key not in dropped}
        return {key: value for key, value in fields.items() if value not in (None, [], {})}
    if isinstance(one, list):
        return [plain(entry) for entry in one]
    return re.sub(r"^(\w+-migrate)-[0-9a-f]{10}$", r"\1", one) if isinstance(one, str) else one


def by_name(objects: list[Object]) -> dict[tuple[str, str], Any]:
    plains = [plain(one) for one in objects]
    return {(one["kind"], one["metadata"]["name"]): one for one in plains}


def test_the_chart_is_what_the_tool_writes():
    for path, text in non_empty(helm_chart.files().items()):
        assert (helm_chart.CHART / path).read_text() == text, f"run tools/helm_chart.py: {path}"


def test_the_chart_renders_to_the_objects_of_the_bases():
    expected, actual = by_name(helm_chart.source()), by_name(charted("backup.enabled=true"))
    for objects in (expected, actual):  # the base names a shard more than it has
        objects["ConfigMap", "repos"]["data"].pop("INGOT_REPOS_SHARDS")
    assert set(actual) == set(expected)
    for name, one in expected.items():
        assert actual[name] == one


def test_images_come_from_the_registry_that_is_named():
    objects = charted(
        "image.registry=registry.example.org/", "image.tag=1.2.3", "image.pullSecrets[0].name=registry"
    )
    images = {container["image"] for _, container in containers(objects)}
    own = {image for image in images if "ingot/" in image}
    assert len(own) == 6
    assert all(image.startswith("registry.example.org/ingot/") and image.endswith(":1.2.3") for image in own)
    pod = named(objects, "Deployment", "gateway")["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]


def test_each_shard_has_its_pod_its_volume_and_its_name():
    objects = charted("repos.shards=3", "repos.storage=500Gi", "storageClass=fast")
    settings = named(objects, "ConfigMap", "repos")["data"]["INGOT_REPOS_SHARDS"]
    assert settings.split(",") == [f"shard-{n}=http://repos-{n}:8082" for n in range(3)]
    for n in range(3):
        claim = named(objects, "PersistentVolumeClaim", f"storage-repos-{n}")["spec"]
        assert (claim["resources"]["requests"]["storage"], claim["storageClassName"]) == ("500Gi", "fast")
        selector = named(objects, "Deployment", f"repos-{n}")["spec"]["selector"]["matchLabels"]
        assert selector["ingot-shard"] == f"shard-{n}"


def test_a_volume_names_a_class_only_where_a_value_does():
    """The API server fills in the default one, and refuses an upgrade that says null in its place."""

    def classes(*values: str) -> list[Any]:
        return [
            claim["spec"].get("storageClassName", "none")
            for one in charted("backup.enabled=true", *values)
            for claim in helm_chart.claims_of(one)
        ]

    assert set(classes()) == {"none"}
    assert set(classes("storageClass=fast")) == {"fast"}


def test_git_and_backups_stay_when_the_chart_is_uninstalled():
    objects = charted("backup.enabled=true", "repos.shards=2")
    claims = [one["metadata"] for one in objects if one["kind"] == "PersistentVolumeClaim"]
    assert {claim["name"] for claim in claims} == {
        "storage-repos-0", "storage-repos-1", "backup-0", "backup-1",
    }  # fmt: skip
    assert {claim["annotations"]["helm.sh/resource-policy"] for claim in claims} == {"keep"}


def test_servers_of_ones_own_take_the_place_of_the_bundled_ones():
    objects = charted(
        "postgresql.bundled=false", "postgresql.host=db.example.org", "nats.bundled=false",
        "redis.bundled=false", "external.networks={10.1.0.0/16}", "backup.enabled=true",
    )  # fmt: skip
    names = {one["metadata"]["name"] for one in objects}
    assert not {"postgresql", "nats", "redis", "to-nats", "identity-db-rw"} & names
    (container,) = named(objects, "Deployment", "identity")["spec"]["template"]["spec"]["containers"]
    url = next(v["value"] for v in container["env"] if v["name"] == "INGOT_IDENTITY_DATABASE_URL")
    assert url.endswith("@db.example.org:5432/identity")
    assert not [c for _, c in containers(objects) if "-db-rw" in str(c.get("env"))]
    dumps = {name: c["env"] for name, c in containers(objects) if name.endswith("-0 databases")}
    assert set(dumps) == {"CronJob backup-0 databases", "CronJob restore-databases-0 databases"}
    assert all({"name": "DATABASE_HOST", "value": "db.example.org"} in env for env in dumps.values())
    (rule,) = named(objects, "NetworkPolicy", "to-external-servers")["spec"]["egress"]
    assert rule["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]


def test_a_changed_setting_makes_new_pods_and_a_changed_image_a_new_migration():
    def fingerprint(objects: list[Object]) -> tuple[str, str]:
        pod = named(objects, "Deployment", "issues")["spec"]["template"]["metadata"]
        (job,) = [
            o["metadata"]["name"] for o in objects if o["metadata"]["name"].startswith("issues-migrate")
        ]
        return pod["annotations"]["checksum/settings"], job

    before = fingerprint(charted())
    settings = fingerprint(charted("settings.INGOT_LOG_LEVEL=debug"))
    image = fingerprint(charted("image.tag=9.9.9"))
    assert settings[0] != before[0]
    assert settings[1] == before[1]
    assert image[1] != before[1]


def test_a_changed_setting_leaves_the_bundled_servers_alone():
    def servers(*values: str) -> list[Object]:
        kinds = [("StatefulSet", "postgresql"), ("StatefulSet", "nats"), ("Deployment", "redis")]
        return [named(charted(*values), kind, name) for kind, name in kinds]

    assert servers("settings.INGOT_LOG_LEVEL=debug") == servers()


def test_one_value_gives_mail_its_server_and_tells_all_services():
    objects = charted("mail.smtpHost=smtp.example.org", "mail.settings.INGOT_MAIL_SMTP_SECURITY=tls")
    mail, shared = (named(objects, "ConfigMap", name)["data"] for name in ("mail", "ingot"))
    assert shared["INGOT_SENDS_MAIL"] == "true"
    assert (mail["INGOT_MAIL_SMTP_HOST"], mail["INGOT_MAIL_SMTP_SECURITY"]) == ("smtp.example.org", "tls")


def test_backups_are_there_on_request_and_of_each_shard():
    assert not [one for one in charted() if "backup" in one["metadata"]["name"]]
    objects = charted("backup.enabled=true", "backup.schedule=30 4 * * *", "repos.shards=2")
    for n in range(2):
        spec = named(objects, "CronJob", f"backup-{n}")["spec"]
        assert spec["schedule"] == "30 4 * * *"
        volumes = spec["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
        claims = [v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v]
        assert claims == [f"storage-repos-{n}", f"backup-{n}"]
        assert named(objects, "CronJob", f"restore-{n}")["spec"]["suspend"] is True


def test_the_entrance_is_there_on_request():
    assert not [one for one in charted() if one["kind"] == "Ingress"]
    objects = charted("ingress.enabled=true", "ingress.host=git.acme.test", "ingress.tlsSecret=tls")
    spec = named(objects, "Ingress", "ingot")["spec"]
    assert spec["tls"] == [{"hosts": ["git.acme.test"], "secretName": "tls"}]
    assert spec["rules"][0]["host"] == "git.acme.test"


def test_the_version_of_the_chart_is_that_of_the_images():
    chart = yaml.safe_load((helm_chart.CHART / "Chart.yaml").read_text())
    written = documents((ROOT / "deploy/k8s/base/gateway/serve.yaml").read_text())
    (deployment,) = [one for one in written if one["kind"] == "Deployment"]
    assert (
        deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        == f"ingot/gateway:{chart['appVersion']}"
    )
    assert Path(helm_chart.CHART / "own-values.yaml").exists()
