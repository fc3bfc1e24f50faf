"""Names, ports and variables in the manifests are those that the code of the services declares."""

import importlib
import re
from urllib.parse import urlsplit

import pytest
import yaml

from ingot_chassis.events.envelope import stream_of
from ingot_chassis.http.server import METRICS_DISTANCE
from ingot_chassis.settings import ServiceSettings, load, variables
from ingot_contracts.topology import CALLS, CONSUMES, SERVICES
from ingot_testing.non_empty import non_empty

from .manifests import ROOT, Object, containers, named, rendered, written

INSTALLED = ("dev", "production")
WITH_DATABASE = [s for s in SERVICES if s not in ("web", "gateway")]
REFUSED_SERVERS = {"hooks": "INGOT_HOOKS_REFUSED_TARGETS", "repos": "INGOT_REPOS_REFUSED_REMOTES"}
OTHERS = {"DATABASE_USER", "DATABASE_PASSWORD", "PGSSLMODE", "PGSSLROOTCERT"}
"""Variables that are no settings: parts of others, and what the driver of PostgreSQL reads."""

FROM_THE_OPERATOR = {
    f"{s}-db-app": {"username": s, "password": "made-by-the-operator"} for s in WITH_DATABASE
}


def settings_of(service: str) -> type[ServiceSettings]:
    return importlib.import_module(f"ingot_{service}.settings").Settings


def secret(manifests: list[Object], name: str) -> dict[str, str]:
    """Return the keys of a Secret with some values.

    ExternalSecrets name their keys; the operator of PostgreSQL creates its own.
    """
    for one in manifests:
        if one["kind"] == "Secret" and one["metadata"]["name"] == name:
            return dict.fromkeys(one["data"], "x")
        if one["kind"] == "ExternalSecret" and one["spec"]["target"]["name"] == name:
            return {entry["secretKey"]: "x" for entry in one["spec"]["data"]}
    return FROM_THE_OPERATOR[name]


def environment(manifests: list[Object], container: Object) -> dict[str, str]:
    """Return the environment of the process, filled in the order of Kubernetes."""
    filled: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            filled |= named(manifests, "ConfigMap", source["configMapRef"]["name"])["data"]
        else:
            filled |= secret(manifests, source["secretRef"]["name"])
    own: dict[str, str] = {}
    for variable in container.get("env", ()):
        name = variable["name"]
        if "value" in variable:
            own[name] = re.sub(r"\$\((\w+)\)", lambda match: own[match[1]], variable["value"])
        elif "secretKeyRef" in variable["valueFrom"]:
            reference = variable["valueFrom"]["secretKeyRef"]
            own[name] = secret(manifests, reference["name"])[reference["key"]]
        else:
            assert variable["valueFrom"]["fieldRef"]["fieldPath"].endswith("ingot-shard']")
            own[name] = "shard-0"
    return filled | own


def of_service(manifests: list[Object], service: str) -> list[tuple[str, Object]]:
    """Its processes, without the SSH server, which has no database and serves no HTTP."""
    return [
        (n, c)
        for n, c in containers(manifests)
        if re.search(rf"(^|/)ingot/{service}:", c["image"]) and c["args"] != ["ssh"]
    ]


@pytest.mark.parametrize("overlay", INSTALLED)
@pytest.mark.parametrize("service", SERVICES)
def test_every_variable_is_a_setting_and_every_value_can_be_read(service, overlay):
    manifests = rendered(f"overlays/{overlay}")
    settings_names = {variable.name for variable in variables(settings_of(service), service)}
    for name, container in non_empty(of_service(manifests, service)):
        values = environment(manifests, container)
        assert not set(values) - settings_names - OTHERS - {"INGOT_STORE_URL"}, name
        if container["args"] == ["migrate"]:
            assert values[f"INGOT_{service.upper()}_DATABASE_URL"]
            continue
        if "INGOT_PUBLIC_KEYS" in values:
            values["INGOT_PUBLIC_KEYS"] = "gateway=x"
        settings = load(settings_of(service), service, values)
        assert settings.private_key, name
        assert settings.public_keys, name
        assert settings.host == "0.0.0.0", name
        assert settings.background is (service not in WITH_DATABASE), name
        assert bool(settings.database_url) is (service in WITH_DATABASE), name
        if hasattr(settings, "sealing_key"):
            assert settings.sealing_key, name


