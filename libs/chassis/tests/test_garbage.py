"""No garbage is collected while a process starts, and again after that."""

import gc

import pytest

from ingot_chassis.garbage import no_collection


@pytest.fixture(autouse=True)
def _thaw():
    """Other tests of the process look at what was made before."""
    yield
    gc.unfreeze()


def test_nothing_is_collected_in_the_block_and_what_it_makes_is_not_looked_at_again():
    with no_collection():
        parts = [[] for _ in range(1000)]
        assert not gc.isenabled()
        assert any(one is parts for one in gc.get_objects())

    assert gc.isenabled()
    assert not any(one is parts for one in gc.get_objects())


def test_garbage_is_collected_after_a_start_that_failed():
    with pytest.raises(OSError, match="no start"), no_collection():
        raise OSError("no start")

    assert gc.isenabled()
