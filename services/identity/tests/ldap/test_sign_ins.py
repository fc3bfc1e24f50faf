"""Sign-ins with the passwords of a real directory."""

import pytest

from ingot_chassis.db.audit import list_entries
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.sessions.rules import stamp_of
from ingot_testing.slapd import GROUPS, PASSWORD, PEOPLE, SERVICE_DN

from ..providers.counterparts import Visitor
from .counterparts import add_source


async def sign_in(site, name, password=PASSWORD):
    """The id of the account that signs in by basic authentication; 0 if it is refused."""
    answer = await site.authenticate(name=name, password=password)
    assert answer.status_code in (200, 403, 422), answer.text
    return answer.json().get("user_id", 0)


async def login_of(site, user_id):
    users = (await site.call("GET", "/admin/users", as_="root")).json()
    return {user["id"]: user["login"] for user in users}[user_id]


async def test_a_person_signs_in_by_search_and_bind(site, slapd):
    source_id = await add_source(site, slapd)
    dn = await slapd.add_person("ann", cn="Ann Doe")
    visitor = Visitor(site.app)
    answer = await visitor.password_sign_in("ann", PASSWORD)
    assert (answer.status_code, bool(visitor.session)) == (303, True), answer.text
    user = (await site.call("GET", f"/admin/users?source_id={source_id}", as_="root")).json()[0]
    assert (user["login"], user["full_name"], user["email"]) == ("ann", "Ann Doe", "ann@corp.example")
    assert len(user["login_name"]) == 36
    assert await slapd.binds() == [SERVICE_DN, dn]


async def test_a_wrong_password_is_refused(site, slapd):
    await add_source(site, slapd)
    await slapd.add_person("ann")
    assert await sign_in(site, "ann", "wrong") == 0
    assert await sign_in(site, "bob") == 0
    visitor = Visitor(site.app)
    answer = await visitor.password_sign_in("ann", "wrong")
    assert (answer.status_code, visitor.session) == (403, "")


async def test_a_person_signs_in_by_a_direct_bind(site, slapd):
    await add_source(site, slapd, bind_dn="", user_dn=f"uid={{name}},{PEOPLE}", url=slapd.tls_url)
    dn = await slapd.add_person("ann")
    assert await login_of(site, await sign_in(site, "ann")) == "ann"
    assert await sign_in(site, "ann", "wrong") == 0
    assert await slapd.binds() == [dn, dn]


@pytest.mark.parametrize(
    "ways",
    [
        {"user_filter": "(mail={name})"},
        {"bind_dn": "", "user_dn": f"mail={{name}},{PEOPLE}", "user_filter": "(mail={name})"},
    ],
    ids=["search", "direct"],
)
async def test_a_person_signs_in_again_by_an_address_that_is_not_the_login(site, slapd, ways):
    await add_source(site, slapd, **ways)
    mail = "ann@corp.example"
    await slapd.add_entry(
        f"mail={mail},{PEOPLE}", mail=mail, uid="ann", cn="Ann", sn="Doe", userPassword=PASSWORD
    )
    user_id = await sign_in(site, mail)
    assert await login_of(site, user_id) == "ann"
    assert [await sign_in(site, name) for name in (mail, "ann", mail)] == [user_id] * 3
    assert await sign_in(site, mail, "wrong") == 0


async def test_the_password_of_a_directory_is_also_the_proof_before_dangerous_forms(site, slapd):
    await add_source(site, slapd)
    await slapd.add_person("ann")
    visitor = Visitor(site.app)
    await visitor.password_sign_in("ann", PASSWORD)
    page = await visitor.http.get("/login/confirm?to=/user/settings")
    assert (await visitor.submit(page, password="wrong")).status_code == 422
    answer = await visitor.submit(page, password=PASSWORD)
    assert (answer.status_code, answer.headers["location"][-14:]) == (303, "/user/settings")


