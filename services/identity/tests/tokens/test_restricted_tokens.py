"""Tokens that are restricted to named repositories: who may name which, and what becomes of them."""

import msgspec
import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import AccessChanged, RepositoryCreated, RepositoryDeleted, RepositoryEdited

from ..authentication.test_credentials import principal
from ..world import PASSWORD, repository

ROOT = User(id=1, login="root")
VISIBLE_TO = {
    "public": {"ann", "bob", "mia", "root"},
    "secret": {"ann", "root"},
    "shared": {"ann", "bob", "root"},
    "open": {"ann", "bob", "mia", "root"},
    "hidden": {"ann", "mia", "root"},
    "granted": {"ann", "mia", "root"},
    "inner": {"ann", "root"},
}
"""Of ann's repositories, and of those of her organizations, by name."""


async def add_repository(world, number, owner_id, name, **fields):
    row = msgspec.structs.replace(repository(owner_id, id_=number), name=name, **fields)
    await world.deliver(RepositoryCreated(repository=row, sender=ROOT))
    return row


@pytest.fixture
async def world_with_repositories(world):
    """ann's repositories, public and private ones; acme is public, cabal private, mia in a team of both."""
    ids = {name: await world.add_user(name) for name in ("ann", "bob", "mia")}
    teams = {}
    for name, visibility in (("acme", "public"), ("cabal", "private")):
        answer = await world.call("POST", "/orgs", {"username": name, "visibility": visibility}, as_="ann")
        ids[name] = answer.json()["id"]
        team = await world.call("POST", f"/orgs/{name}/teams", {"name": "devs"}, as_="ann")
        teams[name] = team.json()["id"]
        await world.call("PUT", f"/teams/{teams[name]}/members/mia", as_="ann")
    await add_repository(world, 1, ids["ann"], "public")
    await add_repository(world, 2, ids["ann"], "secret", private=True)
    await add_repository(world, 3, ids["ann"], "shared", private=True)
    await add_repository(world, 4, ids["acme"], "open")
    await add_repository(world, 5, ids["cabal"], "hidden")
    await add_repository(world, 6, ids["acme"], "granted", private=True)
    await add_repository(world, 7, ids["acme"], "inner", private=True)
    for number, lists in ((3, {"collaborators": [ids["bob"]]}), (6, {"teams": [teams["acme"]]})):
        await world.deliver(AccessChanged(repository_id=number, **lists))
    return world


OWNERS = {"open": "acme", "hidden": "cabal", "granted": "acme", "inner": "acme"}


async def ask(world, who, repositories):
    body = {"name": "t", "repositories": repositories}
    return await world.call("POST", f"/users/{who}/tokens", body, as_=who)


@pytest.mark.parametrize("name", VISIBLE_TO)
async def test_a_user_may_name_the_repositories_that_they_may_see(world_with_repositories, name):
    answers = {}
    full_name = f"{OWNERS.get(name, 'ann')}/{name}"
    for who in ("ann", "bob", "mia", "root"):
        answer = await ask(world_with_repositories, who, [full_name])
        answers[who] = answer.status_code
        if answer.status_code == 422:
            error = answer.json()["errors"][0]
            unknown = await ask(world_with_repositories, who, ["ann/nothing"])
            assert (
                error["message"].replace(full_name, "ann/nothing") == (unknown.json()["errors"][0]["message"])
            )
            assert error["field"] == "repositories"
    assert {who for who, status in answers.items() if status == 201} == VISIBLE_TO[name]


async def test_who_has_all_repositories_of_an_organization_may_name_them(world_with_repositories):
    world = world_with_repositories
    path = f"/teams/{(await world.call('GET', '/orgs/acme/teams', as_='ann')).json()[1]['id']}"
    for flag, statuses in ((True, [201, 422]), (False, [422, 422])):
        await world.call("PATCH", path, {"includes_all_repositories": flag}, as_="ann")
        answers = [await ask(world, who, ["acme/inner"]) for who in ("mia", "bob")]
        assert [answer.status_code for answer in answers] == statuses


async def test_the_principal_is_restricted_to_what_the_token_names(world_with_repositories):
    answer = await ask(world_with_repositories, "ann", ["Ann/SECRET", "acme/open", "ann/secret"])
    assert answer.json()["repositories"] == ["acme/open", "ann/secret"]
    claims = principal(await world_with_repositories.authenticate(token=answer.json()["sha1"]))
    assert sorted(claims["confined_to"]) == [2, 4]
    assert "confined_to" not in principal(
        await world_with_repositories.authenticate(name="ann", password=PASSWORD)
    )


