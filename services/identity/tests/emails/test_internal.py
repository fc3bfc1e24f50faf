"""Addresses for mail: confirmed ones of users who may sign in."""

from ingot_chassis.security.principal import ANONYMOUS

from ..world import REPOS


async def recipient(world, account_id):
    headers = REPOS.headers(ANONYMOUS, peer="mail")
    answer = await world.http.get(f"/internal/accounts/{account_id}/mail-recipient", headers=headers)
    return answer.json() if answer.status_code == 200 else answer.status_code


async def test_the_primary_address_of_a_user(world):
    ann = await world.add_user("ann")
    assert (await recipient(world, ann))["address"] == "ann@example.com"


async def test_the_hidden_address_of_a_user_is_known_to_mail(world):
    ann = await world.add_user("ann")
    await world.call("PATCH", "/user/settings", {"hide_email": True}, as_="ann")
    assert (await recipient(world, ann))["address"] == "ann@example.com"


async def test_a_user_who_may_not_sign_in_gets_nothing(world):
    ann = await world.add_user("ann")
    await world.call("PATCH", "/admin/users/ann", {"prohibit_login": True}, as_="root")
    assert await recipient(world, ann) == 404


async def test_an_organization_has_no_address(world):
    await world.add_user("ann")
    acme = (await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    assert await recipient(world, acme) == 404


async def test_nobody_but_mail_asks(world):
    ann = await world.add_user("ann")
    assert (await world.get_as_peer(f"/internal/accounts/{ann}/mail-recipient")).status_code == 404
