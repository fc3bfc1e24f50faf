"""NetworkPolicies allow only the calls of `ingot_contracts.topology` and the servers of a service."""

import ipaddress
import re
from collections import defaultdict

import pytest

from ingot_chassis.security.egress import NEVER
from ingot_contracts.topology import CALLS, SERVICES, SHARDED

from .manifests import Object, pods, rendered

INSTALLED = ("dev", "production")
every_overlay = pytest.mark.parametrize("overlay", INSTALLED)
Labels = dict[str, str]
REACHES = {name: {*CALLS[name], *({name} if name in SHARDED else ())} for name in SERVICES}
"""Whom a service calls, its own other shards among them."""


MONITORING = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
COLLECTOR = {"app.kubernetes.io/name": "otel-collector"}


def policies(overlay: str) -> list[Object]:
    return [one for one in rendered(f"overlays/{overlay}") if one["kind"] == "NetworkPolicy"]


def selects(selector: Object, labels: Labels) -> bool:
    """A label selector of Kubernetes; an empty one selects everything."""
    match_labels = selector.get("matchLabels", {})
    among = selector.get("matchExpressions", [])
    assert all(expression["operator"] == "In" for expression in among)
    return all(labels.get(key) == value for key, value in match_labels.items()) and all(
        labels.get(expression["key"]) in expression["values"] for expression in among
    )


def rules(overlay: str, labels: Labels, direction: str) -> list[Object]:
    """Every rule that holds for a pod with ``labels``; policies add up."""
    kind = direction.capitalize()
    return [
        rule
        for policy in policies(overlay)
        if kind in policy["spec"]["policyTypes"] and selects(policy["spec"]["podSelector"], labels)
        for rule in policy["spec"].get(direction, ())
    ]


def lets_through(rule: Object, peers: str, labels: Labels, port: object) -> bool:
    """Return True if ``rule`` admits a pod of this namespace with ``labels`` at ``port``."""
    ports = [entry["port"] for entry in rule.get("ports", ())]
    if ports and port not in ports:
        return False
    return peers not in rule or any(
        "namespaceSelector" not in peer and selects(peer["podSelector"], labels)
        for peer in rule[peers]
        if "podSelector" in peer
    )


def of(service: str, component: str = "serve") -> Labels:
    return {
        "app.kubernetes.io/name": service,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/part-of": "ingot",
    }


@every_overlay
def test_nothing_is_allowed_by_default(overlay):
    denied = [p for p in policies(overlay) if p["metadata"]["name"] == "default-deny"]
    assert [p["spec"] for p in denied] == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}]


@every_overlay
@pytest.mark.parametrize("component", ["serve", "work"])
@pytest.mark.parametrize("caller", SERVICES)
def test_a_service_reaches_the_services_it_calls_and_no_others(caller, component, overlay):
    reached = {
        called
        for called in SERVICES
        if any(
            lets_through(rule, "to", of(called), "http")
            for rule in rules(overlay, of(caller, component), "egress")
        )
    }
    assert reached == REACHES[caller]


@every_overlay
@pytest.mark.parametrize("called", SERVICES)
def test_a_service_is_reached_by_its_callers_and_no_others(called, overlay):
    reaching = {
        caller
        for caller in SERVICES
        if any(
            lets_through(rule, "from", of(caller), "http") for rule in rules(overlay, of(called), "ingress")
        )
    }
    everybody = set(SERVICES) if called == "gateway" else set()
    assert reaching == {caller for caller in SERVICES if called in REACHES[caller]} | everybody


@every_overlay
def test_the_ssh_server_is_reached_from_anywhere_and_reaches_repos_alone(overlay):
    own = of("ssh")
    reached = {
        called
        for called in (*SERVICES, "ssh")
        if any(lets_through(rule, "to", of(called), "http") for rule in rules(overlay, own, "egress"))
    }
    assert reached == {"repos"}
    assert any(lets_through(rule, "from", own, "http") for rule in rules(overlay, of("repos"), "ingress"))
    assert [rule for rule in rules(overlay, own, "ingress") if rule["ports"] == [{"port": "ssh"}]] == [
        {"ports": [{"port": "ssh"}]}
    ]
    for port in (5432, 4222, 6379):
        assert not any(lets_through(rule, "to", {}, port) for rule in rules(overlay, own, "egress"))


@every_overlay
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reaches_its_own_database_alone(service, overlay):
    databases = {
        name: {f"database-of-{name}": "true", "cnpg.io/cluster": f"{name}-db"}
        for name in SERVICES
        if name not in ("web", "gateway")
    }
    reached = {
        name
        for name, labels in databases.items()
        if any(lets_through(rule, "to", labels, 5432) for rule in rules(overlay, of(service), "egress"))
    }
    assert reached == {service} - {"web", "gateway"}
    if overlay == "production":
        answering = {
            name
            for name, labels in databases.items()
            if any(
                lets_through(rule, "from", of(service), 5432) for rule in rules(overlay, labels, "ingress")
            )
        }
        assert answering == reached


