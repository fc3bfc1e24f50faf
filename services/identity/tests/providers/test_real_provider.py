"""Sign-in with a certified provider: first sign-ins, groups, sign-out on both sides."""

import asyncio

import pytest

from ingot_contracts.identity.events import CredentialsRevoked

from ..world import PASSWORD
from .counterparts import ANN, CLIENT, PUBLIC_URL, Visitor, real_provider

SCOPES = ["openid", "profile", "email", "groups"]


@pytest.fixture
async def provider(tmp_path):
    async with real_provider(tmp_path) as provider:
        yield provider


@pytest.fixture
async def site(make_world, acme, provider):
    """A world that knows the provider, with the organization acme."""
    del acme
    async with make_world(allowed_providers=["127.0.0.1"]) as world:
        yield world


async def add_source(world, provider, **config):
    fields = {"kind": "oidc", "issuer": provider.issuer, "client_id": CLIENT["client_id"], "scopes": SCOPES}
    body = {"name": "corp", "title": "Corp", "secret": CLIENT["client_secret"], "config": fields | config}
    answer = await world.call("POST", "/admin/auths", body, as_="root")
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def sign_in(world, provider, person="ann", visitor=None, **query):
    """A browser after the sign-in of a person, and the last answer."""
    visitor = visitor or Visitor(world.app)
    back = await provider.sign_in(await visitor.begin_at(**query), person)
    return visitor, await visitor.http.get(back.removeprefix(PUBLIC_URL.rstrip("/")))


async def who(world, visitor):
    return (await world.authenticate(session=visitor.session)).json()["user_id"]


async def test_a_first_sign_in_makes_the_account(site, provider):
    source_id = await add_source(site, provider, first_sign_in="create")
    provider.know(eve=ANN | {"preferred_username": "eve", "email": "eve@corp.example"})
    visitor, answer = await sign_in(site, provider, "eve", to="/acme")
    assert (answer.status_code, answer.headers["location"]) == (303, "/acme")
    account = (await site.call("GET", "/users/eve", as_="root")).json()
    assert await who(site, visitor) == account["id"]
    assert (account["source_id"], account["login_name"]) == (source_id, "eve")
    assert (account["full_name"], account["email"]) == ("Ann Example", "eve@corp.example")


async def test_groups_give_and_take_teams_and_the_administration(site, provider):
    team = (await site.call("POST", "/orgs/acme/teams", {"name": "coders"}, as_="ann")).json()["id"]
    mapping = {"developers": {"acme": ["coders", "absent"], "nowhere": ["x"]}}
    await add_source(
        site, provider, first_sign_in="create", group_team_map=mapping, admin_groups=["operators"]
    )
    member = ANN | {"preferred_username": "eve", "email": "eve@corp.example"}
    provider.know(eve=member | {"groups": ["developers", "operators"]})
    await sign_in(site, provider, "eve")
    path = f"/teams/{team}/members/eve"
    assert (await site.call("GET", path, as_="ann")).status_code == 200
    assert (await site.call("GET", "/users/eve", as_="root")).json()["is_admin"]
    refused = [
        await site.call("DELETE", path, as_="ann"),
        await site.call("DELETE", "/orgs/acme/members/eve", as_="ann"),
        await site.call("PATCH", "/admin/users/eve", {"admin": False}, as_="root"),
    ]
    assert [(answer.status_code, "Corp" in answer.json()["message"]) for answer in refused] == [
        (409, True)
    ] * 3
    provider.know(eve=member | {"groups": []})
    await sign_in(site, provider, "eve")
    assert (await site.call("GET", path, as_="ann")).status_code == 404
    assert not (await site.call("GET", "/users/eve", as_="root")).json()["is_admin"]


