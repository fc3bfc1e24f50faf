"""Access to every route for members of teams whose permission differs by unit."""

import pytest

from ingot_contracts.identity.units import UNITS
from ingot_contracts.repos.access import AccessLevel

from ..builders import APP, repository
from ..world import PULL
from .test_roles import MATRIX, Things

BOB, CARL = 2, 3
OF_EITHER = ("/labels", "/milestones", "/notifications", "/new_pin_allowed")


def access(rest="none", **units):
    """``rest`` is the level in all other units."""
    return AccessLevel(level="none", units=dict.fromkeys(UNITS, rest) | units)


def unit_of(path):
    """The unit of a route, by its path below the repository, of things that belong to issues."""
    if path.startswith(OF_EITHER):
        return "either"
    if path.startswith(("/pulls", "/commits")):
        return "code" if path.endswith(("/merge", "/refusals", "/update")) else "pulls"
    return "issues"


ROUTES = {route: statuses for route, statuses in MATRIX.items() if "{subscriber}" not in route}


@pytest.mark.parametrize("level", ["none", "read", "write"])
@pytest.mark.parametrize("rest", ["none", "read"])
async def test_a_route_answers_by_the_level_in_its_unit(world, level, rest):
    things, answers, expectations = Things(world), {}, {}
    for route, (_, as_reader, as_writer, _) in ROUTES.items():
        method, path = route.split(" ")
        unit = unit_of(path)
        world.repos.repositories[7], world.repos.levels[APP, CARL] = repository(), "read"
        target = await things.filled(path)
        world.repos.repositories[7] = repository(private=True)
        match unit:
            case "either":
                levels = {"issues": level}
            case "pulls":
                levels = {"pulls": level, "code": "read"}
            case "code":
                levels = {"pulls": "read", "code": level}
            case _:
                levels = {"issues": level, "pulls": "none"}
        world.repos.levels[APP, CARL] = access(rest, **levels)
        body = things.body(route) if method != "GET" else None
        answer = await world.call(method, target, body, as_=CARL)
        answers[route] = answer.status_code
        if level == "none" and not (unit == "either" and rest == "read"):
            expectations[route] = 404
        else:
            expectations[route] = as_writer if level == "write" else as_reader
    different = {
        key: (answers[key], expectations[key]) for key in answers if answers[key] != expectations[key]
    }
    assert different == {}


@pytest.mark.parametrize(
    ("pulls", "statuses"), [("none", {404}), ("read", {403}), ("write", {200, 201, 204})]
)
async def test_a_pull_request_below_issues_goes_by_pull_requests(world, pulls, statuses):
    await world.propose(as_=1)
    label = await world.create_label()
    comment = (await world.call("POST", "/issues/1/comments", {"body": "x"})).json()["id"]
    world.repos.repositories[7] = repository(private=True)
    world.repos.levels[APP, BOB] = access(
        code="read", issues="write" if pulls == "none" else "none", pulls=pulls
    )
    for path in (
        "/issues/1",
        "/issues/1/comments",
        f"/issues/comments/{comment}",
        "/issues/1/labels",
        "/issues/1/timeline",
    ):
        read = await world.call("GET", path, as_=BOB)
        assert read.status_code == (404 if pulls == "none" else 200), path
    writes = [
        await world.call(method, path, body, as_=BOB)
        for method, path, body in (
            ("POST", "/issues/1/labels", {"labels": [label["id"]]}),
            ("PUT", "/issues/1/lock", {}),
            ("POST", "/issues/1/deadline", {"due_date": None}),
            ("PATCH", "/issues/1", {"title": "y"}),
        )
    ]
    assert {answer.status_code for answer in writes} <= statuses, [answer.text for answer in writes]
    commented = await world.call("POST", "/issues/1/comments", {"body": "y"}, as_=BOB)
    assert commented.status_code == (404 if pulls == "none" else 201)


