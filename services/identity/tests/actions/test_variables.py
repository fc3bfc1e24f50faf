"""Variables of Actions of people and organizations."""

import pytest


@pytest.mark.parametrize(("path", "caller"), [("/user", "ann"), ("/orgs/acme", "ann")])
async def test_a_variable_is_kept_changed_and_deleted(world, acme, path, caller):
    async def call(method, name="", body=None):
        return await world.call(method, f"{path}/actions/variables{name}", body, as_=caller)

    owner = (await world.call("GET", path, as_=caller)).json()["id"]
    first = {"owner_id": owner, "repo_id": 0, "name": "FIRST", "data": "1\n ", "description": "d"}
    created = await call("POST", "/first", {"value": "1\n ", "description": "d"})
    assert (created.status_code, created.content) == (201, b"")
    assert (await call("POST", "/FIRST", {"value": "2"})).status_code == 409
    assert (await call("POST", "/second", {"value": "2"})).status_code == 201
    assert (await call("GET", "/First")).json() == first
    with world.count_statements() as statements:
        page = await call("GET", "?limit=1")
    assert (page.json(), page.headers["x-total-count"]) == ([first], "2")
    assert len(statements) < 6

    for name, body, status in (
        ("/first", {"value": "3", "name": "second"}, 409),
        ("/first", {"value": "3", "name": "CI"}, 422),
        ("/first", {"value": ""}, 422),
        ("/none", {"value": "3"}, 404),
        ("/first", {"value": "3", "name": "third"}, 204),
    ):
        assert (await call("PUT", name, body)).status_code == status
    changed = first | {"name": "THIRD", "data": "3", "description": ""}
    assert (await call("GET", "/third")).json() == changed
    for status in (204, 404):
        assert (await call("DELETE", "/third")).status_code == status
    assert [variable["name"] for variable in (await call("GET")).json()] == ["SECOND"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_bad_variable_is_refused_by_field(world, acme):
    names = ("1st", "a-b", "CI", "ci", "gitea_x", "GITHUB_X", "\N{LATIN SMALL LETTER LONG S}", "x" * 256)
    attempts = [(name, {"value": "v"}, "name") for name in names]
    attempts += [("x", {}, "value"), ("x", {"value": ""}, "value"), ("x", {"value": "v" * 65_537}, "value")]
    for name, body, field in attempts:
        answer = await world.call("POST", f"/user/actions/variables/{name}", body, as_="ann")
        assert (name, answer.status_code, answer.json()["errors"][0]["field"]) == (name, 422, field)
        assert (await world.call("GET", f"/user/actions/variables/{name}", as_="ann")).status_code == 404
    assert (await world.call("GET", "/user/actions/variables", as_="ann")).json() == []
