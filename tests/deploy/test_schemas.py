"""Every object is valid: Kubernetes by its own schemas, custom resources and Compose by theirs."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml
from kubernetes_validate.utils import all_versions, schema_contents
from referencing import Registry, Resource

from .manifests import OVERLAYS, ROOT, objects

OLDEST, NEWEST = "1.32", kubernetes_validate.latest_version()
SCHEMAS = Path(__file__).parent / "schemas"
BUILT_IN = {"v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1", "networking.k8s.io/v1"}


@cache
def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


@cache
def folder_of(version: str) -> str:
    """Return the folder of the schemas for the newest patch of a release of Kubernetes."""
    newest = next(one for one in reversed(all_versions()) if one.startswith(version))
    return f"kubernetes-json-schema/v{newest}-local-strict"


@cache
def definitions(version: str) -> Registry:
    """Return the definitions for the schemas of a release. Reading them takes longer than all checks."""
    contents = schema_contents(f"{folder_of(version)}/_definitions.json", version)
    return (Resource.from_contents(contents) @ Registry()).crawl()


@cache
def validator(version: str, api_version: str, kind: str) -> jsonschema.Draft202012Validator:
    if api_version not in BUILT_IN:
        return jsonschema.Draft202012Validator(schema(f"{api_version.replace('/', '_')}_{kind.lower()}"))
    group = "-".join(part.partition(".")[0] for part in api_version.split("/"))
    contents = schema_contents(f"{folder_of(version)}/{kind.lower()}-{group}.json", version)
    return jsonschema.Draft202012Validator(contents, registry=definitions(version))


def check(one: dict, version: str) -> None:
    validator(version, one["apiVersion"], one["kind"]).validate(one)


@pytest.mark.parametrize(
    ("source", "version"),
    [
        ("written", OLDEST),
        ("written", NEWEST),
        ("dev", NEWEST),
        ("production", NEWEST),
        ("production-ingress", NEWEST),
    ],
)
def test_every_object_fits_its_schema(source, version):
    manifests = objects(source)
    assert manifests
    for one in manifests:
        check(one, version)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_are_unique(overlay):
    names = [(one["kind"], one["metadata"]["name"]) for one in objects(overlay)]
    assert not {name for name in names if names.count(name) > 1}


def test_the_compose_file_fits_its_schema():
    jsonschema.validate(yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text()), schema("compose"))


def test_a_field_that_does_not_exist_is_refused():
    """The schemas are closed: a misspelt field, which a cluster might drop silently, is found here."""
    deployment = next(one for one in objects("written") if one["kind"] == "Deployment")
    with pytest.raises(jsonschema.ValidationError):
        check(deployment | {"spec": deployment["spec"] | {"replica": 2}}, NEWEST)
    scaled = next(one for one in objects("written") if one["kind"] == "ScaledObject")
    with pytest.raises(jsonschema.ValidationError):
        check(scaled | {"spec": scaled["spec"] | {"minReplicas": 2}}, NEWEST)
