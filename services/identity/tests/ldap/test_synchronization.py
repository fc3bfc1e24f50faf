"""Accounts of people who leave a real directory, and come back."""

import msgspec
import pytest
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from ingot_chassis.db.audit import list_entries
from ingot_chassis.security.sealing import Seal
from ingot_contracts.identity.events import MembershipChanged
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.directories.clients import connections, ldap
from ingot_identity.directories.rules import synchronization
from ingot_identity.sources.rules.configs import read_ldap, write_config
from ingot_identity.sources.store import identities, sources
from ingot_testing.slapd import GROUPS, PASSWORD, PEOPLE, SERVICE_DN, running_slapd

from ..matrix import ssh_key
from .counterparts import add_source
from .test_sign_ins import GROUP_FILTER, add_team, members_of


async def synchronize(site):
    (task,) = (one for one in site.app.state.parts.tasks if one.name == "identity_synchronize_directories")
    await task.run_now()


async def sign_in_everybody(site, slapd, *names):
    """The entries of these people, who have accounts then."""
    entries = {name: await slapd.add_person(name) for name in names}
    for name in names:
        assert (await site.authenticate(name=name, password=PASSWORD)).json()["user_id"]
    return entries


async def active_people(site):
    users = (await site.call("GET", "/admin/users", as_="root")).json()
    return {user["login"] for user in users if user["active"]} - {"root"}


async def test_who_left_is_deactivated_and_activated_again(site, slapd):
    await add_source(site, slapd)
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    await slapd.rename(entries["bob"], "robert")
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}

    await slapd.replace(entries["ann"], "employeeType", "left")
    (source,) = (await site.call("GET", "/admin/auths", as_="root")).json()
    without = {"config": {"user_filter": "(&(uid={name})(!(employeeType=left)))"}}
    assert (await site.call("PATCH", f"/admin/auths/{source['id']}", without, as_="root")).status_code == 200
    await synchronize(site)
    assert await active_people(site) == {"bob"}
    await slapd.replace(entries["ann"], "employeeType", "here")
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}
    await slapd.delete(entries["ann"])
    await synchronize(site)
    assert await active_people(site) == {"bob"}


async def test_who_lost_the_required_groups_is_deactivated(site, slapd):
    await add_source(site, slapd, required_groups=[f"cn=staff,{GROUPS}", f"cn=guests,{GROUPS}"])
    ann, bob = await slapd.add_person("ann"), await slapd.add_person("bob")
    await slapd.add_group("staff", ann)
    group = await slapd.add_group("guests", bob)
    for name in ("ann", "bob"):
        assert (await site.authenticate(name=name, password=PASSWORD)).json()["user_id"]
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}
    await slapd.delete(group)
    await synchronize(site)
    assert await active_people(site) == {"ann"}
    await slapd.add_group("guests", bob)
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}


async def test_a_wrong_required_group_deactivates_nobody(site, slapd):
    source_id = await add_source(site, slapd)
    await sign_in_everybody(site, slapd, "ann", "bob")
    wrong = {"config": {"required_groups": ["no group"]}}
    assert (await site.call("PATCH", f"/admin/auths/{source_id}", wrong, as_="root")).status_code == 200
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}


async def test_who_was_deactivated_by_hand_stays_so(site, slapd):
    await add_source(site, slapd)
    await sign_in_everybody(site, slapd, "ann")
    assert (await site.call("PATCH", "/admin/users/ann", {"active": False}, as_="root")).status_code == 200
    await synchronize(site)
    assert await active_people(site) == set()


async def test_who_was_deactivated_by_hand_after_an_absence_stays_so(site, slapd):
    await add_source(site, slapd)
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    (source,) = (await site.call("GET", "/admin/auths", as_="root")).json()
    without = {"config": {"user_filter": "(&(uid={name})(!(employeeType=left)))"}}
    assert (await site.call("PATCH", f"/admin/auths/{source['id']}", without, as_="root")).status_code == 200
    await slapd.replace(entries["ann"], "employeeType", "left")
    await synchronize(site)
    for active in (True, False):
        answer = await site.call("PATCH", "/admin/users/ann", {"active": active}, as_="root")
        assert answer.status_code == 200
    await slapd.replace(entries["ann"], "employeeType", "here")
    await synchronize(site)
    assert await active_people(site) == {"bob"}