@pytest.mark.parametrize("overlay", INSTALLED)
def test_every_service_knows_whether_mail_has_an_smtp_server(overlay):
    manifests = rendered(f"overlays/{overlay}")
    values = {s: [environment(manifests, c) for _, c in of_service(manifests, s)] for s in SERVICES}
    has_server = {bool(one.get("INGOT_MAIL_SMTP_HOST")) for one in values["mail"] if "INGOT_MAIL_HOST" in one}
    sent = {one["INGOT_SENDS_MAIL"] == "true" for of in values.values() for one in non_empty(of)}
    assert sent == has_server == {overlay == "production"}


@pytest.mark.parametrize("overlay", INSTALLED)
def test_the_ssh_server_finds_repos_and_knows_no_other_secret(overlay):
    manifests = rendered(f"overlays/{overlay}")
    ((_, container),) = [(n, c) for n, c in containers(manifests) if c.get("args") == ["ssh"]]
    values = environment(manifests, container)
    settings_names = {variable.name for variable in variables(settings_of("repos"), "repos")}
    assert not set(values) - settings_names - OTHERS - {"INGOT_STORE_URL"}
    settings = load(settings_of("repos"), "repos", values)
    assert settings.private_key
    assert {settings.database_url, settings.sealing_key, settings.storage_root} == {""}
    url = urlsplit(settings.ssh_upstream)
    assert (url.hostname, url.port) == (
        "repos",
        named(manifests, "Service", "repos")["spec"]["ports"][0]["port"],
    )
    ssh, metrics = container["ports"]
    assert ssh["containerPort"] == settings.ssh_listen_port
    assert metrics["containerPort"] == settings.ssh_listen_port + METRICS_DISTANCE
    assert (settings.ssh_listen_host, settings.metrics_host) == ("0.0.0.0", "0.0.0.0")
    (port,) = named(manifests, "Service", "ssh")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (22, ssh["name"])


@pytest.mark.parametrize("overlay", INSTALLED)
@pytest.mark.parametrize("service", SERVICES)
def test_each_process_listens_where_its_service_sends(service, overlay):
    manifests = rendered(f"overlays/{overlay}")
    for name, container in non_empty(of_service(manifests, service)):
        if container["args"] == ["migrate"]:
            continue
        values = environment(manifests, container) | {"INGOT_PUBLIC_KEYS": ""}
        settings = load(settings_of(service), service, values)
        port, metrics = container["ports"]
        assert port["containerPort"] == settings.port, name
        assert metrics["containerPort"] == settings.port + METRICS_DISTANCE, name
        assert settings.metrics_host == "0.0.0.0", name
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] == port["name"], name
    offered, metrics = named(manifests, "Service", service)["spec"]["ports"]
    assert offered["port"] == settings_of(service)().port
    assert metrics["port"] == offered["port"] + METRICS_DISTANCE


@pytest.mark.parametrize("overlay", INSTALLED)
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_finds_the_services_it_calls(service, overlay):
    manifests = rendered(f"overlays/{overlay}")
    for name, container in non_empty(of_service(manifests, service)):
        if container["args"] == ["migrate"]:
            continue
        values = environment(manifests, container)
        for called in CALLS[service]:
            url = urlsplit(values[f"INGOT_{service.upper()}_{called.upper()}_URL"])
            port, _metrics = named(manifests, "Service", called)["spec"]["ports"]
            assert (url.hostname, url.port) == (called, port["port"]), name


@pytest.mark.parametrize(("service", "setting"), REFUSED_SERVERS.items())
def test_whoever_sends_outside_refuses_every_port_of_ingot_that_its_settings_do_not_name(service, setting):
    """Services of single shards are excepted, because the operator chooses their number. Network policies
    cover them."""
    file = ROOT / "deploy" / "k8s" / "base" / service / "settings.env"
    settings = dict(line.split("=", 1) for line in file.read_text().splitlines())
    own_servers = {
        urlsplit(settings[f"INGOT_{service.upper()}_{called.upper()}_URL"]).netloc
        for called in CALLS[service]
    }
    servers = {
        f"{one['metadata']['name']}:{port['port']}"
        for one in written()
        if one["kind"] == "Service" and "app.kubernetes.io/component" in one["metadata"].get("labels", ())
        for port in one["spec"]["ports"]
        if "ingot-shard" not in one["spec"]["selector"]
    }
    assert {*settings[setting].split(",")} == servers - own_servers


@pytest.mark.parametrize("overlay", INSTALLED)
@pytest.mark.parametrize("service", WITH_DATABASE)
def test_a_service_finds_its_database_and_no_other(service, overlay):
    manifests = rendered(f"overlays/{overlay}")
    for _, container in non_empty(of_service(manifests, service)):
        url = urlsplit(environment(manifests, container)[f"INGOT_{service.upper()}_DATABASE_URL"])
        assert (url.scheme, url.hostname, url.port, url.path) == (
            "postgresql+asyncpg",
            f"{service}-db-rw",
            5432,
            f"/{service}",
        )
    if overlay == "production":
        cluster = named(manifests, "Cluster", f"{service}-db")
        assert cluster["spec"]["bootstrap"]["initdb"] == {"database": service, "owner": service}
    else:
        assert named(manifests, "Service", f"{service}-db-rw")


