"""Write tests/deploy/schemas: the schemas of the custom resources and of the Compose file in deploy/.

The projects publish these schemas in their Go modules. Descriptions are removed. Go must be on PATH. Usage:
python tools/crd_schemas.py
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

SCHEMAS = Path(__file__).parent.parent / "tests" / "deploy" / "schemas"
COMPOSE = "github.com/compose-spec/compose-go/v2@v2.16.2"


class Module(NamedTuple):
    """A Go module and the files in it that define custom resources."""

    name: str
    files: tuple[str, ...]


MODULES = (
    Module(
        "github.com/cert-manager/cert-manager@v1.21.2", ("deploy/crds/cert-manager.io_certificates.yaml",)
    ),
    Module(
        "github.com/cloudnative-pg/cloudnative-pg@v1.27.0",
        ("config/crd/bases/postgresql.cnpg.io_clusters.yaml",),
    ),
    Module(
        "github.com/external-secrets/external-secrets@v1.3.2",
        ("config/crds/bases/external-secrets.io_externalsecrets.yaml",),
    ),
    Module(
        "github.com/kedacore/keda/v2@v2.21.0",
        (
            "config/crd/bases/keda.sh_scaledobjects.yaml",
            "config/crd/bases/keda.sh_triggerauthentications.yaml",
        ),
    ),
    Module(
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        (
            "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
            "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        ),
    ),
    Module(
        "sigs.k8s.io/gateway-api@v1.4.0",
        (
            "config/crd/standard/gateway.networking.k8s.io_gateways.yaml",
            "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
        ),
    ),
)
EXTENSIONS = {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}


def folder_of(module: str) -> Path:
    """Return the folder of Go with the sources of ``module``, which is downloaded if necessary."""
    download = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, check=True)
    return Path(json.loads(download.stdout)["Dir"])


def stripped(schema: Any, *, inside_names: bool = False) -> Any:
    """``schema`` without what does not decide: descriptions, examples, extensions of the API server."""
    if isinstance(schema, list):
        return [stripped(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: stripped(
            value, inside_names=not inside_names and key in ("properties", "$defs", "patternProperties")
        )
        for key, value in schema.items()
        if inside_names
        or (
            key not in ("description", "title", "example", "examples", "default", "format", "deprecated")
            and (not key.startswith("x-") or key in EXTENSIONS)
        )
    }


def closed(schema: Any) -> Any:
    """Return a custom resource's schema as JSON Schema: no unknown fields, extensions in standard form."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {
        key: {name: closed(part) for name, part in value.items()} if key == "properties" else closed(value)
        for key, value in schema.items()
    }
    if schema.pop("x-kubernetes-int-or-string", False):
        schema["type"] = ["integer", "string"]
    unknown = schema.pop("x-kubernetes-preserve-unknown-fields", False)
    if schema.pop("nullable", False) and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if "properties" in schema and not unknown:
        schema.setdefault("additionalProperties", False)
    if isinstance(schema.get("pattern"), str):
        schema["pattern"] = schema["pattern"].replace("^(?i)", "(?i)^")  # Go takes a flag anywhere
    return schema


def write(name: str, schema: Any, source: str) -> None:
    text = json.dumps({"$comment": source, **schema}, separators=(",", ":"), sort_keys=True)
    (SCHEMAS / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(text)} bytes")


def main() -> int:
    """The exit code."""
    SCHEMAS.mkdir(exist_ok=True)
    for module in MODULES:
        for file in module.files:
            crd = yaml.safe_load((folder_of(module.name) / file).read_text())
            spec = crd["spec"]
            version = spec["versions"][0]
            schema = closed(stripped(version["schema"]["openAPIV3Schema"]))
            schema["properties"]["metadata"] = {"type": "object"}
            schema["properties"].pop("status", None)
            kind = spec["names"]["kind"].lower()
            write(f"{spec['group']}_{version['name']}_{kind}", schema, f"{module.name} {file}")
    compose = json.loads((folder_of(COMPOSE) / "schema" / "compose-spec.json").read_text())
    write("compose", stripped(compose), f"{COMPOSE} schema/compose-spec.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
