"""The wait for the schema."""

import itertools

from ingot_chassis.database_commands import schema_pauses


def test_the_database_is_asked_soon_again_at_first_and_once_a_second_later():
    pauses = list(itertools.islice(schema_pauses(), 20))
    assert sum(pauses[:2]) < 0.5
    assert pauses == sorted(pauses)
    assert set(pauses[5:]) == {1.0}
