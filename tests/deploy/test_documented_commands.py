"""Commands of the documents find what they are for."""

import re

import pytest

from .manifests import ROOT, Object, pods
from .test_backups import with_backups

TEXTS = {file.name: " ".join(file.read_text().split()) for file in sorted((ROOT / "docs").rglob("*.md"))}
SELECTOR = re.compile(r"--selector ([\w./=,-]+)")
SERVERS = {"postgresql", "nats", "redis"}


def selects(selector: str, labels: dict[str, str]) -> bool:
    """As kubectl reads `key`, which any value will do for, and `key=value`, one or more of them."""
    parts = [part.partition("=") for part in selector.split(",")]
    return all(
        key in labels and labels[key] == (value if sign else labels[key]) for key, sign, value in parts
    )


def labels_of(one: Object) -> dict[str, str]:
    return dict(one["metadata"].get("labels") or {})


@pytest.mark.parametrize(
    ("document", "selector"),
    sorted({(name, selector) for name, text in TEXTS.items() for selector in SELECTOR.findall(text)}),
)
def test_a_selector_finds_something(document, selector):
    objects = with_backups("dev")
    labels = [*map(labels_of, objects), *(labels_of(pod) for _, pod in pods(objects))]
    assert any(selects(selector, one) for one in labels)


def test_the_restart_for_other_images_takes_every_service_and_no_server():
    (command,) = re.findall(
        r"kubectl -n ingot rollout restart ([a-z,]+) (--selector \S+)`", TEXTS["kubernetes.md"]
    )
    kinds, (selector,) = command[0].split(","), SELECTOR.findall(command[1])
    deployed = [one for one in with_backups("dev") if one["kind"] in ("Deployment", "StatefulSet")]
    restarted = {
        one["metadata"]["name"]
        for one in deployed
        if one["kind"].lower() in kinds and selects(selector, labels_of(one))
    }
    assert restarted == {one["metadata"]["name"] for one in deployed} - SERVERS
