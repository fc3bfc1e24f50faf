"""Rules for pods: not root, bounded, monitored, with a fixed version; and no secret in the files."""

import hashlib
import json
import re
import socket
import subprocess
import sys

import pytest

from ingot_contracts.topology import SERVICES
from ingot_testing.non_empty import non_empty

from .manifests import K8S, ROOT, containers, named, objects, pods
from .sources_of_secrets import SECRET_NAMES, looks_secret

SOURCES = ("written", "dev", "production", "production-ingress")
every_source = pytest.mark.parametrize("source", SOURCES)
COMPONENT = "app.kubernetes.io/component"
RUNS_FOR_EVER = ("Deployment", "StatefulSet")


@every_source
def test_pods_keep_the_restricted_standard(source):
    """Pod Security Standards, profile `restricted`, which the namespace enforces."""
    for name, pod in non_empty(pods(objects(source))):
        spec = pod["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True, name
        assert context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        kinds = {next(key for key in volume if key != "name") for volume in spec.get("volumes", ())}
        assert kinds <= {"configMap", "emptyDir", "projected", "secret", "persistentVolumeClaim"}, name
    for name, container in non_empty(containers(objects(source))):
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False, name
        assert context["capabilities"] == {"drop": ["ALL"]}, name
        assert "hostPort" not in str(container), name


@every_source
def test_the_root_is_read_only_and_no_token_is_mounted(source):
    for name, pod in non_empty(pods(objects(source))):
        assert pod["spec"]["automountServiceAccountToken"] is False, name
        assert pod["spec"]["enableServiceLinks"] is False, name
    for name, container in non_empty(containers(objects(source))):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
    for one in non_empty(one for one in objects(source) if one["kind"] == "ServiceAccount"):
        assert one["automountServiceAccountToken"] is False


@every_source
def test_requests_and_limits_are_set(source):
    for name, container in non_empty(containers(objects(source))):
        resources = container["resources"]
        assert set(resources["requests"]) == set(resources["limits"]) == {"cpu", "memory"}, name


@every_source
def test_what_runs_for_ever_is_watched(source):
    for name, container in non_empty(containers(objects(source))):
        if name.startswith(RUNS_FOR_EVER):
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container), name


@every_source
def test_a_probe_that_starts_a_program_has_time_on_a_busy_node(source):
    """One second, the default, ended PostgreSQL at a load average of 40."""
    for name, container in non_empty(containers(objects(source))):
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if "exec" in container.get(probe, {}):
                assert container[probe].get("timeoutSeconds", 1) >= 5, name


@every_source
def test_images_have_a_fixed_version(source):
    for name, container in non_empty(containers(objects(source))):
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


@pytest.mark.parametrize("service", [s for s in SERVICES if s not in ("web", "gateway")])
def test_a_migration_is_named_by_what_it_runs(service):
    """A Job cannot be changed: a new image under an old name would be refused."""
    (job,) = (
        one
        for one in objects("production")
        if one["kind"] == "Job" and one["metadata"]["name"].startswith(f"{service}-migrate-")
    )
    assert job["metadata"]["name"] == f"{service}-migrate-{digest(job['spec'])}", "run tools/name_jobs.py"


def test_a_change_of_the_shared_settings_makes_new_pods():
    """The name of their ConfigMap stays, so it is the template that must change."""
    for source in ("dev", "production"):
        manifests = objects(source)
        settings = named(manifests, "ConfigMap", "ingot")["data"]
        sums = {"dev": settings, "production": {"checksum/settings": digest(settings)}}
        for name, pod in non_empty(pods(manifests)):
            is_reader = name.startswith("Deployment") and "ingot/" in pod["spec"]["containers"][0]["image"]
            annotations = pod["metadata"].get("annotations")
            assert annotations == (sums[source] if is_reader else None), f"{name}: run tools/name_jobs.py"


def digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


@pytest.mark.parametrize("source", ["dev", "production"])
def test_running_requests_can_end_before_the_process_is_killed(source):
    manifests = objects(source)
    settings = named(manifests, "ConfigMap", "ingot")["data"]
    handover, limit, drain = (
        int(settings[f"INGOT_{name}_SECONDS"]) for name in ("HANDOVER", "HANDOVER_LIMIT", "DRAIN")
    )
    assert 0 < handover < limit  # balancers need a moment to forget a pod, and another pod longer to start
    for name, pod in non_empty(pods(manifests)):
        for container in pod["spec"]["containers"]:
            if (
                "/" in container["image"]
                and "ingot/" in container["image"]
                and name.startswith(RUNS_FOR_EVER)
            ):
                assert pod["spec"]["terminationGracePeriodSeconds"] > limit + drain, name
                stops_late = "preStop" in container.get("lifecycle", {})
                assert stops_late is (container is not pod["spec"]["containers"][0]), name


