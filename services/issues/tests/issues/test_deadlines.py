"""The due date of an issue."""

import pytest


async def test_a_deadline_is_set_and_removed(world):
    await world.open_issue()
    for due_date, expected in (("2030-01-01T00:00:00+01:00", "2029-12-31T23:00:00Z"), (None, None)):
        answer = await world.call("POST", "/issues/1/deadline", {"due_date": due_date})
        assert (answer.status_code, answer.json()) == (201, {"due_date": expected})
    assert await world.kinds() == ["added_deadline", "removed_deadline"]


@pytest.mark.parametrize("due_date", ["soon", "2030-13-01T00:00:00Z", "9" * 5000])
async def test_what_is_no_time_is_refused(world, due_date):
    await world.open_issue()
    answer = await world.call("POST", "/issues/1/deadline", {"due_date": due_date})
    assert answer.status_code == 422
    assert "due_date" in answer.text