async def test_a_person_of_a_directory_gets_no_password_here(site, slapd):
    await add_source(site, slapd)
    await slapd.add_person("ann")
    signed_in = (await site.authenticate(name="ann", password=PASSWORD)).json()
    headers = {"ingot-principal": signed_in["statement"]}
    body = {"old_password": PASSWORD, "new_password": "another password"}
    answer = await site.http.post("/api/v1/user/password", json=body, headers=headers)
    assert answer.status_code == 409


async def add_team(site):
    """The id of the team acme/coders."""
    for body, path in (({"username": "acme"}, "/orgs"), ({"name": "coders"}, "/orgs/acme/teams")):
        answer = await site.call("POST", path, body, as_="root")
        assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def members_of(site, team_id):
    listed = (await site.call("GET", f"/teams/{team_id}/members", as_="root")).json()
    return {one["login"] for one in listed}


GROUP_FILTER = "(&(objectClass=groupOfNames)(member={dn}))"


async def test_groups_of_a_search_give_and_take_teams_at_each_sign_in(site, slapd):
    team_id = await add_team(site)
    await add_source(
        site,
        slapd,
        group_base_dn=GROUPS,
        group_filter=GROUP_FILTER,
        group_team_map={"developers": {"acme": ["coders"]}},
    )
    ann = await slapd.add_person("ann")
    await slapd.add_person("bob")
    group = await slapd.add_group("developers", ann)
    assert await sign_in(site, "ann")
    assert await sign_in(site, "bob")
    assert await members_of(site, team_id) == {"ann"}
    refused = await site.call("DELETE", f"/teams/{team_id}/members/ann", as_="root")
    assert refused.status_code == 409
    await slapd.delete(group)
    assert await members_of(site, team_id) == {"ann"}
    assert await sign_in(site, "ann")
    assert await members_of(site, team_id) == set()


async def test_groups_with_names_are_those_of_the_entry_whatever_was_typed(site, slapd):
    team_id = await add_team(site)
    await add_source(
        site,
        slapd,
        user_filter="(|(uid={name})(mail={name}))",
        group_base_dn=GROUPS,
        group_filter="(memberUid={name})",
        group_team_map={"developers": {"acme": ["coders"]}},
    )
    await slapd.add_person("ann")
    mallory = await slapd.add_person("mallory")
    await slapd.replace(mallory, "mail", "mallory@corp.example", "deleted")
    await slapd.add_names("developers", "ann", "deleted")
    assert await sign_in(site, "ann@corp.example")
    assert await sign_in(site, "deleted")
    assert await members_of(site, team_id) == {"ann"}


async def test_an_entry_without_a_login_has_no_groups_with_names(site, slapd):
    team_id = await add_team(site)
    await add_source(
        site,
        slapd,
        login_attribute="employeeNumber",
        group_base_dn=GROUPS,
        group_filter="(memberUid={name})",
        group_team_map={"developers": {"acme": ["coders"]}},
    )
    await slapd.add_person("ann")
    await slapd.add_person("bob", employeeNumber="b7")
    await slapd.add_names("developers", "ann", "b7")
    assert await sign_in(site, "ann")
    bob = await sign_in(site, "bob")
    assert await members_of(site, team_id) == {await login_of(site, bob)}


async def test_groups_of_an_attribute_give_administrators(site, slapd):
    await add_source(site, slapd, admin_groups=[f"cn=operators,{GROUPS}"])
    ann = await slapd.add_person("ann")
    group = await slapd.add_group("operators", ann)
    assert await sign_in(site, "ann")
    listed = (await site.call("GET", "/admin/users", as_="root")).json()
    assert {user["login"]: user["is_admin"] for user in listed} == {"root": True, "ann": True}
    await slapd.delete(group)
    assert await sign_in(site, "ann")
    listed = (await site.call("GET", "/admin/users", as_="root")).json()
    assert {user["login"]: user["is_admin"] for user in listed} == {"root": True, "ann": False}


