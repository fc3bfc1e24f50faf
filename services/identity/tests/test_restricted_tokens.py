"""Tokens that are restricted to named repositories: who may name which, and what becomes of them."""

import msgspec
import pytest
from identity_world import SECRET, repository
from test_credentials import principal

from ingot_contracts.identity import User
from ingot_contracts.repos import AccessChanged, RepositoryCreated, RepositoryDeleted, RepositoryEdited

ROOT = User(id=1, login="root")
SEEN_BY = {
    "public": {"ann", "bob", "mia", "root"},
    "secret": {"ann", "root"},
    "shared": {"ann", "bob", "root"},
    "open": {"ann", "bob", "mia", "root"},
    "hidden": {"ann", "mia", "root"},
    "granted": {"ann", "mia", "root"},
    "inner": {"ann", "root"},
}
"""Of ann's repositories, and of those of her organizations, by name."""


async def told_of(identity, number, owner_id, name, **fields):
    made = msgspec.structs.replace(repository(owner_id, id_=number), name=name, **fields)
    await identity.hear(RepositoryCreated(repository=made, sender=ROOT), id_=f"made {number}")
    return made


@pytest.fixture
async def furnished(identity):
    """ann's repositories, public and private ones; acme is public, cabal private, mia in a team of both."""
    ids = {name: await identity.add_user(name) for name in ("ann", "bob", "mia")}
    teams = {}
    for name, visibility in (("acme", "public"), ("cabal", "private")):
        made = await identity.call("POST", "/orgs", {"username": name, "visibility": visibility}, as_="ann")
        ids[name] = made.json()["id"]
        team = await identity.call("POST", f"/orgs/{name}/teams", {"name": "devs"}, as_="ann")
        teams[name] = team.json()["id"]
        await identity.call("PUT", f"/teams/{teams[name]}/members/mia", as_="ann")
    await told_of(identity, 1, ids["ann"], "public")
    await told_of(identity, 2, ids["ann"], "secret", private=True)
    await told_of(identity, 3, ids["ann"], "shared", private=True)
    await told_of(identity, 4, ids["acme"], "open")
    await told_of(identity, 5, ids["cabal"], "hidden")
    await told_of(identity, 6, ids["acme"], "granted", private=True)
    await told_of(identity, 7, ids["acme"], "inner", private=True)
    for number, lists in ((3, {"collaborators": [ids["bob"]]}), (6, {"teams": [teams["acme"]]})):
        await identity.hear(AccessChanged(repository_id=number, **lists), id_=f"access {number}")
    return identity


OWNERS = {"open": "acme", "hidden": "cabal", "granted": "acme", "inner": "acme"}


async def ask(identity, who, repositories):
    body = {"name": "t", "repositories": repositories}
    return await identity.call("POST", f"/users/{who}/tokens", body, as_=who)


@pytest.mark.parametrize("name", SEEN_BY)
async def test_one_may_name_what_one_may_see(furnished, name):
    answers = {}
    full_name = f"{OWNERS.get(name, 'ann')}/{name}"
    for who in ("ann", "bob", "mia", "root"):
        answer = await ask(furnished, who, [full_name])
        answers[who] = answer.status_code
        if answer.status_code == 422:
            error = answer.json()["errors"][0]
            unknown = await ask(furnished, who, ["ann/nothing"])
            assert (
                error["message"].replace(full_name, "ann/nothing") == (unknown.json()["errors"][0]["message"])
            )
            assert error["field"] == "repositories"
    assert {who for who, status in answers.items() if status == 201} == SEEN_BY[name]


async def test_the_principal_is_confined_to_what_the_token_names(furnished):
    made = await ask(furnished, "ann", ["Ann/SECRET", "acme/open", "ann/secret"])
    assert made.json()["repositories"] == ["acme/open", "ann/secret"]
    found = principal(await furnished.authenticate(token=made.json()["sha1"]))
    assert sorted(found["confined_to"]) == [2, 4]
    assert "confined_to" not in principal(await furnished.authenticate(name="ann", password=SECRET))


async def listed(identity, who="ann"):
    return (await identity.call("GET", f"/users/{who}/tokens", as_=who)).json()[0]


async def test_a_rename_keeps_it_bound(furnished):
    token = (await ask(furnished, "ann", ["ann/secret"])).json()["sha1"]
    renamed = msgspec.structs.replace(repository(2, id_=2), name="mystery", private=True)
    await furnished.hear(RepositoryEdited(repository=renamed, sender=ROOT), id_="renamed")
    assert (await listed(furnished))["repositories"] == ["ann/mystery"]
    assert principal(await furnished.authenticate(token=token))["confined_to"] == [2]
    assert (await ask(furnished, "ann", ["ann/secret"])).status_code == 422


async def test_a_deleted_repository_leaves_it_bound_to_nothing(furnished):
    token = (await ask(furnished, "ann", ["ann/secret"])).json()["sha1"]
    gone = RepositoryDeleted(repository=repository(2, id_=2), sender=ROOT)
    await furnished.hear(gone, id_="gone")
    assert (await listed(furnished))["repositories"] == []
    assert principal(await furnished.authenticate(token=token))["confined_to"] == [2]


async def test_what_its_owner_may_not_see_any_more_is_not_named(furnished):
    await ask(furnished, "bob", ["ann/shared", "ann/public"])
    assert (await listed(furnished, "bob"))["repositories"] == ["ann/public", "ann/shared"]
    await furnished.hear(AccessChanged(repository_id=3), id_="left")
    assert (await listed(furnished, "bob"))["repositories"] == ["ann/public"]


async def test_a_token_without_restriction_is_listed_without_repositories(furnished):
    await furnished.call("POST", "/users/ann/tokens", {"name": "t", "repositories": None}, as_="ann")
    assert "repositories" not in await listed(furnished)


@pytest.mark.parametrize(
    ("repositories", "status"),
    [
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
        ("ann/secret", 400),
        ([5], 400),
        ({"ann": "secret"}, 400),
    ],
)
async def test_bad_names_of_repositories_are_refused_and_make_no_token(furnished, repositories, status):
    answer = await ask(furnished, "ann", repositories)
    assert answer.status_code == status
    assert answer.json()["errors"][0]["field"].startswith("repositories")
    assert (await furnished.call("GET", "/users/ann/tokens", as_="ann")).json() == []


async def test_a_restricted_token_of_an_administrator_acts_as_nobody_else(furnished):
    token = (await ask(furnished, "root", ["ann/public"])).json()["sha1"]
    assert (await furnished.authenticate(token=token, sudo="ann")).status_code == 403


async def test_a_restricted_token_makes_no_tokens(furnished):
    token = (await ask(furnished, "ann", ["ann/public"])).json()["sha1"]
    for method in ("GET", "POST"):
        answer = await furnished.call(method, "/users/ann/tokens", {"name": "wider"}, token=token)
        assert answer.status_code == 401


async def test_a_restricted_token_sees_of_others_what_anybody_sees(furnished):
    token = (await ask(furnished, "mia", ["ann/public"])).json()["sha1"]
    assert (await furnished.call("GET", "/user", token=token)).json()["login"] == "mia"
    assert (await furnished.call("GET", "/users/ann", token=token)).json()["email"] == ""
    assert (await furnished.call("GET", "/orgs/cabal", token=token)).status_code == 404
    assert (await furnished.call("GET", "/orgs/acme/members", token=token)).json() == []
    assert (await furnished.call("GET", "/orgs/acme/teams", token=token)).status_code == 403
