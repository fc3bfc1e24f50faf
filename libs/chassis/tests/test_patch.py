"""A PATCH changes the fields in its body, and leaves the others."""

import msgspec
from msgspec import UNSET, UnsetType

from ingot_chassis.http.patch import set_fields


class EditThing(msgspec.Struct):
    name: str | UnsetType = UNSET
    size: int | UnsetType = UNSET


def test_only_what_the_body_names_is_set():
    assert set_fields(EditThing(size=0)) == {"size": 0}
    assert set_fields(EditThing()) == {}
