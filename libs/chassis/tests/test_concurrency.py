"""How many expensive requests one caller may have running at once."""

import pytest

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.http.concurrency import ConcurrencyLimiter, network_of


def test_a_caller_has_so_many_slots_and_gets_them_back():
    limiter = ConcurrencyLimiter(2)
    with limiter.slot("ann"), limiter.slot("ann"):
        with pytest.raises(TooManyRequests) as refused, limiter.slot("ann"):
            pass
        assert refused.value.headers["Retry-After"] == "1"
        with limiter.slot("bob"):
            assert limiter.acquired == {"ann": 2, "bob": 1}
    assert not limiter.acquired


def test_a_slot_is_released_when_the_work_fails():
    limiter = ConcurrencyLimiter(1)
    with pytest.raises(ValueError, match="broken"), limiter.slot("ann"):
        raise ValueError("broken")
    assert not limiter.acquired


def test_zero_is_no_limit():
    limiter = ConcurrencyLimiter(0)
    with limiter.slot("ann"), limiter.slot("ann"), limiter.slot("ann"):
        assert limiter.acquired["ann"] == 3


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::/64"),
        ("2001:db8:0:0:ffff::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("a:b", "a:b"),
        ("192.0.2.7:80", "192.0.2.7:80"),
    ],
)
def test_a_customer_with_many_addresses_is_one_caller(address, network):
    assert network_of(address) == network