async def test_a_failed_search_for_groups_takes_nothing(site, slapd):
    team_id = await add_team(site)
    groups = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER}
    source_id = await add_source(site, slapd, group_team_map={"developers": {"acme": ["coders"]}}, **groups)
    await slapd.add_group("developers", await slapd.add_person("ann"))
    assert await sign_in(site, "ann")
    wrong = {"config": {"group_base_dn": f"ou=lost,{GROUPS}"}}
    assert (await site.call("PATCH", f"/admin/auths/{source_id}", wrong, as_="root")).status_code == 200
    assert await sign_in(site, "ann") == 0
    assert await members_of(site, team_id) == {"ann"}


async def test_only_members_of_required_groups_come(site, slapd):
    await add_source(site, slapd, required_groups=[f"cn=staff,{GROUPS}"])
    ann = await slapd.add_person("ann")
    assert await sign_in(site, "ann") == 0
    assert (await site.call("GET", "/users/ann")).status_code == 404
    await slapd.add_group("staff", ann)
    assert await sign_in(site, "ann") != 0


async def test_who_lost_the_required_groups_loses_sessions(site, slapd):
    await add_source(site, slapd, required_groups=[f"cn=staff,{GROUPS}"])
    group = await slapd.add_group("staff", await slapd.add_person("ann"))
    visitor = Visitor(site.app)
    await visitor.password_sign_in("ann", PASSWORD)
    assert (await site.authenticate(session=visitor.session)).json()["user_id"]
    await slapd.delete(group)
    assert await sign_in(site, "ann") == 0
    assert not (await site.authenticate(session=visitor.session)).json()["user_id"]
    assert await sign_in(site, "ann") == 0
    async with site.database.read() as db:
        entries = await list_entries(db, service="identity", limit=10, action="source.apply_groups")
    assert [one.subject for one in entries] == ["user ann"]


async def test_a_person_who_was_deleted_or_locked_there_does_not_sign_in(site, slapd):
    await add_source(site, slapd)
    ann, bob = await slapd.add_person("ann"), await slapd.add_person("bob")
    assert await sign_in(site, "ann")
    assert await sign_in(site, "bob")
    await slapd.delete(ann)
    await slapd.replace(bob, "userPassword")
    assert await sign_in(site, "ann") == 0
    assert await sign_in(site, "bob") == 0


async def test_a_person_without_an_account_is_refused_where_none_is_made(site, slapd):
    source_id = await add_source(site, slapd, first_sign_in="refuse", subject_attribute="uid")
    await slapd.add_person("ann")
    assert (await site.authenticate(name="ann", password=PASSWORD)).status_code == 403
    body = {"username": "anna", "email": "anna@example.com", "source_id": source_id, "login_name": "ann"}
    assert (await site.call("POST", "/admin/users", body, as_="root")).status_code == 201
    assert await login_of(site, await sign_in(site, "ann")) == "anna"
    assert await sign_in(site, "anna") != 0


async def test_a_disabled_source_signs_nobody_in(site, slapd):
    source_id = await add_source(site, slapd)
    await slapd.add_person("ann")
    assert await sign_in(site, "ann")
    assert (
        await site.call("PATCH", f"/admin/auths/{source_id}", {"enabled": False}, as_="root")
    ).status_code == 200
    assert await sign_in(site, "ann") == 0


async def test_a_principal_by_a_directory_is_renewed_until_its_source_is_disabled(site, slapd):
    source_id = await add_source(site, slapd)
    await slapd.add_person("ann")
    signed_in = (await site.authenticate(name="ann", password=PASSWORD)).json()
    async with site.database.read() as db:
        account = await accounts.get(db, signed_in["user_id"])
    credential = f"directory:{source_id}:{stamp_of(account.password_hash)}"
    body = {"id": account.id, "credential": credential}
    assert (await site.post_as_peer("/internal/principals", body)).json()["name"] == "ann"
    for wrong in ("directory:", "directory:x", "directory:99:", f"password:{stamp_of('')}+code"):
        answer = await site.post_as_peer("/internal/principals", body | {"credential": wrong})
        assert answer.status_code == 404
    await site.call("PATCH", f"/admin/auths/{source_id}", {"enabled": False}, as_="root")
    assert (await site.post_as_peer("/internal/principals", body)).status_code == 404
