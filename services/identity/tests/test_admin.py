"""What administrators do to users: edit, rename, delete."""

import asyncio

import pytest
from identity_world import SECRET, created, repository
from sqlalchemy import update
from structlog.testing import capture_logs

from ingot_chassis.principal import Principal
from ingot_contracts.identity import MembershipChanged, OrganizationCreated, OwnershipForgotten, User
from ingot_contracts.repos import RepositoryAbandoned, RepositoryDeleted, RepositoryEdited
from ingot_identity.store.tables import account


async def edit(identity, body, name="ann"):
    return await identity.call("PATCH", f"/admin/users/{name}", body, as_="root")


async def delete(identity, name="ann"):
    return await identity.call("DELETE", f"/admin/users/{name}", as_="root")


async def test_an_edit_leaves_what_is_absent(identity):
    await identity.add_user("ann")
    await edit(identity, {"full_name": "Ann A."})
    assert (await edit(identity, {"location": "Here", "password": ""})).status_code == 200
    shown = (await identity.call("GET", "/users/ann", as_="root")).json()
    assert (shown["full_name"], shown["email"]) == ("Ann A.", "ann@example.com")
    assert (await identity.authenticate(name="ann", password=SECRET)).json()["user_id"] > 0
    assert (await identity.call("GET", "/user/settings", as_="ann")).json()["location"] == "Here"
    assert (await identity.events())[-1] == "identity.user.edited.v1"


async def test_a_new_primary_address_takes_the_place_of_the_old_one(identity):
    await identity.add_user("ann")
    assert (await edit(identity, {"email": "Other@Example.com"})).json()["email"] == "other@example.com"
    listed = (await identity.call("GET", "/user/emails", as_="ann")).json()
    assert [(e["email"], e["primary"]) for e in listed] == [("other@example.com", True)]
    await identity.add_user("bob")
    assert (await edit(identity, {"email": "ann@example.com"}, "bob")).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"email": "nonsense"}, 422, "email"),
        ({"email": ""}, 422, "email"),
        ({"email": "BOB@example.com"}, 422, "email"),
        ({"password": "x" * 256}, 422, "password"),
        ({"full_name": "x" * 101}, 422, "full_name"),
        ({"website": "x" * 51}, 422, "website"),
        ({"location": "x" * 51}, 422, "location"),
        ({"location": "a\x00b"}, 422, "location"),
        ({"active": "perhaps"}, 400, "active"),
        ({"admin": 7}, 400, "admin"),
        ({"full_name": ["x"]}, 400, "full_name"),
    ],
)
async def test_a_bad_edit_names_the_field_and_changes_nothing(identity, body, status, field):
    await identity.add_user("ann")
    await identity.add_user("bob")
    before = (await identity.call("GET", "/users/ann", as_="root")).json()
    answer = await edit(identity, {"description": "new"} | body)
    assert (answer.status_code, [e["field"] for e in answer.json()["errors"]]) == (status, [field])
    assert (await identity.call("GET", "/users/ann", as_="root")).json() == before


@pytest.mark.parametrize("change", [{"admin": False}, {"active": False}, {"prohibit_login": True}])
async def test_the_last_administrator_stays_one(identity, change):
    assert (await edit(identity, change, "root")).status_code == 422
    assert (await delete(identity, "root")).status_code == 422


async def test_sister_services_learn_who_administers_the_site(identity):
    user_id = await identity.add_user("ann")
    for admin in (False, True):
        await edit(identity, {"admin": admin})
        assert (await identity.as_sister(f"/internal/accounts/{user_id}")).json()["admin"] is admin


async def test_two_administrators_cannot_depose_each_other_at_once(identity):
    await identity.add_user("ann")
    await edit(identity, {"admin": True})
    answers = await asyncio.gather(edit(identity, {"admin": False}), edit(identity, {"admin": False}, "root"))
    assert sorted(answer.status_code for answer in answers) == [200, 422]


async def test_a_rename_keeps_the_id_and_frees_the_name(identity):
    user_id = await identity.add_user("ann")
    renamed = await identity.call("POST", "/admin/users/ann/rename", {"new_username": "Anna"}, as_="root")
    assert renamed.status_code == 204
    assert (await identity.call("GET", "/users/anna")).json()["id"] == user_id
    await identity.add_user("bob")
    again = await identity.call("POST", "/admin/users/bob/rename", {"new_username": "ann"}, as_="root")
    assert again.status_code == 204


async def test_a_rename_may_change_the_letter_case_alone(identity):
    await identity.add_user("ann")
    await identity.call("POST", "/admin/users/ann/rename", {"new_username": "ANN"}, as_="root")
    assert (await identity.call("GET", "/users/ann")).json()["login"] == "ANN"