async def test_lists_leave_out_what_the_caller_may_not_read(world):
    await world.open_issue()
    await world.propose(as_=1)
    for number in (1, 2):
        await world.call("POST", f"/issues/{number}/comments", {"body": "x"})
        await world.call("POST", f"/issues/{number}/times", {"time": 1})
        await world.call("POST", f"/issues/{number}/reactions", {"content": "eyes"})
        await world.call("POST", f"/issues/{number}/stopwatch/start", as_=1)
    world.repos.repositories[7] = repository(private=True)

    async def numbers(path):
        listed = (await world.call("GET", path, as_=BOB)).json()
        return [one["number"] for one in listed]

    for levels, shown in (
        ({"issues": "read"}, [1]),
        ({"pulls": "read", "code": "read"}, [2]),
        ({"pulls": "read"}, []),
        ({"issues": "read", "pulls": "read", "code": "read"}, [2, 1]),
    ):
        world.repos.levels[APP, BOB] = access(**levels)
        assert await numbers("//repos/issues/search?state=all") == shown, levels
        if shown or ("pulls" in levels and "code" in levels):
            assert await numbers("/issues?state=all") == shown, levels
            comments = (await world.call("GET", "/issues/comments", as_=BOB)).json()
            assert len(comments) == len(shown), levels
            times = (await world.call("GET", "/times", as_=BOB)).json()
            assert len(times) == len(shown), levels
            assert sorted(await numbers("/issues/reactions?issues=1,2")) == sorted(shown), levels
        else:
            assert (await world.call("GET", "/issues", as_=BOB)).status_code == 404


async def test_own_lists_leave_out_what_is_not_readable_any_more(world):
    await world.open_issue()
    await world.propose(as_=1)
    for number in (1, 2):
        await world.call("POST", f"/issues/{number}/times", {"time": 1}, as_=BOB)
        await world.call("POST", f"/issues/{number}/stopwatch/start", as_=BOB)
        await world.call("POST", f"/issues/{number}/comments", {"body": "@bob"})
    await world.work()
    world.repos.repositories[7] = repository(private=True)
    for levels, count in (
        ({"issues": "read"}, 1),
        ({"pulls": "read", "code": "read"}, 1),
        ({"releases": "read"}, 0),
        ({"issues": "read", "pulls": "read", "code": "read"}, 2),
    ):
        world.repos.levels[APP, BOB] = access(**levels)
        for path in ("//user/times", "//user/stopwatches", "//notifications?all=true"):
            listed = (await world.call("GET", path, as_=BOB)).json()
            assert len(listed) == count, (levels, path)


async def test_a_mention_notifies_readers_of_that_unit(world):
    world.repos.repositories[7] = repository(private=True)
    for units, count in (({"pulls": "read", "code": "read"}, 0), ({"issues": "read"}, 1)):
        world.repos.levels[APP, BOB] = access(**units)
        await world.open_issue(body="@bob")
        await world.work()
        world.repos.levels[APP, BOB] = "read"
        assert len((await world.call("GET", "//notifications", as_=BOB)).json()) == count


async def test_a_person_is_assigned_by_the_unit(world):
    await world.open_issue()
    world.repos.repositories[7] = repository(private=True)
    for units, assigned in (({"pulls": "write", "code": "read"}, 422), ({"issues": "read"}, 201)):
        world.repos.levels[APP, BOB] = access(**units)
        answer = await world.call("POST", "/issues/1/assignees", {"assignees": ["bob"]})
        assert answer.status_code == assigned, answer.text


async def test_who_writes_the_code_proposes_and_merges(world):
    world.repos.repositories[7] = repository(private=True)
    world.repos.levels[APP, BOB] = access(code="read", pulls="read")
    assert (await world.call("POST", "/pulls", PULL, as_=BOB)).status_code == 403
    world.repos.levels[APP, BOB] = access(code="write", pulls="read")
    assert (await world.call("POST", "/pulls", PULL, as_=BOB)).status_code == 201
    world.repos.levels[APP, BOB] = access(code="read", pulls="write")
    assert (await world.call("POST", "/pulls/1/merge", {}, as_=BOB)).status_code == 403
    world.repos.levels[APP, BOB] = access(code="write", pulls="read")
    assert (await world.call("POST", "/pulls/1/merge", {}, as_=BOB)).status_code == 200


async def test_a_remembered_level_by_unit_never_refuses(world):
    await world.open_issue()
    world.repos.repositories[7] = repository(private=True)
    world.repos.levels[APP, BOB] = access(pulls="read", code="read")
    assert (await world.call("GET", "/issues/1", as_=BOB)).status_code == 404
    world.repos.levels[APP, BOB] = access(issues="write")
    opened = await world.call("PUT", "/issues/1/lock", {}, as_=BOB, remember=True)
    assert opened.status_code == 204, opened.text