@pytest.mark.parametrize("overlay", INSTALLED)
def test_every_service_is_there_with_its_commands(overlay):
    manifests = rendered(f"overlays/{overlay}")
    for service in SERVICES:
        commands = sorted({container["args"][0] for _, container in of_service(manifests, service)})
        assert commands == (["migrate", "serve", "work"] if service in WITH_DATABASE else ["serve"])


def of_shard(deployment: Object) -> bool:
    return "ingot-shard" in deployment["spec"]["selector"]["matchLabels"]


def most_processes(manifests: list[Object], service: str) -> int:
    """Return the largest number of connected processes of a service."""
    if service == "repos":
        shards = [one for one in manifests if one["kind"] == "Deployment" and of_shard(one)]
        # Twice, since the new pod of a shard starts before the old one ends.
        return sum(2 * len(one["spec"]["template"]["spec"]["containers"]) for one in shards)
    serving = [
        one["spec"]["maxReplicas"]
        for one in manifests
        if one["kind"] == "HorizontalPodAutoscaler" and one["metadata"]["name"] == service
    ]
    scaled = [
        one["spec"]["maxReplicaCount"]
        for one in manifests
        if one["kind"] == "ScaledObject" and one["metadata"]["name"] == f"{service}-work"
    ]
    return max(serving, default=1) + max(scaled, default=2)


def most_connections(service: str) -> int:
    """Of one process: twice the pool, and the connections that hold locks."""
    return 2 * settings_of(service)().database_pool + 22


def test_the_connections_of_all_processes_fit_into_the_databases_of_production():
    manifests = rendered("overlays/production")
    for service in WITH_DATABASE:
        allowed = named(manifests, "Cluster", f"{service}-db")["spec"]["postgresql"]["parameters"]
        connections = most_processes(manifests, service) * most_connections(service)
        assert connections <= int(allowed["max_connections"]), service


def test_the_connections_of_all_services_fit_into_the_one_postgresql():
    dev = rendered("overlays/dev")
    (server,) = named(dev, "StatefulSet", "postgresql")["spec"]["template"]["spec"]["containers"]
    assert server["args"] == ["-c", "max_connections=440"]
    # 440 times 2 MiB, and 128 MiB that they share: killed for want of memory it takes all services with it.
    assert server["resources"]["limits"]["memory"] == "1Gi"
    # Two processes each; the autoscalers of dev have nothing to read that would make more of them.
    assert sum(2 * most_connections(service) for service in WITH_DATABASE) <= 440
    compose = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text())
    assert compose["services"]["postgresql"]["command"] == ["-c", "max_connections=440"]
    assert compose["services"]["postgresql"]["mem_limit"] == "1g"


@pytest.mark.parametrize("service", ["issues", "hooks", "mail"])
def test_workers_scale_by_the_streams_that_they_consume(service):
    triggers = named(rendered("overlays/production"), "ScaledObject", f"{service}-work")["spec"]["triggers"]
    streams = {
        (trigger["metadata"]["stream"], trigger["metadata"]["consumer"])
        for trigger in triggers
        if trigger["type"] == "nats-jetstream"
    }
    assert streams == {(stream_of(emitter), service) for emitter in CONSUMES[service]}


@pytest.mark.parametrize("overlay", INSTALLED)
def test_everything_goes_into_another_namespace_by_one_line_of_kustomization(overlay):
    """As docs/how-to/kubernetes.md says: a kustomization of one's own whose resource is the overlay."""
    moved = rendered(
        f"overlays/forge-{overlay}", kustomization=f"resources: [../{overlay}]\nnamespace: forge\n"
    )
    names = {one["metadata"].get("namespace") for one in moved if one["kind"] != "Namespace"}
    assert names == {"forge"}
    assert [one["metadata"]["name"] for one in moved if one["kind"] == "Namespace"] == ["forge"]
    assert len(moved) == len(rendered(f"overlays/{overlay}"))
    hosts = {urlsplit(url).hostname for url in re.findall(r"\w+://[^\s\"',]+", yaml.safe_dump_all(moved))}
    assert not [host for host in hosts if host and re.search(r"\.ingot(\.|$)", host)], (
        "a URL names the old namespace"
    )
