"""The pause before a failed event is retried."""

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_chassis.events.backlog import Backlog, Delivery
from ingot_chassis.events.envelope import Envelope


@pytest.mark.parametrize(("counts", "longest"), [(False, 2), (True, 10)])
def test_what_failed_often_is_tried_again_within_seconds(counts, longest):
    backlog = Backlog()
    backlog.append(
        Delivery(None, Envelope(id="1", type="t", key="k", seq=1, occurred_at=now(), data=msgspec.Raw(b"{}")))
    )
    for _ in range(30):
        backlog.postpone("k", counts=counts)
    assert longest - 1 < backlog.seconds_until_due() <= longest
