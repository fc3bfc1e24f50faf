"""Every object is what its API takes: Kubernetes by its own schemas, custom resources and Compose by theirs."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from .manifests import OVERLAYS, ROOT, objects

OLDEST, NEWEST = "1.32", kubernetes_validate.latest_version()
SCHEMAS = Path(__file__).parent / "schemas"
BUILT_IN = {"v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1", "networking.k8s.io/v1"}


@cache
def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


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
        if one["apiVersion"] in BUILT_IN:
            kubernetes_validate.validate(one, version, strict=True)
        else:
            group = one["apiVersion"].replace("/", "_")
            jsonschema.validate(one, schema(f"{group}_{one['kind'].lower()}"))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_are_unique(overlay):
    names = [(one["kind"], one["metadata"]["name"]) for one in objects(overlay)]
    assert not {name for name in names if names.count(name) > 1}


def test_the_compose_file_fits_its_schema():
    jsonschema.validate(yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text()), schema("compose"))


def test_a_field_that_does_not_exist_is_refused():
    """The schemas are closed: a misspelt field, which a cluster might drop silently, is found here."""
    deployment = next(one for one in objects("written") if one["kind"] == "Deployment")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(
            deployment | {"spec": deployment["spec"] | {"replica": 2}}, NEWEST, strict=True
        )
    scaled = next(one for one in objects("written") if one["kind"] == "ScaledObject")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(
            scaled | {"spec": scaled["spec"] | {"minReplicas": 2}}, schema("keda.sh_v1alpha1_scaledobject")
        )
