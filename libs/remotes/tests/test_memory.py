"""The memory of a source: which addresses it keeps."""

from ingot_remotes.connections import memory
from ingot_remotes.connections.memory import SourceMemory


def test_the_addresses_that_were_not_used_for_longest_are_forgotten(monkeypatch):
    monkeypatch.setattr(memory, "MOST_ADDRESSES", 3)
    source = SourceMemory()
    for number in (1, 2, 3, 1, 4):
        source.remember_address((number, "cat"), f"{number}@example.org")
    assert source.addresses == {(number, "cat"): f"{number}@example.org" for number in (3, 1, 4)}
