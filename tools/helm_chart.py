"""Write the Helm chart in deploy/helm/ingot from the Kustomize bases: `python tools/helm_chart.py`.

The chart renders the bases, the bundled servers and backups, as overlays/dev without its patches. Values that
an operator may change become expressions. It needs kustomize or kubectl. tests/deploy/test_helm.py compares
both.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
CHART = ROOT / "deploy" / "helm" / "ingot"
SHARD = re.compile(r"\b(repos|shard|backup|restore|restore-databases)-0\b")
BUNDLED = ("postgresql", "nats", "redis")
PROGRAMS = ("identity", "repos", "ssh", "issues", "hooks", "mail", "web", "gateway")
HEADER = "# Written by tools/helm_chart.py from deploy/k8s; change it there.\n"
Object = dict[str, Any]


def source() -> list[Object]:
    """The objects of the bases and the bundled servers, with names that do not depend on their content."""
    with tempfile.TemporaryDirectory() as folder:
        k8s = Path(folder) / "k8s"
        shutil.copytree(ROOT / "deploy" / "k8s", k8s, ignore=shutil.ignore_patterns("keys"))
        overlay = k8s / "overlays" / "dev"
        file = overlay / "kustomization.yaml"
        kustomization = yaml.safe_load(file.read_text())
        for part in ("namespace", "images", "patches", "replacements", "secretGenerator", "generatorOptions"):
            kustomization.pop(part, None)
        kustomization["components"] = ["../../components/backup"]
        file.write_text(yaml.safe_dump(kustomization))
        built = ROOT / ".tools" / "kustomize"
        kustomize = shutil.which("kustomize") or (str(built) if built.exists() else "")
        command = [kustomize, "build"] if kustomize else ["kubectl", "kustomize"]
        text = subprocess.run([*command, overlay], capture_output=True, text=True, check=True).stdout
    for name in set(re.findall(r"^  name: (\S+-[a-z0-9]{10})$", text, re.MULTILINE)):
        if re.search(rf"^kind: ConfigMap\nmetadata:\n(  .*\n)*?  name: {name}$", text, re.MULTILINE):
            text = text.replace(name, name[:-11])
    objects = [one for one in yaml.safe_load_all(text) if one and one["kind"] != "Namespace"]
    for one in objects:
        one["metadata"].pop("namespace", None)
    return objects


class Expressions:
    """Stand-ins for expressions, which are no YAML, until the objects are text."""

    def __init__(self) -> None:
        self._all: list[str] = []

    def of(self, expression: str) -> str:
        self._all.append(expression)
        return f"EXPRESSION{len(self._all) - 1}E"

    def put_into(self, text: str) -> str:
        return re.sub(r"EXPRESSION(\d+)E", lambda match: self._all[int(match[1])], text)


def pod_of(one: Object) -> Object | None:
    if one["kind"] == "CronJob":
        return one["spec"]["jobTemplate"]["spec"]["template"]
    return one["spec"]["template"] if one["kind"] in ("Deployment", "StatefulSet", "Job") else None


def containers_of(pod: Object) -> list[Object]:
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


def service_of(one: Object) -> str:
    """The service, or the bundled server, that an object belongs to; `platform` for what is of all."""
    labels = one["metadata"].get("labels", {})
    name = str(labels.get("app.kubernetes.io/name") or one["metadata"]["name"].split("-")[0])
    if one["metadata"]["name"].startswith("backup"):
        return "backup"
    if one["metadata"]["name"].endswith("-db-rw") or name == "databases":
        return "postgresql"
    if one["metadata"]["name"].startswith("to-"):
        return str(one["metadata"]["name"]).removeprefix("to-")
    return name if name in (*BUNDLED, *PROGRAMS, "backup") else "platform"


def parametrize(one: Object, expressions: Expressions) -> None:
    """Put expressions where an operator may want another value."""
    service, pod = service_of(one), pod_of(one)
    if pod is not None:
        if service not in BUNDLED:
            pod["spec"]["imagePullSecrets"] = expressions.of("{{ toJson $.Values.image.pullSecrets }}")
            # The bundled servers read none of them, and their restart is felt.
            if one["kind"] not in ("Job", "CronJob"):
                settings = '{{ include (print $.Template.BasePath "/settings.yaml") $ | sha256sum }}'
                pod["metadata"].setdefault("annotations", {})["checksum/settings"] = expressions.of(settings)
        for container in containers_of(pod):
            _container(service, container, expressions)
    if one["kind"] == "CronJob" and not one["spec"]["suspend"]:
        one["spec"]["schedule"] = expressions.of("{{ $.Values.backup.schedule | quote }}")
    if one["kind"] == "HorizontalPodAutoscaler":
        for field in ("minReplicas", "maxReplicas"):
            one["spec"][field] = expressions.of(f"{{{{ $.Values.{service}.{field} }}}}")
    _volumes(service, one, expressions)
    if one["kind"] == "ConfigMap":
        _settings(one, expressions)


def claims_of(one: Object) -> list[Object]:
    claims = [one, *one.get("spec", {}).get("volumeClaimTemplates", [])]
    return [claim for claim in claims if "accessModes" in claim.get("spec", {})]


def _volumes(service: str, one: Object, expressions: Expressions) -> None:
    if one["kind"] == "PersistentVolumeClaim":
        # `helm uninstall` leaves the volumes of PostgreSQL, and what its rows are about shall stay with them.
        one["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
    for claim in claims_of(one):
        storage = f"{{{{ $.Values.{service}.storage }}}}"
        claim["spec"]["resources"]["requests"]["storage"] = expressions.of(storage)
        claim["spec"]["storageClassName"] = expressions.of("{{ toJson $.Values.storageClass }}")


def _settings(one: Object, expressions: Expressions) -> None:
    if one["metadata"]["name"] == "ingot":
        one["data"]["INGOT_PUBLIC_URL"] = expressions.of("{{ $.Values.publicUrl | quote }}")
        one["data"]["INGOT_SENDS_MAIL"] = expressions.of('{{ ne $.Values.mail.smtpHost "" | quote }}')
    if one["metadata"]["name"] == "mail":
        one["data"]["INGOT_MAIL_SMTP_HOST"] = expressions.of("{{ $.Values.mail.smtpHost | quote }}")
    if one["metadata"]["name"] == "repos":
        one["data"]["INGOT_REPOS_SHARDS"] = expressions.of(
            '"{{ range $n := until (int $.Values.repos.shards) }}{{ if $n }},{{ end }}'
            'shard-{{ $n }}=http://repos-{{ $n }}:8082{{ end }}"'
        )


def _container(service: str, container: Object, expressions: Expressions) -> None:
    image = container["image"].rpartition(":")[0]
    server = service if service in BUNDLED else {"postgres": "postgresql"}.get(image)
    if server is not None:
        container["image"] = expressions.of(f"{{{{ $.Values.{server}.image }}}}")
    else:
        tag = "{{ $.Values.image.tag | default $.Chart.AppVersion }}"
        container["image"] = expressions.of(f"{{{{ $.Values.image.registry }}}}{image}:{tag}")
    if service in BUNDLED:
        return
    container["resources"] = expressions.of(
        f"{{{{ toJson $.Values.{service}.resources.{container['name']} }}}}"
    )
    for variable in container.get("env", ()):
        if variable["name"] == "DATABASE_HOST":
            variable["value"] = expressions.of("{{ $.Values.postgresql.host | quote }}")
        if "@" in variable.get("value", ""):
            (database,) = re.findall(r"@([a-z-]+):", variable["value"])
            host = f'{{{{ $.Values.postgresql.host | default "{database}" }}}}'
            variable["value"] = variable["value"].replace(database, expressions.of(host))


def templates(objects: list[Object]) -> Iterator[tuple[str, str]]:
    """Name of a file, and its text."""
    texts: dict[str, list[str]] = {}
    for one in objects:
        service = service_of(one)
        name = "settings" if one["kind"] == "ConfigMap" and service not in BUNDLED else service
        texts.setdefault(name, []).append(_text(one))
    for name, parts in sorted(texts.items()):
        text = "".join(f"---\n{part}" for part in parts)
        if name == "backup":
            text = f"{{{{- if $.Values.backup.enabled }}}}\n{text}{{{{- end }}}}\n"
        if name in BUNDLED:
            text = f"{{{{- if $.Values.{name}.bundled }}}}\n{text}{{{{- end }}}}\n"
        yield f"{name}.yaml", HEADER + text


def _text(one: Object) -> str:
    expressions = Expressions()
    parametrize(one, expressions)
    if one["kind"] == "Job":
        return _job(one, expressions)
    text = expressions.put_into(yaml.safe_dump(one, width=10_000, sort_keys=False))
    # Left out where none is named: the API server fills in the default one, and an upgrade may not take that back.
    is_named = '{{- if not (kindIs "invalid" $.Values.storageClass) }}'
    text = re.sub(r"(?m)^ *storageClassName: .*$", f"{is_named}\n\\g<0>\n{{{{- end }}}}", text)
    settings = {"ingot": "settings", "mail": "mail.settings"}.get(one["metadata"]["name"])
    if one["kind"] == "ConfigMap" and settings is not None:
        more = f"{{{{- range $name, $value := $.Values.{settings} }}}}"
        more += "\n  {{ $name }}: {{ $value | quote }}\n{{- end }}\n"
        text = re.sub(r"(?m)^(data:\n(?:  .*\n)+)", lambda match: match[1] + more, text)
    if SHARD.search(one["metadata"]["name"]):
        text = SHARD.sub(r"\1-{{ $n }}", text)
        text = f"{{{{- range $n := until (int $.Values.repos.shards) }}}}\n---\n{text}{{{{- end }}}}\n"
    return text


def _job(one: Object, expressions: Expressions) -> str:
    """A Job cannot be changed, so its name is a hash of what it runs."""
    name, spec = one["metadata"]["name"], one.pop("spec")
    one["metadata"]["name"] = expressions.of(f'{name}-{{{{ include "{name}" $ | sha256sum | trunc 10 }}}}')
    head = expressions.put_into(yaml.safe_dump(one, width=10_000, sort_keys=False))
    body = expressions.put_into(yaml.safe_dump({"spec": spec}, width=10_000, sort_keys=False))
    return f'{{{{- define "{name}" }}}}\n{body}{{{{- end }}}}\n{head}{{{{- include "{name}" $ }}}}\n'


def values(objects: list[Object]) -> Object:
    """The values that the bases have."""
    defaults: Object = {}
    for one in objects:
        service, pod = service_of(one), pod_of(one)
        if pod is not None and service not in BUNDLED:
            resources = defaults.setdefault(service, {}).setdefault("resources", {})
            resources |= {c["name"]: c["resources"] for c in containers_of(pod)}
        elif pod is not None:
            defaults.setdefault(service, {})["image"] = pod["spec"]["containers"][0]["image"]
        if one["kind"] == "HorizontalPodAutoscaler":
            defaults.setdefault(service, {}).update(
                {f: one["spec"][f] for f in ("minReplicas", "maxReplicas")}
            )
        for claim in claims_of(one):
            defaults.setdefault(service, {})["storage"] = claim["spec"]["resources"]["requests"]["storage"]
    return defaults


def files() -> dict[str, str]:
    """Every generated file of the chart by its path in it."""
    objects = source()
    own = yaml.safe_load((CHART / "own-values.yaml").read_text())
    merged = values(objects)
    for name, value in own.items():
        merged[name] = merged.get(name, {}) | value if isinstance(value, dict) else value
    generated = {f"templates/{name}": text for name, text in templates(objects)}
    generated["values.yaml"] = HEADER.replace(
        "deploy/k8s", "deploy/k8s and own-values.yaml"
    ) + yaml.safe_dump(merged)
    return generated


def main() -> int:
    """Write the chart."""
    for path, text in files().items():
        (CHART / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
