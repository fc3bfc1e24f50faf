"""Permission to be assigned."""

from ..builders import account, repository


async def test_a_writer_naming_an_unknown_assignee_is_refused(world):
    answer = await world.call("POST", "/issues", {"title": "x", "assignee": "nobody"}, as_=2)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "assignee"


async def test_assignees_are_set_and_cleared(world):
    opened = await world.open_issue(assignees=["bob", "Cat"])
    assert [user["login"] for user in opened["assignees"]] == ["bob", "cat"]
    cleared = (await world.call("PATCH", "/issues/1", {"assignee": ""})).json()
    assert cleared["assignees"] == []
    actions = await world.actions()
    assert actions == ["opened", "unassigned"]


async def test_assignees_have_access(world):
    world.repos.repositories[7] = repository(private=True)
    assert (await world.call("POST", "/issues", {"title": "x", "assignee": "cat"})).status_code == 422
    await world.open_issue(assignees=["bob", "ann", "BOB"])
    answer = await world.call("PATCH", "/issues/1", {"assignees": ["bob", "cat"]})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "assignee")
    issue = (await world.call("GET", "/issues/1")).json()
    assert [user["login"] for user in issue["assignees"]] == ["bob", "ann"]
    assert issue["assignee"]["login"] == "bob"
    assert (await world.call("PATCH", "/issues/1", {"assignees": ["ann", "bob"]})).status_code == 201
    world.repos.levels[(7, 2)] = "none"
    assert (await world.call("PATCH", "/issues/1", {"assignees": ["bob"]})).status_code == 201, "is on it"


async def test_an_organization_cannot_be_assigned(world):
    world.identity.accounts[9] = account(1, login="org", kind="organization")
    assert (await world.call("POST", "/issues", {"title": "x", "assignee": "org"})).status_code == 422


async def test_more_than_ten_assignees_are_refused(world):
    names = ["bob"] * 11
    assert (await world.call("POST", "/issues", {"title": "x", "assignees": names})).status_code == 201
    many = [f"user{n}" for n in range(11)]
    assert (await world.call("POST", "/issues", {"title": "x", "assignees": many})).status_code == 422


async def test_people_are_added_and_removed_one_by_one(world):
    await world.open_issue(assignees=["cat"])
    path = "/issues/1/assignees"
    for method, logins, expected in (
        ("POST", ["bob", "CAT"], ["cat", "bob"]),
        ("DELETE", ["Cat", "nobody"], ["bob"]),
        ("DELETE", [], ["bob"]),
    ):
        answer = await world.call(method, path, {"assignees": logins}, as_=2)
        assert answer.status_code == (201 if method == "POST" else 200)
        assert [user["login"] for user in answer.json()["assignees"]] == expected
    assert await world.actions() == ["opened", "assigned", "unassigned"]
    assert await world.kinds() == ["assignees"] * 3
    many = {"assignees": [f"u{number}" for number in range(11)]}
    for body, as_, status in (
        ({"assignees": ["nobody"]}, 2, 422),
        (many, 2, 422),
        ({}, 3, 403),
        ({}, 0, 401),
    ):
        assert (await world.call("POST", path, body, as_=as_)).status_code == status
    world.repos.repositories[7] = repository(private=True)
    for login, status in (("bob", 204), ("dan", 404), ("nobody", 404)):
        assert (await world.call("GET", f"{path}/{login}")).status_code == status
