"""Objects of a service by their class: exactly one of each."""

import pytest

from ingot_chassis.http.parts import Parts


class Narrow(list):
    pass


def test_a_part_is_found_by_its_exact_class():
    narrow, wide = Narrow(), [1]
    parts = Parts(narrow, wide)
    assert parts[Narrow] is narrow
    assert parts[list] is wide


def test_a_class_that_no_part_has_is_an_error():
    with pytest.raises(KeyError):
        Parts(Narrow())[list]


def test_two_parts_of_one_class_are_refused():
    with pytest.raises(ValueError, match="two parts"):
        Parts([], [1])
