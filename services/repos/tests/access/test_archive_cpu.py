"""The CPU time that git may spend on archives of one caller."""

import pytest

from ingot_chassis.errors import TooManyRequests
from ingot_git.process.errors import GitTooExpensive
from ingot_repos.access.rules.archive_cpu import BUDGET, REFUSED_SECONDS, WINDOW, ArchiveCpu


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cpu(clock):
    return ArchiveCpu(clock=clock)


def wait(cpu, caller):
    with pytest.raises(TooManyRequests) as caught:
        cpu.require(caller, "x")
    return int(caught.value.headers["Retry-After"])


def test_a_budget_is_restored_evenly(cpu, clock):
    cpu.charge("ann", BUDGET / 2)
    cpu.require("ann", "x")
    cpu.charge("ann", BUDGET / 2)
    assert wait(cpu, "ann") == 1
    cpu.require("bob", "x")
    clock.now += 1
    cpu.require("ann", "x")
    cpu.charge("ann", BUDGET)
    assert wait(cpu, "ann") == WINDOW
    clock.now += WINDOW
    cpu.require("ann", "x")


def test_an_archive_that_exceeds_the_budget_is_waited_for(cpu, clock):
    cpu.charge("ann", 3 * BUDGET)
    assert wait(cpu, "ann") == 2 * WINDOW + 1
    clock.now += 2 * WINDOW
    assert wait(cpu, "ann") == 1


def test_unused_time_is_not_saved(cpu, clock):
    cpu.require("ann", "x")
    clock.now += 1000 * WINDOW
    cpu.charge("ann", BUDGET)
    assert wait(cpu, "ann") == 1


def test_a_refusal_is_remembered_for_a_while(cpu, clock):
    cpu.refuse((1, "commit", "zip"))
    for caller in ("ann", "bob"):
        with pytest.raises(GitTooExpensive):
            cpu.require(caller, (1, "commit", "zip"))
    cpu.require("ann", (2, "commit", "zip"))
    clock.now += REFUSED_SECONDS + 1
    cpu.require("ann", (1, "commit", "zip"))


def test_callers_with_a_full_budget_are_forgotten(cpu, clock, monkeypatch):
    monkeypatch.setattr("ingot_repos.access.rules.archive_cpu._MOST_CALLERS", 10)
    for number in range(10):
        cpu.charge(f"caller {number}", 0.1)
    clock.now += WINDOW
    cpu.charge("ann", BUDGET)
    assert len(cpu._restored_at) == 1
    assert wait(cpu, "ann") == 1
