"""What every pod must be: not root's, bounded, watched, fixed in its version; and no secret is written down."""

import re

import pytest
import yaml
from manifests import K8S, ROOT, containers, named, objects, pods
from sources_of_secrets import SECRET_NAMES, looks_secret

from ingot_contracts.topology import SERVICES

SOURCES = ("written", "dev", "production", "production-ingress")
every_source = pytest.mark.parametrize("source", SOURCES)
RUNS_FOR_EVER = ("Deployment", "StatefulSet")


@every_source
def test_pods_keep_the_restricted_standard(source):
    """Pod Security Standards, profile `restricted`, which the namespace enforces."""
    for name, pod in pods(objects(source)):
        spec = pod["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True, name
        assert context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        kinds = {next(key for key in volume if key != "name") for volume in spec.get("volumes", ())}
        assert kinds <= {"configMap", "emptyDir", "secret", "persistentVolumeClaim"}, name
    for name, container in containers(objects(source)):
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False, name
        assert context["capabilities"] == {"drop": ["ALL"]}, name
        assert "hostPort" not in str(container), name


@every_source
def test_the_root_is_read_only_and_no_token_is_mounted(source):
    for name, pod in pods(objects(source)):
        assert pod["spec"]["automountServiceAccountToken"] is False, name
        assert pod["spec"]["enableServiceLinks"] is False, name
    for name, container in containers(objects(source)):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
    for one in objects(source):
        if one["kind"] == "ServiceAccount":
            assert one["automountServiceAccountToken"] is False


@every_source
def test_requests_and_limits_are_set(source):
    for name, container in containers(objects(source)):
        resources = container["resources"]
        assert set(resources["requests"]) == set(resources["limits"]) == {"cpu", "memory"}, name


@every_source
def test_what_runs_for_ever_is_watched(source):
    for name, container in containers(objects(source)):
        if name.startswith(RUNS_FOR_EVER):
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container), name


@every_source
def test_images_have_a_fixed_version(source):
    for name, container in containers(objects(source)):
        _, colon, tag = container["image"].rpartition("/")[2].partition(":")
        assert colon, name
        assert tag not in ("", "latest"), name


@pytest.mark.parametrize("service", SERVICES)
def test_the_version_in_the_base_is_the_one_of_the_package(service):
    version = re.search(
        r'^version = "(.*)"$', (ROOT / "services" / service / "pyproject.toml").read_text(), re.MULTILINE
    )
    images = {
        container["image"]
        for _, container in containers(objects("written"))
        if container["image"].startswith(f"ingot/{service}:")
    }
    assert images == {f"ingot/{service}:{version[1]}"}


@pytest.mark.parametrize("service", [s for s in SERVICES if s != "gateway"])
def test_a_release_has_a_migration_of_its_own(service):
    """A Job cannot be changed: a new image under an old name would be refused."""
    (kustomization,) = [K8S / "overlays/production" / service / "kustomization.yaml"]
    tag = yaml.safe_load(kustomization.read_text())["images"][0]["newTag"]
    job = named(objects("production"), "Job", f"{service}-migrate-{tag}")
    assert job["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f"/{service}:{tag}")


@pytest.mark.parametrize("source", ["dev", "production"])
def test_running_requests_can_end_before_the_process_is_killed(source):
    found = objects(source)
    drain = int(named(found, "ConfigMap", "ingot")["data"]["INGOT_DRAIN_SECONDS"])
    for name, pod in pods(found):
        for container in pod["spec"]["containers"]:
            if (
                "/" in container["image"]
                and "ingot/" in container["image"]
                and name.startswith(RUNS_FOR_EVER)
            ):
                pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
                assert pause > 0, name
                assert pod["spec"]["terminationGracePeriodSeconds"] > pause + drain, name


@pytest.mark.parametrize("source", ["dev", "production"])
def test_a_disruption_takes_one_pod_at_a_time_and_pods_are_spread(source):
    found = objects(source)
    budgets = {
        tuple(sorted(one["spec"]["selector"]["matchLabels"].items()))
        for one in found
        if one["kind"] == "PodDisruptionBudget" and one["spec"]["maxUnavailable"] == 1
    }
    for one in found:
        if one["kind"] in RUNS_FOR_EVER and one["metadata"]["name"].split("-")[0] in SERVICES:
            selected = one["spec"]["selector"]["matchLabels"]
            assert tuple(sorted(selected.items())) in budgets, one["metadata"]["name"]
            spread = one["spec"]["template"]["spec"]["topologySpreadConstraints"]
            assert [s["labelSelector"]["matchLabels"] for s in spread] == [selected, selected]


@pytest.mark.parametrize("source", ["dev", "production"])
def test_requests_scale_and_a_shard_does_not(source):
    """Replicas of repos are shards; each must be named, or nobody finds what it holds."""
    targets = [
        (one["spec"]["scaleTargetRef"]["kind"], one["spec"]["scaleTargetRef"]["name"])
        for one in objects(source)
        if one["kind"] == "HorizontalPodAutoscaler"
    ]
    assert sorted(targets) == sorted(("Deployment", s) for s in SERVICES if s != "repos")
    shards = named(objects(source), "StatefulSet", "repos")["spec"]
    settings = (K8S / "base/repos/settings.env").read_text()
    (line,) = [line for line in settings.splitlines() if line.startswith("INGOT_REPOS_SHARDS=")]
    named_there = dict(entry.split("=") for entry in line.partition("=")[2].split(","))
    expected = {
        f"shard-{number}": f"http://repos-{number}.{shards['serviceName']}:8082"
        for number in range(shards["replicas"])
    }
    assert expected.items() <= named_there.items()


def test_no_secret_is_in_clear():
    """Neither an object, nor a file that an overlay reads: secrets come from outside, or from a folder git ignores."""
    assert not [one["metadata"]["name"] for one in objects("written") if one["kind"] == "Secret"]
    for file in [*K8S.rglob("*"), *(ROOT / "deploy/compose").rglob("*")]:
        if file.is_file() and "keys" not in file.relative_to(ROOT / "deploy").parts:
            telling = [line for line in file.read_text().splitlines() if looks_secret(line)]
            assert not telling, f"{file.name}: {telling}"


@every_source
def test_a_secret_variable_comes_from_a_secret(source):
    for name, container in containers(objects(source)):
        for variable in container.get("env", ()):
            if SECRET_NAMES.search(variable["name"]):
                assert "secretKeyRef" in variable.get("valueFrom", {}) or "$(" in variable["value"], name


@pytest.mark.parametrize(
    "line",
    [
        "INGOT_ISSUES_PRIVATE_KEY=Zm9vYmFyYmF6cXV4cXV1eGNvcmdlZ3JhdWx0Z2FycGx5",
        "password: hunter2",
        "  value: postgresql+asyncpg://issues:hunter2@issues-db-rw/issues",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_secret_in_clear_would_be_found(line):
    assert looks_secret(line)