async def test_an_account_of_this_site_is_left_alone(site, slapd):
    await add_source(site, slapd)
    await sign_in_everybody(site, slapd, "ann")
    await site.add_user("cat")
    await synchronize(site)
    assert await active_people(site) == {"ann", "cat"}


async def test_a_list_in_pages_is_complete(site, slapd, monkeypatch):
    monkeypatch.setattr(connections, "PAGE", 2)
    await add_source(site, slapd)
    await sign_in_everybody(site, slapd, "ann", "bob", "cat", "dan", "eve")
    await synchronize(site)
    assert len(await active_people(site)) == 5


@pytest.mark.parametrize("limits", ["sizelimit 2", "sizelimit size.prtotal=2"])
async def test_a_truncated_list_deactivates_nobody(make_world, tmp_path, limits):
    async with (
        running_slapd(tmp_path, limits=limits) as slapd,
        make_world(allowed_directories=["localhost"]) as site,
    ):
        await add_source(site, slapd)
        entries = await sign_in_everybody(site, slapd, "ann", "bob", "cat", "dan")
        await slapd.delete(entries["dan"])
        await synchronize(site)
        assert await active_people(site) == {"ann", "bob", "cat", "dan"}


@pytest.mark.parametrize(
    "config",
    [
        {"base_dn": f"ou=elsewhere,{PEOPLE}"},
        {"user_filter": "(&(uid={name})(employeeType=nobody))"},
        {"bind_dn": f"cn=nobody,{PEOPLE}"},
        {"url": "ldaps://localhost:1"},
        {"authorities": ""},
        {"subject_attribute": "employeeNumber"},
    ],
    ids=lambda config: next(iter(config)),
)
async def test_a_failed_list_deactivates_nobody(site, slapd, config):
    source_id = await add_source(site, slapd)
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    await slapd.delete(entries["ann"])
    async with site.database.transaction() as tx:
        row = await sources.get(tx, source_id)
        changed = msgspec.structs.replace(read_ldap(row.config), **config)
        await sources.change(tx, source_id, config=write_config(changed))
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}


async def test_a_source_that_cannot_be_compared_stops_no_other_one(site, slapd):
    first = await add_source(site, slapd, "first")
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    second = await add_source(site, slapd, "second")
    async with site.database.transaction() as tx:
        ann = await accounts.get_by_login(tx, "ann")
        moved = await identities.get_of_account(tx, ann.id, first)
        await identities.change(tx, moved.id, source_id=second)
        sealed = Seal(Fernet.generate_key().decode(), "A_FORMER_KEY").close("x")
        await sources.change(tx, first, sealed_secret=sealed)
    await slapd.delete(entries["ann"])
    await slapd.add_person("cat")
    await synchronize(site)
    assert await active_people(site) == {"bob"}


async def test_an_account_that_cannot_be_compared_stops_no_later_one(site, slapd, monkeypatch):
    await add_source(site, slapd)
    entries = await sign_in_everybody(site, slapd, "ann", "bob", "cat")
    await slapd.delete(entries["bob"])

    async def fail(*_):
        raise RuntimeError("the keys of ann")

    monkeypatch.setattr(synchronization.ssh_keys, "differ", fail)
    with capture_logs() as lines:
        await synchronize(site)
    assert await active_people(site) == {"ann", "cat"}
    assert [line["event"] for line in lines if line["log_level"] == "error"] == [
        "an account cannot be compared"
    ] * 2


async def test_an_entry_that_got_a_second_id_stops_no_later_one(site, slapd):
    await add_source(site, slapd, subject_attribute="title")
    entries = {name: await slapd.add_person(name, title=f"n-{name}") for name in ("ann", "bob", "cat")}
    for name in entries:
        assert (await site.authenticate(name=name, password=PASSWORD)).json()["user_id"]
    await slapd.replace(entries["ann"], "title", "n-ann", "n-other")
    await slapd.delete(entries["bob"])
    await synchronize(site)
    assert await active_people(site) == {"ann", "cat"}


async def test_an_entry_without_an_id_is_skipped(site, slapd):
    await add_source(site, slapd, subject_attribute="employeeNumber")
    entries = {name: await slapd.add_person(name, employeeNumber=f"n-{name}") for name in ("ann", "bob")}
    for name in entries:
        assert (await site.authenticate(name=name, password=PASSWORD)).json()["user_id"]
    await slapd.add_person("printer")
    await slapd.delete(entries["ann"])
    await synchronize(site)
    assert await active_people(site) == {"bob"}