@every_overlay
@pytest.mark.parametrize("port", [4222, 6379])
def test_all_reach_nats_and_three_reach_redis(port, overlay):
    reaching = {
        service
        for service in SERVICES
        if any(
            port in [entry["port"] for entry in rule.get("ports", ())]
            for rule in rules(overlay, of(service), "egress")
        )
    }
    assert reaching == (set(SERVICES) - {"web"} if port == 4222 else {"identity", "web", "gateway"})


@pytest.mark.parametrize("overlay", ["production", "production-ingress"])
def test_every_process_sends_traces_and_gives_metrics_to_prometheus_alone(overlay):
    """Of all workloads that run Ingot, whatever they are called: one that a list forgets is found here."""
    manifests = rendered(f"overlays/{overlay}")
    collector = rules(overlay, COLLECTOR, "ingress")
    monitored = set()
    for workload, pod in pods(manifests):
        containers = [c for c in pod["spec"]["containers"] if "/ingot/" in c["image"]]
        if not containers or not workload.startswith(("Deployment", "StatefulSet")):
            continue
        labels = pod["metadata"]["labels"]
        assert any(lets_through(rule, "to", COLLECTOR, 4318) for rule in rules(overlay, labels, "egress")), (
            workload
        )
        assert any(lets_through(rule, "from", labels, 4318) for rule in collector), workload
        ingress, jobs = rules(overlay, labels, "ingress"), jobs_of(manifests, labels)
        for container in containers:
            (port,) = [p["name"] for p in container["ports"] if p["name"].endswith("metrics")]
            reaching = [rule for rule in ingress if {"port": port} in rule.get("ports", [{"port": port}])]
            assert [rule["from"] for rule in reaching] == [[MONITORING]], (workload, port)
            assert len(jobs[port]) == 1, (workload, port)
            monitored |= jobs[port]
    assert monitored == alerted(manifests)
    assert {
        "web",
        "ssh-metrics",
        "identity-work",
        "hooks-work",
        "issues-work",
        "mail-work",
        "repos-shards",
    } <= monitored


def jobs_of(manifests: list[Object], labels: Labels) -> dict[str, set[str]]:
    """Return the Prometheus jobs of a pod by port name: those of Services that a ServiceMonitor selects."""
    jobs: dict[str, set[str]] = defaultdict(set)
    for monitor in (one["spec"] for one in manifests if one["kind"] == "ServiceMonitor"):
        collected = {endpoint["port"] for endpoint in monitor["endpoints"]}
        for service in (one for one in manifests if one["kind"] == "Service"):
            if selects(monitor["selector"], service["metadata"].get("labels", {})) and selects(
                {"matchLabels": service["spec"]["selector"]}, labels
            ):
                for port in service["spec"]["ports"]:
                    if port["name"] in collected:
                        jobs[port["targetPort"]].add(service["metadata"]["name"])
    return jobs


def alerted(manifests: list[Object]) -> set[str]:
    """Return the jobs with an alert for the case that none of their processes answers."""
    return {
        job
        for one in manifests
        if one["kind"] == "PrometheusRule"
        for job in re.findall(r'absent\(up\{job="([^"]+)"\} == 1\)', str(one["spec"]))
    }


@every_overlay
@pytest.mark.parametrize("service", SERVICES)
def test_only_hooks_mail_and_mirrors_reach_the_internet_and_no_private_range(service, overlay):
    blocks = [
        (peer["ipBlock"], {entry["port"] for entry in rule["ports"]})
        for rule in rules(overlay, of(service), "egress")
        for peer in rule.get("to", ())
        if "ipBlock" in peer
    ]
    expected = {"hooks": {80, 443}, "mail": {25, 143, 443, 465, 587, 993}, "repos": {22, 80, 443, 9418}}
    if service not in expected:
        assert not blocks
        return
    assert {frozenset(ports) for _, ports in blocks} == {frozenset(expected[service])}
    for address in (
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("0.0.0.0", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
        *(
            "::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::1",
            "ff02::1",
        ),
    ):
        assert not any(_contains(block, address) for block, _ in blocks), address
    for network in NEVER:
        assert not any(_contains(block, str(network[0])) for block, _ in blocks), network
    for address in ("1.1.1.1", "93.184.216.34", "2606:4700::1111"):
        assert any(_contains(block, address) for block, _ in blocks), address


def _contains(block: Object, address: str) -> bool:
    inside = ipaddress.ip_address(address)

    def covers(network: str) -> bool:
        allowed_network = ipaddress.ip_network(network)
        return allowed_network.version == inside.version and inside in allowed_network

    return covers(block["cidr"]) and not any(covers(network) for network in block.get("except", ()))
