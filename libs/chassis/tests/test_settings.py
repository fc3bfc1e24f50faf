"""Settings come from the environment, all errors at once."""

from typing import Annotated

import msgspec
import pytest

from ingot_chassis.settings import ServiceSettings, SettingsError, load, variables


class CounterSettings(ServiceSettings, kw_only=True):
    peer_url: Annotated[str, msgspec.Meta(description="Where the peer is.")]
    hosts: list[str] = msgspec.field(default_factory=list)


class SwitchSettings(ServiceSettings, kw_only=True):
    on: bool = True


def test_an_empty_switch_counts_as_not_set():
    assert load(SwitchSettings, "counter", {"INGOT_COUNTER_ON": ""}).on
    assert not load(SwitchSettings, "counter", {"INGOT_COUNTER_ON": "false"}).on


def test_a_shared_field_has_one_variable_for_all_services():
    settings = load(
        CounterSettings, "counter", {"INGOT_NATS_URL": "nats://n", "INGOT_COUNTER_PEER_URL": "http://p"}
    )
    assert settings.nats_url == "nats://n"
    assert settings.peer_url == "http://p"


def test_lists_and_mappings_are_written_with_commas():
    settings = load(
        CounterSettings,
        "counter",
        {"INGOT_COUNTER_PEER_URL": "x", "INGOT_COUNTER_HOSTS": "a, b", "INGOT_PUBLIC_KEYS": "one=k1,two=k2="},
    )
    assert settings.hosts == ["a", "b"]
    assert settings.public_keys == {"one": "k1", "two": "k2="}


def test_every_error_is_told_at_once_with_the_name_of_its_variable():
    with pytest.raises(SettingsError) as failure:
        load(CounterSettings, "counter", {"INGOT_COUNTER_PORT": "70000", "INGOT_PAGE_SIZE": "many"})
    text = " ".join(failure.value.lines)
    assert len(failure.value.lines) == 3
    for name in ("INGOT_COUNTER_PORT", "INGOT_PAGE_SIZE", "INGOT_COUNTER_PEER_URL"):
        assert name in text


def test_every_variable_is_documented_with_its_default():
    by_name = {variable.name: variable for variable in variables(ServiceSettings, "counter")}
    assert by_name["INGOT_PAGE_SIZE"].default == "30"
    assert all(variable.description for variable in by_name.values())


def test_a_renamed_setting_is_read_by_its_former_name_as_well():
    class RenamedSettings(ServiceSettings, kw_only=True):
        speed: Annotated[int, msgspec.Meta(extra={"aliases": ["pace"]})] = 1

    for environ, speed in (
        ({}, 1),
        ({"INGOT_COUNTER_PACE": "2"}, 2),
        ({"INGOT_COUNTER_PACE": "2", "INGOT_COUNTER_SPEED": "3"}, 3),
    ):
        assert load(RenamedSettings, "counter", environ).speed == speed
    with pytest.raises(SettingsError, match="INGOT_COUNTER_PACE"):
        load(RenamedSettings, "counter", {"INGOT_COUNTER_PACE": "fast"})


@pytest.mark.parametrize(
    "url", ["https://git.example.org", "https://git.example.org/", "https://example.org/git"]
)
def test_the_root_url_may_lack_its_last_slash(url):
    settings = load(ServiceSettings, "repos", {"INGOT_PUBLIC_URL": url})
    assert settings.public_url == url.rstrip("/") + "/"
