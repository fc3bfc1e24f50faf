"""The graph of services matches its documentation. The table of events names all emitters and consumers."""

import importlib
import pkgutil
import re

import msgspec
import pytest

import ingot_contracts
from ingot_contracts import topology
from ingot_contracts.events import EVENTS, consumers_of

from .sources import ROOT, sources

NAME = re.compile(r"[a-z]+\.[a-z]+\.[a-z]+\.v\d+")
EMITTED = [(owner, event) for owner, events in EVENTS.items() for event in events]


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


def test_no_event_is_missing_in_the_table():
    modules = pkgutil.walk_packages(ingot_contracts.__path__, "ingot_contracts.")
    structs = {
        one
        for module in modules
        for one in vars(importlib.import_module(module.name)).values()
        if isinstance(one, type) and issubclass(one, msgspec.Struct)
    }
    tagged = {one for one in structs if NAME.fullmatch(str(one.__struct_config__.tag))}
    assert tagged == {event for _, event in EMITTED}


@pytest.mark.parametrize(("owner", "event"), EMITTED, ids=lambda each: getattr(each, "__name__", each))
def test_an_event_is_named_by_its_owner_and_its_version(owner, event):
    assert re.fullmatch(NAME, event.__struct_config__.tag)
    assert event.__struct_config__.tag.startswith(f"{owner}.")


@pytest.mark.parametrize(("owner", "event"), EMITTED, ids=lambda each: getattr(each, "__name__", each))
def test_an_event_is_emitted_by_its_owner_and_consumed_by_the_services_of_the_table(owner, event):
    construction, use = re.compile(rf"\b{event.__name__}\("), re.compile(rf"\b{event.__name__}\b")
    texts = [(s.place.split("/")[1], s.text) for s in sources() if s.place.startswith("services/")]
    assert owner in {service for service, text in texts if construction.search(text)}
    users = {service for service, text in texts if use.search(text)}
    assert users - {owner, "gateway"} == consumers_of(event)
