"""Each operation of Gitea is either served or left out for a reason."""

from .gitea import OPERATIONS
from .left_out import GROUPS
from .test_fields import SERVED


def test_an_operation_is_served_or_left_out_once():
    left_out = [operation.id for group in GROUPS for operation in group.operations]
    wrong = [
        f"{operation.method} {operation.path}: {'served' if served else 'not served'}, left out {count} times"
        for operation in OPERATIONS
        for served, count in [(operation.place in SERVED, left_out.count(operation.id))]
        if served + count != 1
    ]
    assert not wrong, "\n".join(wrong)


def test_each_group_has_operations():
    assert [group.name for group in GROUPS if not group.operations] == []
