"""Samples of events from all releases must stay decodable.

A golden file is written when its event type is new (``python libs/contracts/tests/write_golden.py``). It is
never edited: a field may be added to the struct, with a default, and every old sample must still decode.
"""

import json
from pathlib import Path

import msgspec
import pytest

from .samples import event_classes, sample

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"


def tag(cls: type[msgspec.Struct]) -> str:
    return str(cls.__struct_config__.tag)


@pytest.mark.parametrize("cls", event_classes(), ids=tag)
def test_an_old_event_decodes_and_keeps_its_values(cls):
    old = (GOLDEN / f"{tag(cls)}.json").read_bytes()
    again = json.loads(msgspec.json.encode(msgspec.json.decode(old, type=cls)))
    assert_within(json.loads(old), again)


@pytest.mark.parametrize("cls", event_classes(), ids=tag)
def test_an_event_survives_the_wire(cls):
    event = sample(cls)
    assert msgspec.json.decode(msgspec.json.encode(event), type=cls) == event


@pytest.mark.parametrize("cls", event_classes(), ids=tag)
def test_a_reader_ignores_fields_it_does_not_know(cls):
    written = json.loads(msgspec.json.encode(sample(cls))) | {"added_later": 1}
    assert msgspec.json.decode(json.dumps(written), type=cls) == sample(cls)


def test_every_golden_file_belongs_to_an_event():
    assert {file.stem for file in GOLDEN.glob("*.json")} == {tag(cls) for cls in event_classes()}


def assert_within(old: object, new: object) -> None:
    """Everything ``old`` says, ``new`` says too."""
    if isinstance(old, dict):
        assert isinstance(new, dict)
        for key, value in old.items():
            assert_within(value, new[key])
    elif isinstance(old, list):
        assert isinstance(new, list)
        assert len(old) == len(new)
        for before, after in zip(old, new, strict=True):
            assert_within(before, after)
    else:
        assert old == new