@pytest.mark.parametrize(
    ("name", "code"),
    [("BOB", "taken"), ("", "required"), ("a b", "charset"), ("user", "reserved"), ("x" * 36, "length")],
)
async def test_a_bad_new_name_is_refused(identity, name, code):
    await identity.add_user("ann")
    await identity.add_user("bob")
    answer = await identity.call("POST", "/admin/users/ann/rename", {"new_username": name}, as_="root")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)
    assert answer.json()["errors"][0]["field"] == "new_username"


async def test_two_users_cannot_take_the_same_name_at_once(identity):
    for name in ("ann", "bob"):
        await identity.add_user(name)
    paths = [f"/admin/users/{name}/rename" for name in ("ann", "bob")]
    await identity.call("GET", "/user", as_="root")
    answers = await asyncio.gather(
        *(identity.call("POST", path, {"new_username": "cy"}, as_="root") for path in paths)
    )
    assert sorted(answer.status_code for answer in answers) == [204, 422]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_an_unknown_user_cannot_be_changed(identity, method):
    await identity.add_user("ann")
    await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    for name in ("nobody", "acme"):
        assert (await identity.call(method, f"/admin/users/{name}", {}, as_="root")).status_code == 404


async def test_a_deleted_user_is_gone_with_their_credentials_and_the_name_is_free(identity):
    user_id = await identity.add_user("ann")
    token = (await identity.call("POST", "/users/ann/tokens", {"name": "t"}, as_="ann")).json()["sha1"]
    assert (await delete(identity)).status_code == 204
    assert (await identity.events())[-1] == "identity.user.deleted.v1"
    assert (await identity.call("GET", "/users/ann")).status_code == 404
    assert (await identity.authenticate(token=token)).json()["user_id"] == 0
    assert (await identity.authenticate(name="ann", password=SECRET)).json()["user_id"] == 0
    assert await identity.add_user("ann") > user_id


async def test_a_member_of_an_organization_is_not_deleted(identity):
    await identity.add_user("ann")
    await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    assert (await delete(identity)).status_code == 422
    await identity.call("DELETE", "/orgs/acme", as_="ann")
    assert (await delete(identity)).status_code == 204


async def test_an_owner_of_repositories_is_not_deleted_until_the_last_is_gone(identity):
    owner_id = await identity.add_user("ann")
    await identity.hear(created(owner_id))
    assert (await delete(identity)).status_code == 422
    gone = RepositoryDeleted(repository=repository(owner_id), sender=User(id=1, login="root"))
    await identity.hear(gone, id_="e2")
    assert await identity.payloads(OwnershipForgotten) == [OwnershipForgotten(repository_id=1)]
    assert (await delete(identity)).status_code == 204


async def test_a_transferred_repository_counts_for_its_new_owner(identity):
    ann, bob = await identity.add_user("ann"), await identity.add_user("bob")
    await identity.hear(created(ann))
    await identity.hear(
        RepositoryEdited(repository=repository(bob), sender=User(id=1, login="root")), id_="e2"
    )
    assert (await delete(identity)).status_code == 204
    assert (await delete(identity, "bob")).status_code == 422


async def test_an_owner_is_known_before_any_event_tells(identity):
    owner_id = await identity.add_user("ann")
    assert (await identity.told(owner_id)).status_code == 204
    assert (await delete(identity)).status_code == 422
    await identity.hear(RepositoryAbandoned(repository_id=1))
    assert (await delete(identity)).status_code == 204


async def test_a_repository_is_refused_whose_owner_is_gone(identity):
    owner_id = await identity.add_user("ann")
    await delete(identity)
    answer = await identity.told(owner_id)
    assert (answer.status_code, answer.json()["message"]) == (404, "Not found.")
    assert await identity.add_user("ann") > owner_id
    assert (await delete(identity)).status_code == 204


async def test_a_new_owner_is_known_unless_an_event_knows_better(identity):
    ann, bob, cy = [await identity.add_user(name) for name in ("ann", "bob", "cy")]
    await identity.told(ann)
    await identity.told(bob, before=ann)
    await identity.told(cy, before=ann)
    await identity.told(ann)
    assert (await delete(identity, "bob")).status_code == 422
    assert [(await delete(identity, name)).status_code for name in ("ann", "cy")] == [204, 204]


async def test_an_owner_is_not_deleted_while_they_get_a_repository(identity):
    owner_id = await identity.add_user("ann")
    told, deleted = await asyncio.gather(identity.told(owner_id), delete(identity))
    assert (told.status_code, deleted.status_code) in {(204, 422), (404, 204)}


