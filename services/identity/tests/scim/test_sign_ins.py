"""Sign-ins with a provider of people whom its client of SCIM manages."""

import pytest

from ..providers.counterparts import LyingProvider, served
from ..providers.test_attacks import add_source, attempt
from .clients import make_other_client
from .test_groups import run_task

TEAMS = {"developers": {"acme": ["coders"]}}


@pytest.fixture
async def liar():
    liar = LyingProvider()
    async with served(liar.handlers()) as issuer:
        liar.issuer = issuer
        yield liar


@pytest.fixture
async def site(make_world, liar):
    del liar
    async with make_world(allowed_providers=["127.0.0.1"]) as world:
        for body, path in (({"username": "acme"}, "/orgs"), ({"name": "coders"}, "/orgs/acme/teams")):
            assert (await world.call("POST", path, body, as_="root")).status_code == 201
        yield world


async def provisioned(site, liar, **config):
    """A client of a source that has made no account at a sign-in."""
    source_id = await add_source(site, liar, first_sign_in="refuse", **config)
    return await make_other_client(site, source_id)


async def test_a_person_signs_in_by_the_id_that_scim_sent_and_no_other(site, liar):
    client = await provisioned(site, liar)
    await client.user("cy", externalId="person-1")
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, bool(visitor.session)) == (303, True)
    stranger = {
        "sub": "person-2",
        "preferred_username": "cy",
        "email": "cy@corp.example",
        "email_verified": True,
    }
    visitor, answer = await attempt(site, liar, **stranger)
    assert (answer.status_code, visitor.session) == (403, "")


async def test_another_claim_may_have_the_id(site, liar):
    client = await provisioned(site, liar, subject_claim="oid")
    await client.user("cy", externalId="object-1")
    visitor, answer = await attempt(site, liar, oid="object-1")
    assert (answer.status_code, bool(visitor.session)) == (303, True)


@pytest.mark.parametrize("value", [None, "", 5, ["object-1"], {"a": "b"}, "x" * 256, "a\nb", "person-1"])
async def test_an_answer_without_the_claim_of_the_id_signs_nobody_in(site, liar, value):
    client = await provisioned(site, liar, subject_claim="oid")
    await client.user("cy", externalId="object-1")
    visitor, answer = await attempt(site, liar, sub="object-1", oid=value)
    assert answer.status_code in (400, 403, 502)
    assert visitor.session == ""


async def test_a_deactivated_person_does_not_sign_in(site, liar):
    client = await provisioned(site, liar)
    cy = await client.user("cy", externalId="person-1")
    off = {"op": "replace", "path": "active", "value": False}
    await client.patch(f"Users/{cy['id']}", off)
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, visitor.session) == (403, "")
    assert (await client.call("DELETE", f"Users/{cy['id']}")).status_code == 204
    visitor, answer = await attempt(site, liar)
    assert (answer.status_code, visitor.session) == (403, "")


@pytest.mark.parametrize(("groups_from", "claim", "is_member"), [("scim", [], True), ("sign_in", [], False)])
async def test_a_sign_in_keeps_what_groups_of_scim_gave_if_they_count(
    site, liar, groups_from, claim, is_member
):
    client = await provisioned(site, liar, group_team_map=TEAMS, groups_from="scim")
    await client.group("developers", await client.user("cy", externalId="person-1"))
    config = {"config": {"groups_from": groups_from}}
    await site.call("PATCH", f"/admin/auths/{client.source_id}", config, as_="root")
    _, answer = await attempt(site, liar, groups=claim)
    assert answer.status_code == 303
    teams = (await site.call("GET", "/orgs/acme/teams", as_="root")).json()
    (coders,) = [team["id"] for team in teams if team["name"] == "coders"]
    members = (await site.call("GET", f"/teams/{coders}/members", as_="root")).json()
    assert ("cy" in {one["login"] for one in members}) is is_member


async def test_a_restriction_of_a_sign_in_stays_until_scim_says_who_is_in_its_groups(site, liar):
    config = {"restricted_groups": ["contractors"], "first_sign_in": "create"}
    source_id = await add_source(site, liar, **config)
    claims = {"groups": ["contractors"], "preferred_username": "cy", "email": "cy@corp.example"}

    async def sign_in():
        _, answer = await attempt(site, liar, email_verified=True, **claims)
        assert answer.status_code == 303
        return (await site.call("GET", "/users/cy", as_="root")).json()["restricted"]

    assert await sign_in()
    by_scim = {"config": {"groups_from": "scim"}}
    await site.call("PATCH", f"/admin/auths/{source_id}", by_scim, as_="root")
    assert await sign_in()
    client = await make_other_client(site, source_id)
    await client.user("cy", externalId="person-1")
    await run_task(site)
    assert await sign_in()


async def test_groups_of_a_sign_in_give_nothing_where_those_of_scim_count(site, liar):
    client = await provisioned(site, liar, group_team_map=TEAMS, groups_from="scim")
    await client.user("cy", externalId="person-1")
    assert (await attempt(site, liar, groups=["developers"]))[1].status_code == 303
    assert (await site.call("GET", "/users/cy/orgs", as_="root")).json() == []
