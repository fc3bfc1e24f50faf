"""Tracked times."""

from ingot_chassis.testing.service import count_statements

from .builders import repository


async def test_time_is_tracked_by_contributors(world):
    await world.open_issue(as_=3)
    assert (await world.call("POST", "/issues/1/times", {"time": 60}, as_=4)).status_code == 403
    added = await world.call("POST", "/issues/1/times", {"time": 60}, as_=3)
    assert (added.status_code, added.json()["time"], added.json()["user_id"]) == (200, 60, 3)
    assert (await world.call("POST", "/issues/1/times", {"time": 0})).status_code == 422
    for path in ("/issues/1/times", "/times", "/times/cat", "//user/times"):
        assert len((await world.call("GET", path, as_=3)).json()) == 1, path


async def test_own_times_are_those_in_repositories_that_may_still_be_read(world):
    for number, name in ((9, "open"), (10, "left")):
        world.repos.repositories[number] = repository(number, name=name, private=True)
        world.repos.levels[(number, 2)] = "write"
        await world.call("POST", f"//repos/ann/{name}/issues", {"title": "x"}, as_=2)
        for _ in range(number):
            await world.call("POST", f"//repos/ann/{name}/issues/1/times", {"time": 60}, as_=2)
    assert (await world.call("GET", "//user/times", as_=2)).headers["x-total-count"] == "19"
    del world.repos.levels[(10, 2)]
    with count_statements(world.db) as statements:
        answer = await world.call("GET", "//user/times?limit=5", as_=2)
    assert (len(answer.json()), answer.headers["x-total-count"], len(statements)) == (5, "9", 3)
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
