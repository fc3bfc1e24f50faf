"""A grant is remembered for five seconds from the question, and no longer."""

import pytest

from ingot_chassis.security.grants import GRANT_SECONDS, GrantCache


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_grant_ends_five_seconds_after_it_was_asked_for():
    clock = Clock()
    grants: GrantCache[str, str] = GrantCache(clock=clock)
    clock.now += 2
    grants.put("ann", "read", since=100.0)
    clock.now = 100.0 + GRANT_SECONDS - 0.01
    assert grants.get("ann") == "read"
    clock.now = 100.0 + GRANT_SECONDS
    assert grants.get("ann") is None


def test_an_answer_that_took_too_long_is_not_remembered():
    clock = Clock()
    grants: GrantCache[str, str] = GrantCache(clock=clock)
    grants.put("ann", "read", since=clock.now - GRANT_SECONDS)
    assert grants.get("ann") is None


def test_grants_are_dropped_by_key_and_all_together():
    grants: GrantCache[str, int] = GrantCache()
    for key, value in (("a", 1), ("b", 2)):
        grants.put(key, value, since=grants.clock())
    grants.drop("a")
    assert [grants.get(key) for key in "ab"] == [None, 2]
    grants.clear()
    assert grants.get("b") is None


def test_dropping_a_holder_keeps_the_grants_of_the_others():
    clock = Clock()
    grants: GrantCache[str, str] = GrantCache(clock=clock)
    for key, holder in (("token", 7), ("password", 7), ("other", 8)):
        grants.put(key, "read", since=clock.now, holder=holder)
    clock.now += 1
    grants.drop_holder(7)
    assert [grants.get(key) for key in ("token", "password", "other")] == [None, None, "read"]
    clock.now += 1
    grants.put("token", "read", since=clock.now, holder=7)
    assert grants.get("token") == "read"


@pytest.mark.parametrize("drop", [lambda grants: grants.drop_holder(7), GrantCache.clear])
def test_a_grant_that_was_asked_for_before_a_drop_is_not_remembered_after_it(drop):
    clock = Clock()
    grants: GrantCache[str, str] = GrantCache(clock=clock)
    since = clock.now
    clock.now += 1
    drop(grants)
    clock.now += 1
    grants.put("token", "read", since=since, holder=7)
    assert grants.get("token") is None


def test_a_dropped_holder_is_not_remembered_longer_than_a_grant():
    clock = Clock()
    grants: GrantCache[str, str] = GrantCache(clock=clock)
    for holder in range(100):
        grants.drop_holder(holder)
    clock.now += GRANT_SECONDS
    grants.drop_holder(100)
    assert len(grants._revocations) == 1
