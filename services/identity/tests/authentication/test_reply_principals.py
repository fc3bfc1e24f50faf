"""The principal of a reply by mail: for a confirmed address of a user who may sign in."""

import jwt

from ingot_chassis.security.principal import ANONYMOUS

from ..world import REPOS


async def principal_of(world, account_id, address="ann@example.com", *, peer="mail"):
    headers = REPOS.headers(ANONYMOUS, peer=peer)
    path = f"/internal/accounts/{account_id}/reply-principal"
    answer = await world.http.post(path, json={"address": address}, headers=headers)
    if answer.status_code != 200:
        return answer.status_code
    return jwt.decode(answer.json()["principal_token"], options={"verify_signature": False})


async def test_a_confirmed_address_gets_a_principal_that_may_only_write_issues(world):
    ann = await world.add_user("ann")
    claims = await principal_of(world, ann, "Ann@Example.COM")
    assert claims["principal"] == {"id": ann, "name": "ann", "via": "mail", "scopes": ["write:issue"]}
    assert claims["aud"] == ["issues", "repos"]


async def test_an_administrator_replies_as_an_ordinary_user(world):
    root = (await world.call("GET", "/user", as_="root")).json()
    claims = await principal_of(world, root["id"], root["email"])
    assert "admin" not in claims["principal"]


async def test_an_address_that_is_not_confirmed_gets_none(world):
    ann = await world.add_user("ann")
    await world.call("POST", "/user/emails", {"emails": ["new@example.com"]}, as_="ann")
    assert await principal_of(world, ann, "new@example.com") == 404


async def test_the_address_of_another_user_gets_none(world):
    ann, _ = await world.add_user("ann"), await world.add_user("bob")
    assert await principal_of(world, ann, "bob@example.com") == 404


async def test_a_user_who_may_not_sign_in_gets_none(world):
    ann = await world.add_user("ann")
    await world.call("PATCH", "/admin/users/ann", {"prohibit_login": True}, as_="root")
    assert await principal_of(world, ann) == 404


async def test_only_mail_gets_it(world):
    ann = await world.add_user("ann")
    assert await principal_of(world, ann, peer="repos") == 404
