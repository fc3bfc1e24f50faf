"""The version follows from the operations that are served."""

import pytest

from ingot_gateway.interface_version import GATES, LOWEST, next_operations, served_version

ALL = frozenset[str]().union(*(operations for _, operations in GATES))


def up_to(version: str) -> frozenset[str]:
    """The operations of all versions up to ``version``."""
    versions = [name for name, _ in GATES]
    return frozenset[str]().union(*(operations for _, operations in GATES[: versions.index(version) + 1]))


def test_without_any_operation_it_is_the_lowest_that_clients_accept():
    assert served_version(frozenset()) == LOWEST


@pytest.mark.parametrize("version", [version for version, _ in GATES])
def test_it_is_the_highest_of_which_every_operation_is_there(version):
    assert served_version(up_to(version) | {"somethingElse"}) == version


@pytest.mark.parametrize("operation", sorted(ALL))
def test_one_missing_operation_holds_it_below_the_version_that_needs_it(operation):
    needing = next(index for index, (_, operations) in enumerate(GATES) if operation in operations)
    below = GATES[needing - 1][0] if needing else LOWEST

    assert served_version(ALL - {operation}) == below
    assert next_operations(ALL - {operation}) == [operation]


def test_versions_rise():
    numbers = [tuple(map(int, version.split("."))) for version, _ in GATES]

    assert numbers == sorted(numbers)
