"""Tracked times."""

import pytest

from ingot_contracts.repos.trackers import InternalTracker
from ingot_testing.service import count_statements

from ..builders import APP, repository

pytestmark = pytest.mark.both_databases
SQLITE = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


async def test_time_is_tracked_by_contributors(world):
    await world.open_issue(as_=3)
    assert (await world.call("POST", "/issues/1/times", {"time": 60}, as_=4)).status_code == 403
    added = await world.call("POST", "/issues/1/times", {"time": 60}, as_=3)
    assert (added.status_code, added.json()["time"], added.json()["user_id"]) == (200, 60, 3)
    assert (await world.call("POST", "/issues/1/times", {"time": 0})).status_code == 400
    for path in ("/issues/1/times", "/times", "/times/cat", "//user/times"):
        assert len((await world.call("GET", path, as_=3)).json()) == 1, path


@SQLITE
async def test_everybody_tracks_time_where_the_repository_says_so(world):
    world.repos.repositories[APP] = repository(internal_tracker=InternalTracker(enable_time_tracker=True))
    await world.open_issue(as_=3)
    assert (await world.call("POST", "/issues/1/times", {"time": 60}, as_=4)).status_code == 200
    assert (await world.call("POST", "/issues/1/stopwatch/start", as_=4)).status_code == 201
    assert (await world.call("POST", "/issues/1/times", {"time": 60}, as_=0)).status_code == 401


@SQLITE
async def test_no_time_is_tracked_where_that_is_off(world):
    await world.open_issue()
    time = (await world.call("POST", "/issues/1/times", {"time": 60})).json()
    world.repos.repositories[APP] = repository(internal_tracker=InternalTracker())
    for method, path, status in [
        ("POST", "/issues/1/times", 400),
        ("DELETE", "/issues/1/times", 400),
        ("DELETE", f"/issues/1/times/{time['id']}", 400),
        ("GET", "/issues/1/times", 404),
        ("GET", "/times", 400),
        ("GET", "/times/ann", 400),
        ("POST", "/issues/1/stopwatch/start", 403),
        ("POST", "/issues/1/stopwatch/stop", 403),
        ("DELETE", "/issues/1/stopwatch/delete", 403),
        ("POST", "/issues/9/times", 404),
    ]:
        refused = await world.call(method, path, {"time": 60})
        assert refused.status_code == status, (method, path, refused.text)
    world.repos.repositories[APP] = repository()
    assert len((await world.call("GET", "/issues/1/times")).json()) == 1


async def test_times_of_others_and_of_other_days_are_listed_with_their_issues(world):
    await world.open_issue("Slow")
    for who, login, fields, status in [
        (1, "Bob", {}, 200),
        (1, "ann", {"created": "2026-02-03T04:05:06.7+01:00"}, 200),
        (2, "bob", {"created": "2026-02-03T00:00:00Z"}, 200),
        (2, "ann", {}, 403),
        (1, "nobody", {}, 400),
        (1, "", {"created": "yesterday"}, 400),
        (1, "", {"created": None}, 200),
    ]:
        body = {"time": 60, "user_name": login, **fields}
        answer = await world.call("POST", "/issues/1/times", body, as_=who)
        assert answer.status_code == status, answer.text
    listed = (await world.call("GET", "/issues/1/times")).json()
    assert [(time["user_name"], time["user_id"]) for time in listed] == [
        ("bob", 2), ("ann", 1), ("bob", 2), ("ann", 1),
    ]  # fmt: skip
    assert listed[1]["created"] == "2026-02-03T03:05:06Z"
    assert {(time["issue"]["title"], time["issue"]["repository"]["full_name"]) for time in listed} == {
        ("Slow", "ann/app")
    }
    for query, number in {
        "user=BOB": 2,
        "since=2026-02-04": 4,  # no time: does not filter
        "since=2026-02-04T00:00:00Z": 2,
        "before=2026-02-03T03:05:06Z": 2,
        "since=2026-02-03T01:00:00Z&before=2026-02-04T00:00:00Z&user=ann": 1,
    }.items():
        for path in ("/issues/1/times", "/times"):
            assert len((await world.call("GET", f"{path}?{query}")).json()) == number, query
    assert len((await world.call("GET", "//user/times?before=2026-02-04T00:00:00Z")).json()) == 1
    assert (await world.call("GET", "/times?user=nobody")).status_code == 404


async def test_own_times_are_those_in_repositories_that_may_still_be_read(world):
    for number, name in ((9, "open"), (10, "left")):
        world.repos.repositories[number] = repository(number, name=name, private=True)
        world.repos.levels[(number, 2)] = "write"
        await world.call("POST", f"//repos/ann/{name}/issues", {"title": "x"}, as_=2)
        for _ in range(number):
            await world.call("POST", f"//repos/ann/{name}/issues/1/times", {"time": 60}, as_=2)
    assert (await world.call("GET", "//user/times", as_=2)).headers["x-total-count"] == "19"
    del world.repos.levels[(10, 2)]
    counts = set()
    for limit in (5, 2):
        with count_statements(world.db) as statements:
            answer = await world.call("GET", f"//user/times?limit={limit}", as_=2)
        assert (len(answer.json()), answer.headers["x-total-count"]) == (limit, "9")
        counts.add(len(statements))
    assert len(counts) == 1
    assert world.repos.operations()[-1] == "readable-repositories"
    del world.repos.levels[(9, 2)]
    answer = await world.call("GET", "//user/times", as_=2)
    assert (answer.json(), answer.headers["x-total-count"]) == ([], "0")


async def test_times_are_deleted_by_who_spent_them(world):
    await world.open_issue()
    times = [
        (await world.call("POST", "/issues/1/times", {"time": 5}, as_=who)).json()["id"]
        for who in (1, 2, 2, 1)
    ]
    assert (await world.call("DELETE", f"/issues/1/times/{times[0]}", as_=2)).status_code == 403
    assert (await world.call("DELETE", f"/issues/1/times/{times[1]}", as_=2)).status_code == 204
    assert (await world.call("DELETE", f"/issues/1/times/{times[1]}", as_=2)).status_code == 404
    assert (await world.call("DELETE", f"/issues/1/times/{times[2]}")).status_code == 204
    await world.open_issue()
    assert (await world.call("DELETE", f"/issues/2/times/{times[0]}")).status_code == 404
    for _ in range(2):
        assert (await world.call("DELETE", "/issues/1/times")).status_code == 204
    assert (await world.call("GET", "/issues/1/times")).json() == []
    actions = [event["action"] for event in await world.payloads("issues.time.changed.v1")]
    assert actions == ["created"] * 4 + ["deleted"] * 4
    assert (await world.kinds())[4:] == ["delete_time_manual"] * 4


@pytest.mark.parametrize("created", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-10:00"])
async def test_a_time_beyond_the_calendar_is_refused(world, created):
    await world.open_issue()
    answer = await world.call("POST", "/issues/1/times", {"time": 60, "created": created})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "created")