@pytest.mark.parametrize("caller", ["", "root"])
async def test_only_repos_says_whose_a_repository_is(identity, caller):
    headers = await identity._headers(caller, "")
    body = {"owner_id": 1, "name": "app", "private": False}
    answer = await identity.http.put("/internal/repositories/1", json=body, headers=headers)
    assert answer.status_code == 404


async def test_a_repository_made_during_the_deletion_brings_its_owner_back(identity):
    owner_id = await identity.add_user("ann")
    assert (await delete(identity)).status_code == 204
    assert await identity.hear(created(owner_id))
    assert not await identity.hear(created(owner_id))
    assert (await identity.call("GET", "/users/ann")).json()["id"] == owner_id
    assert (await identity.events())[-1] == "identity.user.created.v1"
    assert (await identity.authenticate(name="ann", password="")).json()["user_id"] == 0
    assert (await delete(identity)).status_code == 422


async def test_an_owner_who_comes_back_gets_another_name_if_theirs_is_taken(identity):
    owner_id = await identity.add_user("ann")
    await delete(identity)
    await identity.add_user("ann")
    await identity.hear(created(owner_id))
    back = (await identity.as_sister(f"/internal/accounts/{owner_id}")).json()
    assert back["login"] == f"returned-{owner_id}"
    assert back["active"] is False


async def test_an_organization_that_comes_back_belongs_to_who_deleted_it(identity):
    await identity.add_user("ann")
    org = (await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    assert (await identity.call("DELETE", "/orgs/acme", as_="ann")).status_code == 204
    await identity.hear(created(org))
    assert [m["login"] for m in (await identity.call("GET", "/orgs/acme/members", as_="ann")).json()] == [
        "ann"
    ]
    assert (await identity.call("DELETE", "/orgs/acme", as_="ann")).status_code == 422


async def test_an_organization_whose_heir_is_gone_comes_back_to_an_administrator(identity):
    await identity.add_user("ann")
    org = (await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    await identity.call("DELETE", "/orgs/acme", as_="ann")
    assert (await delete(identity)).status_code == 204
    await identity.hear(created(org))
    listed = await identity.call("GET", "/orgs/acme/members", as_="root")
    assert [member["login"] for member in listed.json()] == ["root"]
    assert (await identity.payloads(OrganizationCreated))[-1].owner_id == 1
    told = (await identity.payloads(MembershipChanged))[-1]
    assert (told.organization_id, told.user_id, told.member, told.owner) == (org, 1, True, True)


async def test_an_organization_comes_back_though_there_is_nobody_to_own_it(identity):
    await identity.add_user("ann")
    org = (await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    await identity.call("DELETE", "/orgs/acme", as_="ann")
    await delete(identity)
    async with identity.app.state.database.transaction() as tx:
        await tx.execute(update(account).values(admin=False))
    count = len(await identity.payloads(MembershipChanged))
    await identity.hear(created(org))
    assert (await identity.call("GET", "/orgs/acme")).json()["id"] == org
    assert (await identity.payloads(OrganizationCreated))[-1].owner_id == 0
    assert len(await identity.payloads(MembershipChanged)) == count


async def test_a_user_cannot_join_while_they_are_deleted(identity):
    await identity.add_user("ann")
    await identity.add_user("bob")
    await identity.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    owners = (await identity.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    joined, deleted = await asyncio.gather(
        identity.call("PUT", f"/teams/{owners}/members/bob", as_="ann"), delete(identity, "bob")
    )
    assert (joined.status_code, deleted.status_code) in {(204, 422), (404, 204)}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("POST /user/emails", {"emails": ["new@x.io"]}),
        ("POST /user/keys", {"title": "k", "key": "AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43}),
        ("PUT /user/following/root", None),
        ("PATCH /user/settings", {"full_name": "x"}),
        ("POST /users/ann/tokens", {"name": "t"}),
        ("POST /orgs", {"username": "acme"}),
        ("GET /user", None),
    ],
)
async def test_a_sign_in_that_outlives_its_user_does_nothing(identity, path, body):
    await identity.add_user("ann")
    await identity.call("GET", "/user", as_="ann")
    await delete(identity)
    assert (await identity.call(*path.split(" "), body, as_="ann")).status_code == 404


async def test_the_log_names_both_who_acts_and_as_whom(identity):
    user_id = await identity.add_user("ann")
    acting = Principal(id=user_id, name="ann", via="basic", sudo_by="root")
    headers = {"ingot-principal": await identity.statement_of(acting)}
    with capture_logs() as lines:
        await identity.http.get("/api/v1/user", headers=headers)
    assert [(line["user"], line["sudo_by"]) for line in lines] == [("ann", "root")]