async def test_an_administrator_who_left_is_kept_unless_a_group_made_one(site, slapd):
    await add_source(site, slapd)
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    assert (await site.call("PATCH", "/admin/users/ann", {"admin": True}, as_="root")).status_code == 200
    await slapd.delete(entries["ann"])
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}


@pytest.mark.parametrize("by", ["attribute", "search"])
async def test_groups_follow_the_directory(site, slapd, by):
    team_id = await add_team(site)
    name = "developers" if by == "search" else f"cn=developers,{GROUPS}"
    search = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER} if by == "search" else {}
    await add_source(site, slapd, group_team_map={name: {"acme": ["coders"]}}, admin_groups=[name], **search)
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    await slapd.add_group("developers", entries["ann"])
    await synchronize(site)
    assert (await members_of(site, team_id), await administrators(site)) == ({"ann"}, {"root", "ann"})
    refused = await site.call("DELETE", f"/teams/{team_id}/members/ann", as_="root")
    assert refused.status_code == 409
    await slapd.replace(f"cn=developers,{GROUPS}", "member", entries["bob"])
    await synchronize(site)
    assert (await members_of(site, team_id), await administrators(site)) == ({"bob"}, {"root", "bob"})
    async with site.database.read() as db:
        entries = await list_entries(db, service="identity", limit=10, action="source.apply_groups")
    assert {one.actor for one in entries} == {"(corp)"}
    assert sorted(one.subject for one in entries) == ["user ann", "user ann", "user bob"]


async def restricted_people(site):
    users = (await site.call("GET", "/admin/users?is_restricted=true", as_="root")).json()
    return {user["login"] for user in users}


@pytest.mark.parametrize("by", ["attribute", "search"])
async def test_a_group_of_the_directory_restricts_users_until_they_leave_it(site, slapd, by):
    name = "contractors" if by == "search" else f"cn=contractors,{GROUPS}"
    search = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER} if by == "search" else {}
    await add_source(site, slapd, restricted_groups=[name], **search)
    ann = await slapd.add_person("ann")
    await slapd.add_group("contractors", ann)
    for _ in range(2):  # by the first sign-in, and by the next
        assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
        assert await restricted_people(site) == {"ann"}
    bob = await slapd.add_person("bob")
    assert (await site.authenticate(name="bob", password=PASSWORD)).json()["user_id"]
    refused = await site.call("PATCH", "/admin/users/ann", {"restricted": False}, as_="root")
    assert refused.status_code == 409
    await slapd.replace(f"cn=contractors,{GROUPS}", "member", bob)
    await synchronize(site)
    assert await restricted_people(site) == {"bob"}
    async with site.database.read() as db:
        entries = await list_entries(db, service="identity", limit=10, action="source.apply_groups")
    assert [one.subject for one in entries] == ["user bob", "user ann", "user ann"]


async def test_a_directory_that_hides_groups_ends_no_restriction(make_world, tmp_path):
    async with (
        running_slapd(tmp_path, limits=UNREADABLE.format(groups=GROUPS)) as slapd,
        make_world(allowed_directories=["localhost"]) as site,
    ):
        name = f"cn=developers,{GROUPS}"
        await add_source(site, slapd, restricted_groups=[name])
        readers = await slapd.add_group("readers", SERVICE_DN)
        await slapd.add_group("developers", await slapd.add_person("ann"))
        assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
        assert await restricted_people(site) == {"ann"}
        await slapd.replace(readers, "member", name)
        await synchronize(site)
        assert await restricted_people(site) == {"ann"}
        assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
        assert await restricted_people(site) == {"ann"}


async def test_equal_groups_change_nothing(site, slapd):
    team_id = await add_team(site)
    name = f"cn=developers,{GROUPS}"
    await add_source(site, slapd, group_team_map={name: {"acme": ["coders"]}})
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    await slapd.add_group("developers", entries["ann"])
    assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
    await slapd.delete(entries["bob"])
    before = len(await site.emitted(MembershipChanged))
    await synchronize(site)
    assert len(await site.emitted(MembershipChanged)) == before
    assert (await members_of(site, team_id), await active_people(site)) == ({"ann"}, {"ann"})


