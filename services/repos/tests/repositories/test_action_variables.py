"""Variables of Actions of a repository."""

PATH = "/api/v1/repos/ann/app/actions/variables"


async def test_a_variable_is_kept_changed_and_deleted_with_its_repository(world, ann):
    repository = await ann.create("app")
    first = {"owner_id": 0, "repo_id": repository["id"], "name": "FIRST", "data": "1\n ", "description": "d"}
    for name, body, status in (
        ("first", {"value": "1\n ", "description": "d"}, 201),
        ("FIRST", {"value": "2"}, 409),
        ("second", {"value": "2"}, 201),
        ("github_x", {"value": "2"}, 422),
        ("third", {}, 422),
    ):
        answer = await ann.call("POST", f"{PATH}/{name}", body)
        assert (answer.status_code, bool(answer.content)) == (status, status != 201)
    assert (await ann.call("GET", f"{PATH}/First")).json() == first
    with world.count_statements() as statements:
        page = await ann.call("GET", f"{PATH}?limit=1")
    assert (page.json(), page.headers["x-total-count"]) == ([first], "2")
    # On PostgreSQL the repository is looked up past SQLAlchemy, whose statements are counted (ADR 12).
    assert len(statements) == 3

    for name, body, status in (
        ("first", {"value": "3", "name": "second"}, 409),
        ("first", {"value": "3", "name": "1st"}, 422),
        ("first", {"value": ""}, 422),
        ("none", {"value": "3"}, 404),
        ("first", {"value": "3", "name": "third"}, 204),
    ):
        assert (await ann.call("PUT", f"{PATH}/{name}", body)).status_code == status
    changed = first | {"name": "THIRD", "data": "3", "description": ""}
    assert (await ann.call("GET", f"{PATH}/third")).json() == changed
    for status in (204, 404):
        assert (await ann.call("DELETE", f"{PATH}/third")).status_code == status
    assert [variable["name"] for variable in (await ann.call("GET", PATH)).json()] == ["SECOND"]
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    assert await world.rows("action_variable") == []
