"""When a delivery is attempted again, and when it has failed."""

from datetime import UTC, datetime, timedelta

import pytest

from ingot_hooks.deliveries.rules.schedule import MAX_RETRY_AFTER, PAUSES, attempt_result

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_the_schedule_has_ten_attempts_over_three_days():
    at, pauses = AT, []
    for attempt in range(1, len(PAUSES)):
        result = attempt_result(500, "", attempts=attempt, at=at, jitter=0)
        assert result.next_attempt_at
        pauses.append(result.next_attempt_at - at)
        at = result.next_attempt_at
    assert tuple(pauses) == PAUSES[1:]
    assert timedelta(hours=75) < at - AT < timedelta(hours=76)
    assert attempt_result(500, "", attempts=len(PAUSES), at=at, jitter=0).state == "failed"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, "delivered"),
        (204, "delivered"),
        (299, "delivered"),
        (301, "pending"),
        (404, "pending"),
        (0, "pending"),
        (503, "pending"),
        (410, "failed"),
    ],
)
def test_only_2xx_is_a_success_and_410_is_the_end(status, state):
    result = attempt_result(status, "", attempts=1, at=AT, jitter=0)
    assert result.state == state
    assert result.endpoint_removed is (status == 410)


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("120", timedelta(seconds=120)),
        ("1", timedelta(seconds=5)),
        ("Wed, 04 Mar 2026 05:16:07 GMT", timedelta(minutes=10)),
        ("Wed, 04 Mar 2020 05:16:07 GMT", timedelta(seconds=5)),
        ("9" * 5000, MAX_RETRY_AFTER),
        ("-7", timedelta(seconds=5)),
        ("²", timedelta(seconds=5)),
        ("soon", timedelta(seconds=5)),
        ("Wed, 99 Mar 99999 99:99:99 GMT", timedelta(seconds=5)),
        ("Wed, 04 Mar 2026 05:16:07", timedelta(minutes=10)),
    ],
)
def test_retry_after_can_only_lengthen_the_pause(header, pause):
    assert attempt_result(503, header, attempts=1, at=AT, jitter=0).next_attempt_at == AT + pause


def test_jitter_moves_the_pause_by_a_tenth():
    for jitter, seconds in ((-1, 270), (1, 330)):
        assert attempt_result(500, "", attempts=2, at=AT, jitter=jitter).next_attempt_at == AT + timedelta(
            seconds=seconds
        )