async def test_a_failed_search_for_groups_takes_nothing(site, slapd):
    team_id = await add_team(site)
    groups = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER}
    mapping = {"developers": {"acme": ["coders"]}}
    source_id = await add_source(site, slapd, group_team_map=mapping, **groups)
    await slapd.add_group("developers", await slapd.add_person("ann"))
    assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
    wrong = {"config": {"group_base_dn": f"ou=lost,{GROUPS}"}}
    assert (await site.call("PATCH", f"/admin/auths/{source_id}", wrong, as_="root")).status_code == 200
    await synchronize(site)
    assert (await members_of(site, team_id), await active_people(site)) == ({"ann"}, {"ann"})


async def test_a_failed_search_for_groups_keeps_nobody_who_left(site, slapd):
    source_id = await add_source(site, slapd, group_base_dn=GROUPS, group_filter=GROUP_FILTER)
    entries = await sign_in_everybody(site, slapd, "ann", "bob")
    await slapd.delete(entries["bob"])
    wrong = {"config": {"group_base_dn": f"ou=lost,{GROUPS}"}}
    assert (await site.call("PATCH", f"/admin/auths/{source_id}", wrong, as_="root")).status_code == 200
    await synchronize(site)
    assert await active_people(site) == {"ann"}


async def test_groups_are_searched_for_in_chunks(site, slapd, monkeypatch):
    monkeypatch.setattr(ldap, "CHUNK", 2)
    team_id = await add_team(site)
    groups = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER}
    await add_source(site, slapd, group_team_map={"developers": {"acme": ["coders"]}}, **groups)
    entries = await sign_in_everybody(site, slapd, "ann", "bob", "cat")
    await slapd.add_group("developers", entries["ann"], entries["cat"])
    before = len(await slapd.binds())
    await synchronize(site)
    assert await members_of(site, team_id) == {"ann", "cat"}
    assert len(await slapd.binds()) == before + 3  # the list, and two chunks


UNREADABLE = """
access to attrs=memberOf,sshPublicKey
  by group.exact="cn=readers,{groups}" read
  by * none
access to dn.subtree="cn=developers,{groups}"
  by group.exact="cn=readers,{groups}" read
  by * none
"""


@pytest.mark.parametrize("by", ["attribute", "search"])
async def test_a_directory_that_hides_groups_and_keys_takes_none(make_world, tmp_path, by):
    async with (
        running_slapd(tmp_path, limits=UNREADABLE.format(groups=GROUPS)) as slapd,
        make_world(allowed_directories=["localhost"]) as site,
    ):
        team_id = await add_team(site)
        name = "developers" if by == "search" else f"cn=developers,{GROUPS}"
        search = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER} if by == "search" else {}
        mapping = {"group_team_map": {name: {"acme": ["coders"]}}, "admin_groups": [name]}
        await add_source(site, slapd, ssh_key_attribute="sshPublicKey", **mapping, **search)
        readers = await slapd.add_group("readers", SERVICE_DN)
        ann = await slapd.add_person("ann", sshPublicKey=f"ssh-ed25519 {ssh_key(1)} of-1")
        bob = await slapd.add_person("bob")
        await slapd.add_group("developers", ann)
        for one in ("ann", "bob"):
            assert (await site.authenticate(name=one, password=PASSWORD)).json()["user_id"]
        expected = ({"ann"}, {"root", "ann"}, 1)
        assert await rights(site, team_id) == expected

        await slapd.replace(readers, "member", bob)
        await synchronize(site)
        assert await rights(site, team_id) == expected
        await slapd.replace(readers, "member", SERVICE_DN)
        await slapd.replace(f"cn=developers,{GROUPS}", "member", bob)
        await synchronize(site)
        assert await rights(site, team_id) == ({"bob"}, {"root", "bob"}, 1)


