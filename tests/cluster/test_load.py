"""The figures of the load."""

import pytest

from .load import Load


def test_each_request_is_measured_and_compared_with_those_before(tmp_path):
    load = Load("http://ingot.test", ("root", ""), tmp_path)
    with pytest.raises(AssertionError), load.measured("git push"):
        raise AssertionError
    seconds, kind = load.slowest
    assert seconds > 0  # what fails counts, too
    assert kind == "git push"
    load.slowest = (0.5, "git push")
    assert load.report().endswith("the slowest took 0.5 s (git push)")
    load.end_calm()
    load.slowest = max(load.slowest, (2.0, "GET user"))
    assert load.report().endswith("the slowest took 2.0 s (GET user), 1.5 s more than before (git push)")
