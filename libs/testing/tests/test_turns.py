"""A test with several values keeps one, always the same.

All values have their turn; marked tests keep all.
"""

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from ingot_testing.turns import take_turns

@pytest.mark.parametrize("case", range(40))
@pytest.mark.parametrize("value", ["one", "other one"])
def test_turns(value, case): ...

@pytest.mark.all_of_them
@pytest.mark.parametrize("value", ["one", "other one"])
def test_marked(value): ...

@pytest.mark.parametrize("value", ["one"])
def test_of_one_value(value): ...
"""
CONFTEST = """
from ingot_testing.turns import take_turns

def pytest_configure(config):
    config.addinivalue_line("markers", "all_of_them: …")

def pytest_collection_modifyitems(config, items):
    take_turns(config, items, ("one", "other one"), "all_of_them")
"""


@pytest.fixture
def names(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    collected = pytester.runpytest("--collect-only", "-q", "-p", "no:xdist").outlines
    return [line.partition("::")[2] for line in collected if "::" in line]


def test_a_test_has_one_of_the_values_and_each_value_has_some(names):
    turns = [name for name in names if name.startswith("test_turns")]
    assert len(turns) == 40
    assert {name.rpartition("-")[2] for name in turns} == {f"{case}]" for case in range(40)}
    assert 5 < sum("[other one-" in name for name in turns) < 35


def test_marked_tests_and_those_of_one_value_stay(names):
    assert names[-3:] == ["test_marked[one]", "test_marked[other one]", "test_of_one_value[one]"]