async def test_a_group_restricts_users_until_they_leave_it(site, provider):
    source_id = await add_source(site, provider, first_sign_in="create", restricted_groups=["contractors"])
    member = ANN | {"preferred_username": "eve", "email": "eve@corp.example"}
    provider.know(eve=member | {"groups": ["contractors"]})
    visitor, _ = await sign_in(site, provider, "eve")

    async def is_restricted():
        return (await site.call("GET", "/users/eve", as_="root")).json()["restricted"]

    async def is_granted_only():
        token = (await site.authenticate(session=visitor.session)).json()["statement"]
        return (await site.app.state.principal_verifier.verify(token)).granted_only

    assert (await is_restricted(), await is_granted_only()) == (True, True)
    refused = await site.call("PATCH", "/admin/users/eve", {"restricted": False}, as_="root")
    assert (refused.status_code, "the groups of Corp" in refused.json()["message"]) == (409, True)
    # A change that repeats the value, as forms send it, is none.
    same = await site.call("PATCH", "/admin/users/eve", {"restricted": True, "full_name": "E"}, as_="root")
    assert same.status_code == 200
    provider.know(eve=member | {"groups": ["staff"]})
    visitor, _ = await sign_in(site, provider, "eve")
    assert (await is_restricted(), await is_granted_only()) == (False, False)

    provider.know(eve=member | {"groups": ["contractors"]})
    await sign_in(site, provider, "eve")
    await site.call("PATCH", "/admin/users/eve", {"password": PASSWORD}, as_="root")
    # People must not end their restriction when they unlink their account.
    unlinked = await site.call("DELETE", f"/user/external_accounts/{source_id}", as_="eve")
    assert (unlinked.status_code, await is_restricted()) == (204, True)
    assert (
        await site.call("PATCH", "/admin/users/eve", {"restricted": False}, as_="root")
    ).status_code == 200


async def test_a_person_who_may_no_longer_come_stays_restricted(site, provider):
    config = {"restricted_groups": ["contractors"], "required_groups": ["contractors"]}
    await add_source(site, provider, first_sign_in="create", **config)
    member = ANN | {"preferred_username": "eve", "email": "eve@corp.example"}
    provider.know(eve=member | {"groups": ["contractors"]})
    await sign_in(site, provider, "eve")
    provider.know(eve=member | {"groups": []})
    _, answer = await sign_in(site, provider, "eve")
    assert answer.status_code == 403
    assert (await site.call("GET", "/users/eve", as_="root")).json()["restricted"]


async def test_a_group_neither_marks_nor_ends_a_restriction_by_hand(site, provider):
    await add_source(site, provider, first_sign_in="create", restricted_groups=["contractors"])
    member = ANN | {"preferred_username": "eve", "email": "eve@corp.example"}
    provider.know(eve=member | {"groups": []})
    await sign_in(site, provider, "eve")
    await site.call("PATCH", "/admin/users/eve", {"restricted": True}, as_="root")
    for groups in (["contractors"], []):
        provider.know(eve=member | {"groups": groups})
        await sign_in(site, provider, "eve")
        assert (await site.call("GET", "/users/eve", as_="root")).json()["restricted"]
    freed = await site.call("PATCH", "/admin/users/eve", {"restricted": False}, as_="root")
    assert (freed.status_code, freed.json()["restricted"]) == (200, False)


async def test_an_account_with_the_verified_address_is_linked_after_its_password(site, provider):
    await add_source(site, provider, first_sign_in="link")
    provider.know(x1=ANN | {"email": "mia@example.com"})
    visitor, page = await sign_in(site, provider, "x1")
    assert page.status_code == 200
    assert not visitor.session
    wrong = await visitor.submit(page, password="wrong")
    assert wrong.status_code == 422
    assert not visitor.session
    assert (await visitor.submit(wrong, password=PASSWORD)).status_code == 303
    mia = (await site.call("GET", "/users/mia")).json()["id"]
    assert await who(site, visitor) == mia
    again, answer = await sign_in(site, provider, "x1")
    assert answer.status_code == 303
    assert await who(site, again) == mia


async def test_the_provider_ends_sessions_with_its_logout_token(site, provider):
    await add_source(site, provider, first_sign_in="create")
    provider.know(eve=ANN | {"preferred_username": "eve", "email": "eve@corp.example"})
    visitor, _ = await sign_in(site, provider, "eve")
    user_id = await who(site, visitor)
    page = await visitor.submit(await visitor.http.get("/login"))
    assert page.status_code == 200
    assert page.headers["refresh"].startswith(f"0; url={provider.issuer}/session/end?")
    other, _ = await sign_in(site, provider, "eve")
    await provider.end_session(page.headers["refresh"].removeprefix("0; url="))
    form = {"logout_token": await asyncio.wait_for(provider.logout_tokens.get(), 30)}
    ended = await other.http.post("/login/oidc/corp/logout", data=form)
    assert ended.status_code == 200, ended.text
    assert await who(site, other) == 0
    assert CredentialsRevoked(user_id=user_id) in await site.emitted(CredentialsRevoked)
    again = await other.http.post("/login/oidc/corp/logout", data=form)
    assert again.status_code == 400