async def test_a_public_only_token_sees_what_everybody_sees(world_with_repositories):
    world = world_with_repositories
    body = {"name": "t", "scopes": ["read:repository", "public-only"]}
    answer = await world.call("POST", "/users/ann/tokens", body, as_="ann")
    assert (answer.status_code, answer.json()["scopes"]) == (201, body["scopes"])
    claims = principal(await world.authenticate(token=answer.json()["sha1"]))
    assert (claims["confined_to"], claims["public_only"]) == ([], True)
    body |= {"repositories": ["ann/secret"]}
    answer = await world.call("POST", "/users/ann/tokens", body, as_="ann")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "scopes")


async def listed(world, who="ann"):
    return (await world.call("GET", f"/users/{who}/tokens", as_=who)).json()[0]


async def test_a_token_stays_restricted_when_the_repository_is_renamed(world_with_repositories):
    token = (await ask(world_with_repositories, "ann", ["ann/secret"])).json()["sha1"]
    renamed = msgspec.structs.replace(repository(2, id_=2), name="mystery", private=True)
    await world_with_repositories.deliver(RepositoryEdited(repository=renamed, sender=ROOT))
    assert (await listed(world_with_repositories))["repositories"] == ["ann/mystery"]
    assert principal(await world_with_repositories.authenticate(token=token))["confined_to"] == [2]
    assert (await ask(world_with_repositories, "ann", ["ann/secret"])).status_code == 422


async def test_a_token_stays_restricted_when_the_repository_is_deleted(world_with_repositories):
    token = (await ask(world_with_repositories, "ann", ["ann/secret"])).json()["sha1"]
    gone = RepositoryDeleted(repository=repository(2, id_=2), sender=ROOT)
    await world_with_repositories.deliver(gone)
    assert (await listed(world_with_repositories))["repositories"] == []
    assert principal(await world_with_repositories.authenticate(token=token))["confined_to"] == [2]


async def test_a_repository_that_the_owner_may_not_see_any_more_is_not_listed(world_with_repositories):
    await ask(world_with_repositories, "bob", ["ann/shared", "ann/public"])
    assert (await listed(world_with_repositories, "bob"))["repositories"] == ["ann/public", "ann/shared"]
    await world_with_repositories.deliver(AccessChanged(repository_id=3))
    assert (await listed(world_with_repositories, "bob"))["repositories"] == ["ann/public"]


async def test_a_token_without_restriction_is_listed_without_repositories(world_with_repositories):
    await world_with_repositories.call(
        "POST", "/users/ann/tokens", {"name": "t", "repositories": None}, as_="ann"
    )
    assert "repositories" not in await listed(world_with_repositories)


BAD_NAMES = [
    ([], 422),
    ([""], 422),
    (["secret"], 422),
    (["ann/"], 422),
    (["/secret"], 422),
    (["ann/secret/more"], 422),
    (["ann/secret", "ann/nothing"], 422),
    (["ann/" + "x" * 10_000], 422),
    (["ann/'; DROP TABLE account; --"], 422),
    (["ann/secret\x00"], 422),
    (["ann/secret"] * 101, 422),
    ("ann/secret", 422),
    ([5], 422),
    ({"ann": "secret"}, 422),
]


async def test_bad_names_of_repositories_are_refused_and_make_no_token(world_with_repositories):
    for repositories, status in BAD_NAMES:
        answer = await ask(world_with_repositories, "ann", repositories)
        assert answer.status_code == status, repositories
        assert answer.json()["errors"][0]["field"].startswith("repositories")
    assert (await world_with_repositories.call("GET", "/users/ann/tokens", as_="ann")).json() == []


async def test_a_restricted_token_of_an_administrator_acts_as_nobody_else(world_with_repositories):
    token = (await ask(world_with_repositories, "root", ["ann/public"])).json()["sha1"]
    assert (await world_with_repositories.authenticate(token=token, sudo="ann")).status_code == 403


async def test_a_restricted_token_makes_no_tokens(world_with_repositories):
    token = (await ask(world_with_repositories, "ann", ["ann/public"])).json()["sha1"]
    for method in ("GET", "POST"):
        answer = await world_with_repositories.call(
            method, "/users/ann/tokens", {"name": "wider"}, token=token
        )
        assert answer.status_code == 401


async def test_a_restricted_token_sees_of_others_what_everybody_sees(world_with_repositories):
    token = (await ask(world_with_repositories, "mia", ["ann/public"])).json()["sha1"]
    assert (await world_with_repositories.call("GET", "/user", token=token)).json()["login"] == "mia"
    assert (await world_with_repositories.call("GET", "/users/ann", token=token)).json()["email"] == ""
    assert (await world_with_repositories.call("GET", "/orgs/cabal", token=token)).status_code == 404
    assert (await world_with_repositories.call("GET", "/orgs/acme/members", token=token)).json() == []
    assert (await world_with_repositories.call("GET", "/orgs/acme/teams", token=token)).status_code == 403
