"""The requests and limits of processes in docs/how-to/kubernetes.md are those of the manifests."""

import re

import pytest

from .manifests import ROOT, Object, rendered

TEXT = " ".join((ROOT / "docs/how-to/kubernetes.md").read_text().split())
ROW = re.compile(r"\| ([a-z0-9-]+)(, its work)? \| (\d+) MiB \| (\d+) MiB")
MIB = {"Mi": 1, "Gi": 1024}


def cores(amount: str) -> float:
    return int(amount[:-1]) / 1000 if amount.endswith("m") else float(amount)


def mib(amount: str) -> int:
    return int(amount[:-2]) * MIB[amount[-2:]]


def memory_of(container: Object) -> tuple[int, int]:
    resources = container["resources"]
    return mib(resources["requests"]["memory"]), mib(resources["limits"]["memory"])


def scaled(objects: list[Object]) -> dict[str, int]:
    """The least number of pods of what an autoscaler sees to."""
    least = {"HorizontalPodAutoscaler": "minReplicas", "ScaledObject": "minReplicaCount"}
    return {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"][least[one["kind"]]]
        for one in objects
        if one["kind"] in least
    }


def requested(objects: list[Object]) -> str:
    """By all pods that run for ever."""
    pods, sums = scaled(objects), [0.0, 0.0]
    for one in objects:
        if one["kind"] in ("Deployment", "StatefulSet"):
            spec = one["spec"]
            count = spec["replicas"] if "replicas" in spec else pods[one["metadata"]["name"]]
            for container in spec["template"]["spec"]["containers"]:
                requests = container["resources"]["requests"]
                sums[0] += count * cores(requests["cpu"])
                sums[1] += count * mib(requests["memory"])
    return f"{sums[0]:.1f} cores and {sums[1] / 1024:.1f} GiB"


def test_the_memory_of_each_process_is_as_documented():
    objects = rendered("overlays/dev")
    documented = {(name, bool(work)): (int(low), int(most)) for name, work, low, most in ROW.findall(TEXT)}
    servers = {"postgresql", "nats", "redis"}
    processes = {
        (one["metadata"]["name"], bool(number)): memory_of(container)
        for one in objects
        if one["kind"] == "Deployment" and one["metadata"]["name"] not in servers
        for number, container in enumerate(one["spec"]["template"]["spec"]["containers"])
    }
    assert documented == processes


@pytest.mark.parametrize(
    ("overlay", "sentence"),
    [
        ("dev", "`overlays/dev` requests {}, its servers included"),
        ("production", "with two of everything, {} for Ingot and its collector"),
    ],
)
def test_what_an_overlay_requests_is_as_documented(overlay, sentence):
    assert sentence.format(requested(rendered(f"overlays/{overlay}"))) in TEXT


def test_what_postgresql_requests_in_production_is_as_documented():
    objects = rendered("overlays/production")
    clusters = [one["spec"] for one in objects if one["kind"] == "Cluster"]
    sums = [
        (spec["instances"] * cores(requests["cpu"]), spec["instances"] * mib(requests["memory"]) / 1024)
        for spec in clusters
        for requests in [spec["resources"]["requests"]]
    ]
    total = f"{sum(one for one, _ in sums):.1f} cores and {sum(one for _, one in sums):.1f} GiB"
    assert f"It requests {total} for fifteen instances of PostgreSQL" in TEXT
    assert sum(spec["instances"] for spec in clusters) == 15
