"""Access tokens: named by id or name, and the one that a request came with."""

import pytest

from ingot_contracts.identity.events import CredentialsRevoked


async def make_token(world, name="t", **body):
    answer = await world.call("POST", "/users/ann/tokens", {"name": name} | body, as_="ann")
    return answer.json()


async def names(world):
    return [row["name"] for row in (await world.call("GET", "/users/ann/tokens", as_="ann")).json()]


async def test_a_token_is_deleted_by_its_id_or_its_name(world):
    await world.add_user("ann")
    token = await make_token(world)
    await make_token(world, "a b")
    for path in (f"/users/ann/tokens/{token['id']}", "/users/ann/tokens/a%20b"):
        assert (await world.call("DELETE", path, as_="ann")).status_code == 204
    assert await names(world) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [("nothing", 404), ("T", 404), ("0", 404), ("-1", 404), ("9" * 30, 404), ("twice", 422), ("%00", 404)],
)
async def test_what_names_no_token_or_several_deletes_none(world, text, status):
    await world.add_user("ann")
    for name in ("t", "twice", "twice"):
        await make_token(world, name)
    answer = await world.call("DELETE", f"/users/ann/tokens/{text}", as_="ann")
    assert answer.status_code == status
    assert sorted(await names(world)) == ["t", "twice", "twice"]


@pytest.mark.parametrize("scopes", [["all"], ["read:issue"]])
async def test_a_token_shows_itself_and_deletes_itself(world, scopes):
    user_id = await world.add_user("ann")
    token = await make_token(world, "mine", scopes=scopes)
    secret = token["sha1"]
    shown = (await world.call("GET", "/token", token=secret)).json()
    assert (shown["id"], shown["name"], shown["scopes"]) == (token["id"], "mine", scopes)
    assert shown["user"] == {"id": user_id, "login": "ann"}
    assert secret not in str(shown)
    assert (await world.call("DELETE", "/token", token=secret)).status_code == 204
    assert (await world.emitted(CredentialsRevoked))[-1].user_id == user_id
    assert (await world.call("GET", "/token", token=secret)).status_code == 404
    assert (await world.authenticate(token=secret)).json()["user_id"] == 0


async def test_scopes_of_other_servers_are_kept_and_shown(world):
    await world.add_user("ann")
    groups = ("notification", "package", "activitypub", "project")
    scopes = [f"{act}:{group}" for group in groups for act in ("read", "write")]
    token = await make_token(world, scopes=scopes)
    assert token["scopes"] == scopes
    assert (await world.call("GET", "/user", token=token["sha1"])).status_code == 403


async def test_a_token_by_which_somebody_else_acts_is_not_theirs(world):
    await world.add_user("ann")
    answer = await world.call("POST", "/users/root/tokens", {"name": "t"}, as_="root")
    acting = await world.authenticate(token=answer.json()["sha1"], sudo="ann")
    headers = {"ingot-principal": acting.json()["statement"]}
    for method in ("GET", "DELETE"):
        refused = await world.http.request(method, "/api/v1/token", headers=headers)
        assert refused.status_code == 401