async def test_a_directory_that_shows_required_groups_and_hides_mapped_ones_takes_none(make_world, tmp_path):
    async with (
        running_slapd(tmp_path, limits=UNREADABLE.format(groups=GROUPS)) as slapd,
        make_world(allowed_directories=["localhost"]) as site,
    ):
        team_id = await add_team(site)
        search = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER, "required_groups": ["staff"]}
        mapping = {"group_team_map": {"developers": {"acme": ["coders"]}}, "admin_groups": ["developers"]}
        await add_source(site, slapd, **search, **mapping)
        readers = await slapd.add_group("readers", SERVICE_DN)
        ann, bob = [await slapd.add_person(name) for name in ("ann", "bob")]
        await slapd.add_group("developers", ann)
        staff = await slapd.add_group("staff", ann, bob)
        for one in ("ann", "bob"):
            assert (await site.authenticate(name=one, password=PASSWORD)).json()["user_id"]
        expected = ({"ann"}, {"root", "ann"}, 0)
        assert await rights(site, team_id) == expected

        await slapd.replace(readers, "member", bob)
        await slapd.replace(staff, "member", ann)
        with capture_logs() as logs:
            await synchronize(site)
        assert await rights(site, team_id) == expected
        assert "groups of a directory are not applied" in {line["event"] for line in logs}
        # Who lost the required group is deactivated all the same.
        assert await active_people(site) == {"ann"}
        await slapd.replace(readers, "member", SERVICE_DN)
        await slapd.replace(f"cn=developers,{GROUPS}", "member", bob)
        await slapd.replace(staff, "member", ann, bob)
        await synchronize(site)
        assert await rights(site, team_id) == ({"bob"}, {"root", "bob"}, 0)


@pytest.mark.parametrize("by", ["attribute", "search"])
@pytest.mark.parametrize("is_required", [True, False], ids=["required", "not required"])
async def test_the_last_person_who_leaves_a_mapped_group_loses_its_rights(site, slapd, by, is_required):
    team_id = await add_team(site)
    names = ["staff", "forge (admins)"]
    staff, admins = names if by == "search" else [f"cn={name},{GROUPS}" for name in names]
    search = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER} if by == "search" else {}
    if is_required:
        search["required_groups"] = [staff]
    mapping = {"group_team_map": {admins: {"acme": ["coders"]}}, "admin_groups": [admins]}
    await add_source(site, slapd, **mapping, **search)
    ann, bob = [await slapd.add_person(name) for name in ("ann", "bob")]
    await slapd.add_group("staff", ann, bob)
    await slapd.add_group("forge (admins)", ann)
    for name in ("ann", "bob"):
        assert (await site.authenticate(name=name, password=PASSWORD)).json()["user_id"]
    assert await rights(site, team_id) == ({"ann"}, {"root", "ann"}, 0)

    # A group has a member, so the last person is replaced by an entry that is no person.
    await slapd.replace(f"cn=forge (admins),{GROUPS}", "member", SERVICE_DN)
    await synchronize(site)
    assert await rights(site, team_id) == (set(), {"root"}, 0)
    assert await active_people(site) == {"ann", "bob"}


async def rights(site, team_id):
    keys = (await site.call("GET", "/users/ann/keys", as_="root")).json()
    return await members_of(site, team_id), await administrators(site), len(keys)


async def test_a_directory_that_hides_keys_takes_none(make_world, tmp_path):
    async with (
        running_slapd(tmp_path, limits=UNREADABLE.format(groups=GROUPS)) as slapd,
        make_world(allowed_directories=["localhost"]) as site,
    ):
        await add_source(site, slapd, ssh_key_attribute="sshPublicKey")
        readers = await slapd.add_group("readers", SERVICE_DN)
        ann = await slapd.add_person("ann", sshPublicKey=f"ssh-ed25519 {ssh_key(1)} of-1")
        assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
        await slapd.replace(readers, "member", ann)
        await synchronize(site)
        assert len((await site.call("GET", "/users/ann/keys", as_="root")).json()) == 1


async def test_who_lost_the_required_groups_of_a_search_is_deactivated(site, slapd):
    groups = {"group_base_dn": GROUPS, "group_filter": GROUP_FILTER, "required_groups": ["staff"]}
    await add_source(site, slapd, **groups)
    ann, bob = await slapd.add_person("ann"), await slapd.add_person("bob")
    group = await slapd.add_group("staff", ann, bob)
    for name in ("ann", "bob"):
        assert (await site.authenticate(name=name, password=PASSWORD)).json()["user_id"]
    await slapd.replace(group, "member", ann)
    await synchronize(site)
    assert await active_people(site) == {"ann"}
    await slapd.replace(group, "member", ann, bob)
    await synchronize(site)
    assert await active_people(site) == {"ann", "bob"}


async def administrators(site):
    users = (await site.call("GET", "/admin/users", as_="root")).json()
    return {user["login"] for user in users if user["is_admin"]}
