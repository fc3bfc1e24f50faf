"""The timeline of an issue: what happened, in order."""

from typing import get_args

import pytest

from ingot_contracts.issues.timelines import TimelineType
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.timeline.api import TYPES

pytestmark = pytest.mark.both_databases


async def test_everything_is_in_the_timeline_in_order(world):
    label = await world.create_label()
    milestone = await world.create_milestone()
    await world.open_issue("old")
    for method, path, body in (
        ("POST", "/issues/1/comments", {"body": "hello"}),
        ("POST", "/issues/1/labels", {"labels": [label["id"]]}),
        ("DELETE", "/issues/1/labels", None),
        ("PATCH", "/issues/1", {"milestone": milestone["id"]}),
        ("PATCH", "/issues/1", {"milestone": 0}),
        ("PATCH", "/issues/1", {"assignees": ["bob"]}),
        ("PATCH", "/issues/1", {"assignees": []}),
        ("PATCH", "/issues/1", {"title": "new"}),
        ("PATCH", "/issues/1", {"due_date": "2030-01-02T00:00:00Z"}),
        ("PATCH", "/issues/1", {"due_date": "2030-01-03T00:00:00Z"}),
        ("PATCH", "/issues/1", {"unset_due_date": True}),
        ("PUT", "/issues/1/lock", {"lock_reason": "heat"}),
        ("DELETE", "/issues/1/lock", None),
        ("POST", "/issues/1/times", {"time": 60}),
        ("PATCH", "/issues/1", {"state": "closed"}),
        ("PATCH", "/issues/1", {"state": "open"}),
    ):
        assert (await world.call(method, path, body)).status_code < 300, (method, path)
    rows = await world.timeline()
    assert [row["type"] for row in rows] == [
        "comment", "label", "label", "milestone", "milestone", "assignees", "assignees", "change_title",
        "added_deadline", "modified_deadline", "removed_deadline", "lock", "unlock", "add_time_manual",
        "close",
        "reopen",
    ]  # fmt: skip
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    said, put, taken, moved, left, assigned, freed, renamed, due, later, never, locked, _, tracked, *_ = rows
    assert (said["body"], said["user"]["login"]) == ("hello", "ann")
    assert (put["label"]["name"], put["body"], taken["body"]) == ("bug", "1", "")
    assert (moved["milestone"]["title"], moved["old_milestone"]) == ("one", None)
    assert (left["milestone"], left["old_milestone"]["title"]) == (None, "one")
    assert (assigned["assignee"]["login"], assigned["removed_assignee"]) == ("bob", False)
    assert (freed["assignee"]["login"], freed["removed_assignee"]) == ("bob", True)
    assert (renamed["old_title"], renamed["new_title"]) == ("old", "new")
    assert [row["body"] for row in (due, later, never)] == [
        "2030-01-02",
        "2030-01-03|2030-01-02",
        "2030-01-03",
    ]
    assert (locked["body"], tracked["tracked_time"]["time"]) == ("heat", 60)


def test_every_kind_of_row_has_a_type():
    assert set(TYPES) == set(CommentKind)
    assert sorted(TYPES.values()) == sorted(get_args(TimelineType))


async def test_changes_that_change_nothing_leave_no_trace(world):
    await world.open_issue("same", assignees=["bob"], body="x")
    before = await world.kinds()
    for body in (
        {"title": "same"},
        {"assignees": ["bob"]},
        {"state": "open"},
        {"body": "x"},
        {"milestone": 0},
    ):
        await world.call("PATCH", "/issues/1", body)
    await world.call("DELETE", "/issues/1/lock")
    assert await world.kinds() == before == ["assignees"]


async def test_deleted_labels_and_milestones_are_left_out(world):
    label = await world.create_label()
    milestone = await world.create_milestone()
    await world.open_issue(labels=[label["id"]], milestone=milestone["id"])
    await world.call("DELETE", f"/labels/{label['id']}")
    await world.call("DELETE", f"/milestones/{milestone['id']}")
    assert [(row["label"], row["milestone"]) for row in await world.timeline()] == [(None, None)] * 2


async def test_a_timeline_is_paged_and_filtered_by_time(world):
    await world.open_issue()
    for n in range(5):
        await world.call("POST", "/issues/1/comments", {"body": f"{n}"})
    paged = await world.call("GET", "/issues/1/timeline?limit=2&page=2")
    assert [row["body"] for row in paged.json()] == ["2", "3"]
    assert (paged.headers["x-total-count"], 'rel="next"' in paged.headers["link"]) == ("5", True)
    for query, count in {
        "since=2999-01-01T00:00:00Z": 0,
        "before=2000-01-01T00:00:00Z": 0,
        "since=rubbish": 5,
        "since=2000-01-01T00:00:00Z": 5,
    }.items():
        assert len(await world.timeline(query=f"?{query}")) == count


async def test_the_place_of_an_entry_is_the_total_of_the_timeline_up_to_it(world):
    await world.open_issue()
    ids = [(await world.call("POST", "/issues/1/comments", {"body": "x"})).json()["id"] for _ in range(3)]
    for query, total in (
        (f"up_to={ids[1]}", "2"),
        (f"up_to={ids[1]}&page=9", "2"),
        ("up_to=0", "3"),
        ("up_to=-1", "0"),
    ):
        shown = await world.call("GET", f"/issues/1/timeline?limit=1&{query}")
        assert (shown.status_code, shown.headers["x-total-count"]) == (200, total)
    for no_id, status in (("x", 422), (2**63, 422), (-(2**63) - 1, 422), (10**30, 422)):
        refused = await world.call("GET", f"/issues/1/timeline?up_to={no_id}")
        assert (refused.status_code, "up_to" in refused.text) == (status, True)


async def test_an_unknown_issue_has_no_timeline(world):
    assert (await world.call("GET", "/issues/9/timeline")).status_code == 404


async def test_a_timeline_takes_as_many_statements_for_many_rows_as_for_few(world):
    label = (await world.create_label())["id"]
    milestone = (await world.create_milestone())["id"]
    await world.open_issue(labels=[label], milestone=milestone, assignees=["bob"])
    await world.call("POST", "/issues/1/times", {"time": 5})
    counts = []
    for count in (2, 8):
        for n in range(count):
            await world.open_issue(f"#1 again {n}")
            await world.call("POST", "/issues/2/comments", {"body": f"#1 {n}"}, as_=3)
        counts.append(len(await world.sql("/issues/1/timeline?limit=50")))
    assert 0 < counts[0] == counts[1] <= 12
