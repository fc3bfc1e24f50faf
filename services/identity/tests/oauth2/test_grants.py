"""Grants of users to applications: the list of them, and revocation."""

import pytest

from ingot_contracts.identity.events import CredentialsRevoked

from ..applications import get_tokens, make_app

pytestmark = pytest.mark.both_databases


async def test_a_grant_is_listed_and_taken_back_with_all_its_tokens(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    ci, other = await make_app(world), await make_app(world, name="other")
    tokens, other_tokens = await get_tokens(world, ci), await get_tokens(world, other)
    shown = (await world.call("GET", "/user/oauth2_grants", as_="bob")).json()
    assert [(one["application"], one["owner"]) for one in shown] == [("other", "ann"), ("ci", "ann")]
    assert set(shown[1]["scopes"]) == {"openid", "read:user"}
    assert (await world.call("GET", "/user/oauth2_grants", as_="ann")).json() == []

    path = f"/user/oauth2_grants/{shown[1]['id']}"
    assert (await world.call("DELETE", path, as_="ann")).status_code == 404
    assert (await world.authenticate(token=tokens["access_token"])).json()["user_id"]
    assert (await world.call("DELETE", path, as_="bob")).status_code == 204
    assert (await world.call("DELETE", path, as_="bob")).status_code == 404
    assert not (await world.authenticate(token=tokens["access_token"])).json()["user_id"]
    assert (await ci.refresh(tokens["refresh_token"])).status_code == 400
    assert (await world.authenticate(token=other_tokens["access_token"])).json()["user_id"]
    assert len(await world.emitted(CredentialsRevoked)) == 1


async def test_the_list_takes_the_same_statements_for_any_number(world):
    for name in ("ann", "bob"):
        await world.add_user(name)
    await world.call("GET", "/user/oauth2_grants", as_="bob")
    counts = []
    for number in range(2):
        await get_tokens(world, await make_app(world, name=f"app {number}"))
        with world.count_statements() as statements:
            await world.call("GET", "/user/oauth2_grants", as_="bob")
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1]