@pytest.mark.parametrize("source", ["dev", "production"])
def test_the_work_of_a_shard_ends_when_its_pod_listens_no_more(source):
    """Until then the pod counts as one that serves, for want of another one."""
    spec = named(objects(source), "Deployment", "repos-0")["spec"]["template"]["spec"]
    serve, work = spec["containers"]
    _, port = work["lifecycle"]["preStop"]["exec"]["command"][2].split('"127.0.0.1", ')
    assert int(port.partition(")")[0]) == serve["ports"][0]["containerPort"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        script = work["lifecycle"]["preStop"]["exec"]["command"][2].replace(
            "8082", str(listener.getsockname()[1])
        )
        waiting = subprocess.Popen([sys.executable, "-c", script])
        listener.accept()[0].close()
        listener.accept()[0].close()
        assert waiting.poll() is None
    assert waiting.wait(30) == 0


@pytest.mark.parametrize("source", ["dev", "production"])
def test_a_disruption_takes_one_pod_at_a_time_and_pods_are_spread(source):
    manifests = objects(source)
    budgets = {
        tuple(sorted(one["spec"]["selector"]["matchLabels"].items()))
        for one in manifests
        if one["kind"] == "PodDisruptionBudget" and one["spec"]["maxUnavailable"] == 1
    }
    for one in non_empty(manifests):
        if one["kind"] in RUNS_FOR_EVER and one["metadata"]["name"].split("-")[0] in SERVICES:
            selected = {
                label: value
                for label, value in one["spec"]["selector"]["matchLabels"].items()
                if label != "ingot-shard"
            }
            assert tuple(sorted(selected.items())) in budgets, one["metadata"]["name"]
            spread = one["spec"]["template"]["spec"]["topologySpreadConstraints"]
            affinity = one["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
            (zones,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
            terms = [*spread, zones["podAffinityTerm"]]
            assert [term["labelSelector"]["matchLabels"] for term in terms] == [selected, selected]
            # A node that lacks the label of one constraint counts for none of them, and not every cluster has zones.
            topologies = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
            assert [term["topologyKey"] for term in terms] == topologies
            # Spread the pods of one release. Otherwise all new pods of a rolling update may be on one node.
            keys = [] if selected["app.kubernetes.io/name"] == "repos" else ["pod-template-hash"]
            assert [term.get("matchLabelKeys", []) for term in terms] == [keys, keys]


@pytest.mark.parametrize("source", ["dev", "production"])
def test_requests_scale_and_a_shard_does_not(source):
    """A shard is a Deployment of one pod with a volume and a name. Without a name, its repositories are not
    found."""
    manifests = objects(source)
    targets = [
        (one["spec"]["scaleTargetRef"]["kind"], one["spec"]["scaleTargetRef"]["name"])
        for one in manifests
        if one["kind"] == "HorizontalPodAutoscaler"
    ]
    assert sorted(targets) == sorted(("Deployment", s) for s in SERVICES if s != "repos")
    settings = (K8S / "base/repos/settings.env").read_text()
    (line,) = [line for line in settings.splitlines() if line.startswith("INGOT_REPOS_SHARDS=")]
    shards = dict(entry.split("=") for entry in line.partition("=")[2].split(","))
    numbers = shard_numbers(manifests)
    assert numbers == list(range(1 if source == "dev" else 2))
    for number in numbers:
        name, label = f"repos-{number}", {"ingot-shard": f"shard-{number}"}
        assert shards[f"shard-{number}"] == f"http://{name}:8082"
        spec = named(manifests, "Deployment", name)["spec"]
        pod = spec["template"]
        assert spec["replicas"] == 1
        labels = spec["selector"]["matchLabels"]
        assert label.items() <= labels.items()
        assert label.items() <= pod["metadata"]["labels"].items()
        assert label.items() <= named(manifests, "Service", name)["spec"]["selector"].items()
        (claim,) = [v["persistentVolumeClaim"] for v in pod["spec"]["volumes"] if v["name"] == "storage"]
        assert named(manifests, "PersistentVolumeClaim", claim["claimName"])
        # The new pod goes to the node of the old one, where the volume is. The scheduler retries when the old
        # pod ends.
        for kind, topology in (
            ("podAffinity", "kubernetes.io/hostname"),
            ("podAntiAffinity", "ingot-no-node"),
        ):
            (term,) = pod["spec"]["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert (term["topologyKey"], term["matchLabelKeys"]) == (topology, ["ingot-shard"])
            assert term["labelSelector"]["matchLabels"] | label == labels


def shard_numbers(manifests):
    return sorted(
        int(one["metadata"]["name"].removeprefix("repos-"))
        for one in manifests
        if one["kind"] == "Deployment" and one["metadata"]["name"].startswith("repos-")
    )


@pytest.mark.parametrize("source", ["dev", "production"])
def test_a_new_pod_is_ready_before_the_old_one_ends(source):
    for one in non_empty(objects(source)):
        if one["kind"] == "Deployment" and one["metadata"].get("labels", {}).get(COMPONENT) == "serve":
            assert one["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


def test_a_rolling_update_of_dev_finds_room_on_two_cores():
    requested = sum(
        int(container["resources"]["requests"]["cpu"].removesuffix("m"))
        for name, container in containers(objects("dev"))
        if not name.startswith("Job")
    )
    assert requested <= 800


def test_no_secret_is_in_clear():
    """No object and no file of an overlay has a secret. They come from outside, or from a folder that git
    ignores."""
    assert not [one["metadata"]["name"] for one in objects("written") if one["kind"] == "Secret"]
    for file in [*K8S.rglob("*"), *(ROOT / "deploy/compose").rglob("*")]:
        if file.is_file() and "keys" not in file.relative_to(ROOT / "deploy").parts:
            telling = [line for line in file.read_text().splitlines() if looks_secret(line)]
            assert not telling, f"{file.name}: {telling}"


@every_source
def test_a_secret_variable_comes_from_a_secret(source):
    variables = [(n, one) for n, container in containers(objects(source)) for one in container.get("env", ())]
    for name, variable in non_empty(each for each in variables if SECRET_NAMES.search(each[1]["name"])):
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
