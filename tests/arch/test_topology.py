"""The graph of services is the one that is written down, and every event has somebody who hears it."""

import ast
import importlib
import re
from typing import get_args

import pytest

from ingot_contracts import topology

from .sources import ROOT, sources

ANNOUNCED: set[str] = set()
"""Events that consumers are ready for and whose operations their owner does not have yet."""

UNHEARD = {"LabelChanged", "MilestoneChanged", "TimeChanged"}
"""Events that are told for whoever comes, and that no service needs by now."""

EVENT_OWNERS = ("identity", "repos", "issues", "hooks")


def test_calls_form_no_circle():
    done: list[str] = []
    waiting = dict(topology.CALLS)
    while waiting:
        free = [name for name, calls in waiting.items() if set(calls) <= set(done)]
        assert free, f"a circle among {sorted(waiting)}"
        done += free
        for name in free:
            del waiting[name]


@pytest.mark.parametrize("service", topology.SERVICES)
def test_a_service_has_clients_for_the_services_it_calls_and_no_others(service):
    folder = ROOT / "services" / service / "src" / f"ingot_{service}" / "clients"
    clients = {file.stem for file in folder.glob("*.py")} & set(topology.SERVICES)
    assert clients <= set(topology.CALLS[service])


@pytest.mark.parametrize("service", topology.SERVICES)
def test_a_service_consumes_from_the_services_it_says(service):
    file = ROOT / "services" / service / "src" / f"ingot_{service}" / "consumers.py"
    owners = set()
    if file.exists():
        for node in ast.walk(ast.parse(file.read_text())):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.startswith("ingot_contracts.")
            ):
                events = {cls.__name__ for cls in events_of(node.module.split(".")[1])}
                if events & {alias.name for alias in node.names}:
                    owners.add(node.module.split(".")[1])
            if isinstance(node, ast.ImportFrom) and node.module == "ingot_contracts":
                owners |= {alias.name for alias in node.names} & set(EVENT_OWNERS)
    assert owners - {service} <= set(topology.CONSUMES[service])


def events_of(owner: str) -> tuple[type, ...]:
    if owner not in EVENT_OWNERS:
        return ()
    events = importlib.import_module(f"ingot_contracts.{owner}").Event
    return get_args(events) or (events,)


@pytest.mark.parametrize(
    "event", [e for owner in EVENT_OWNERS for e in events_of(owner)], ids=lambda e: e.__name__
)
def test_an_event_is_named_by_its_owner_and_its_version(event):
    owner = event.__module__.rsplit(".", 1)[-1]
    assert re.fullmatch(rf"{owner}\.[a-z]+\.[a-z]+\.v\d+", event.__struct_config__.tag)


@pytest.mark.parametrize(
    "event", [e for owner in EVENT_OWNERS for e in events_of(owner)], ids=lambda e: e.__name__
)
def test_an_event_is_emitted_by_its_owner_and_heard_by_somebody(event):
    owner = event.__module__.rsplit(".", 1)[-1]
    construction = re.compile(rf"\b{event.__name__}\(")
    used = re.compile(rf"\b{event.__name__}\b|{re.escape(event.__struct_config__.tag)}")
    emitters = {
        s.place.split("/")[1]
        for s in sources()
        if s.place.startswith("services/") and construction.search(s.text)
    }
    hearers = {
        s.place.split("/")[1] for s in sources() if s.place.startswith("services/") and used.search(s.text)
    } - {owner}
    if event.__name__ in ANNOUNCED:
        assert not emitters, f"{event.__name__} is emitted now: take it from ANNOUNCED"
        return
    wakes_own_workers = any(
        f"event_type({event.__name__})" in s.text for s in sources() if f"ingot_{owner}/" in s.place
    )
    assert owner in emitters, "nobody emits it"
    if event.__name__ in UNHEARD:
        assert not hearers, f"{event.__name__} is heard now: take it from UNHEARD"
        return
    assert hearers or wakes_own_workers, "nobody hears it"
