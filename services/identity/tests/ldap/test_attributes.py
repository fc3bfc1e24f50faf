"""SSH keys and pictures of a real directory."""

import base64
import hashlib
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from ingot_chassis.db.audit import list_entries
from ingot_testing.slapd import GROUPS, PASSWORD, PEOPLE, SERVICE_DN, running_slapd

from ..matrix import GIF, ssh_key
from .counterparts import add_source, config_of
from .test_synchronization import active_people, synchronize

KEYS = {"ssh_key_attribute": "sshPublicKey"}
PICTURES = {"avatar_attribute": "jpegPhoto"}
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"


def line(number):
    return f"ssh-ed25519 {ssh_key(number)} of-{number}"


def picture(number):
    return JPEG + bytes([number]) + b"\xff\xd9"


async def sign_in(site, name="ann"):
    """The headers with which the person calls the API."""
    answer = await site.authenticate(name=name, password=PASSWORD)
    assert answer.status_code == 200, answer.text
    return {"ingot-principal": answer.json()["statement"]}


async def keys_of(site, name="ann", *, as_="root"):
    answer = await site.call("GET", f"/users/{name}/keys", as_=as_)
    return {one["key"]: one["source"] for one in answer.json()}


async def shown(site, name="ann"):
    return (await site.call("GET", f"/users/{name}")).json()["avatar_url"].rpartition("/")[2]


@pytest.mark.parametrize("step", [sign_in, synchronize], ids=["sign-in", "synchronization"])
async def test_keys_follow_the_directory(site, slapd, step):
    await add_source(site, slapd, **KEYS)
    await slapd.add_person("cat", sshPublicKey=line(9))
    ann = await slapd.add_person("ann", sshPublicKey=[line(1), line(2)])
    await sign_in(site)
    assert await keys_of(site) == {line(1): "corp", line(2): "corp"}
    await slapd.replace(ann, "sshPublicKey", line(2), line(3))
    await step(site)
    assert await keys_of(site) == {line(2): "corp", line(3): "corp"}
    await slapd.replace(ann, "sshPublicKey")
    await step(site)
    assert await keys_of(site) == {}


async def test_a_key_of_a_directory_signs_in_over_ssh_until_it_is_removed_there(site, slapd):
    await add_source(site, slapd, **KEYS)
    await slapd.add_person("cat", sshPublicKey=line(9))
    ann = await slapd.add_person("ann", sshPublicKey=line(1))
    await sign_in(site)
    (key,) = (await site.call("GET", "/users/ann/keys", as_="root")).json()
    owner = f"/internal/ssh-keys?fingerprint={quote(key['fingerprint'])}"
    assert (await site.get_as_peer(owner)).status_code == 200
    await slapd.replace(ann, "sshPublicKey")
    await synchronize(site)
    assert (await site.get_as_peer(owner)).status_code == 404


async def test_a_key_of_a_directory_is_not_removed_by_hand(site, slapd):
    await add_source(site, slapd, **KEYS)
    await slapd.add_person("ann", sshPublicKey=line(1))
    headers = await sign_in(site)
    (key,) = (await site.call("GET", "/users/ann/keys", as_="root")).json()
    own = await site.http.delete(f"/api/v1/user/keys/{key['id']}", headers=headers)
    by_root = await site.call("DELETE", f"/admin/users/ann/keys/{key['id']}", as_="root")
    assert (own.status_code, by_root.status_code) == (409, 409)
    assert own.json()["message"] == "corp gave this key and would give it again; remove it there"
    assert await keys_of(site) == {line(1): "corp"}


async def test_keys_that_a_user_added_stay(site, slapd):
    await add_source(site, slapd, **KEYS)
    ann = await slapd.add_person("ann", sshPublicKey=line(1))
    headers = await sign_in(site)
    body = {"title": "laptop", "key": line(2)}
    assert (await site.http.post("/api/v1/user/keys", json=body, headers=headers)).status_code == 201
    await slapd.replace(ann, "sshPublicKey", line(2))
    await synchronize(site)
    assert await keys_of(site) == {line(2): ""}
    await slapd.replace(ann, "sshPublicKey")
    await synchronize(site)
    assert await keys_of(site) == {line(2): ""}


async def test_only_the_owner_and_administrators_see_where_a_key_is_from(site, slapd):
    await add_source(site, slapd, **KEYS)
    await slapd.add_person("ann", sshPublicKey=line(1))
    headers = await sign_in(site)
    await site.add_user("eve")
    own = (await site.http.get("/api/v1/user/keys", headers=headers)).json()
    assert [one["source"] for one in own] == ["corp"]
    assert await keys_of(site, as_="eve") == {line(1): ""}


async def test_a_key_of_another_account_and_one_that_is_none_are_left_out(site, slapd):
    await add_source(site, slapd, **KEYS)
    await site.add_user("eve")
    body = {"title": "mine", "key": line(1)}
    assert (await site.call("POST", "/user/keys", body, as_="eve")).status_code == 201
    await slapd.add_person("ann", sshPublicKey=[line(1), "no key", line(2)])
    await sign_in(site)
    assert await keys_of(site) == {line(2): "corp"}
    assert await keys_of(site, "eve") == {line(1): ""}


async def test_a_key_with_a_comment_that_cannot_be_shown_is_left_out(site, slapd):
    await add_source(site, slapd, **KEYS)
    ann = await slapd.add_person("ann", sshPublicKey=line(1))
    bob = await slapd.add_person("bob")
    for name in ("ann", "bob"):
        await sign_in(site, name)
    await slapd.replace(ann, "sshPublicKey", f"{line(2)}\0x".encode(), line(3))
    await slapd.delete(bob)
    await synchronize(site)
    assert await keys_of(site) == {line(3): "corp"}
    assert await active_people(site) == {"ann"}


async def test_a_key_of_another_account_is_no_change(site, slapd):
    await add_source(site, slapd, **KEYS)
    await site.add_user("eve")
    assert (await site.call("POST", "/user/keys", {"title": "mine", "key": line(1)}, as_="eve")).is_success
    await slapd.add_person("ann", sshPublicKey=[line(1), line(2)])
    await sign_in(site)
    with capture_logs() as lines:
        await synchronize(site)
    assert "keys of a directory are not added" not in {one["event"] for one in lines}
    assert await keys_of(site) == {line(2): "corp"}


@pytest.mark.parametrize("body", [{"source_id": 0}, {"login_name": "someone-else"}], ids=str)
async def test_keys_end_with_the_link(site, slapd, body):
    source_id = await add_source(site, slapd, **KEYS)
    await slapd.add_person("ann", sshPublicKey=line(1))
    await sign_in(site)
    change = {"source_id": source_id, **body}
    assert (await site.call("PATCH", "/admin/users/ann", change, as_="root")).status_code == 200
    assert await keys_of(site) == {}


async def test_keys_end_when_a_person_is_refused(site, slapd):
    await add_source(site, slapd, required_groups=[f"cn=staff,{GROUPS}"], **KEYS)
    ann, bob = await slapd.add_person("ann", sshPublicKey=line(1)), await slapd.add_person("bob")
    group = await slapd.add_group("staff", ann, bob)
    headers = await sign_in(site)
    own = {"title": "laptop", "key": line(2)}
    assert (await site.http.post("/api/v1/user/keys", json=own, headers=headers)).status_code == 201
    await slapd.replace(group, "member", bob)
    assert (await site.authenticate(name="ann", password=PASSWORD)).status_code == 403
    assert await keys_of(site) == {line(2): ""}
    async with site.database.read() as db:
        (entry,) = await list_entries(db, service="identity", limit=10, action="ssh_key.delete")
    assert (entry.actor, entry.subject, entry.details["source"]) == ("ann", "user ann", "corp")


async def test_keys_need_an_account_that_lists_people(site, slapd):
    config = config_of(slapd, bind_dn="", user_dn=f"uid={{name}},{PEOPLE}", **KEYS)
    body = {"name": "corp", "title": "corp", "config": config}
    answer = await site.call("POST", "/admin/auths", body, as_="root")
    assert answer.status_code == 422
    assert [one["field"] for one in answer.json()["errors"]] == ["config.ssh_key_attribute"]


async def test_keys_are_removed_when_the_attribute_is_no_longer_set(site, slapd):
    source_id = await add_source(site, slapd, **KEYS)
    await slapd.add_person("ann", sshPublicKey=line(1))
    await sign_in(site)
    change = {"config": {"ssh_key_attribute": ""}}
    assert (await site.call("PATCH", f"/admin/auths/{source_id}", change, as_="root")).status_code == 200
    await synchronize(site)
    assert await keys_of(site) == {}


async def test_keys_of_a_directory_are_in_the_audit_log(site, slapd):
    await add_source(site, slapd, **KEYS)
    await slapd.add_person("cat", sshPublicKey=line(9))
    ann = await slapd.add_person("ann", sshPublicKey=line(1))
    await sign_in(site)
    await slapd.replace(ann, "sshPublicKey")
    await synchronize(site)
    for action, actor in (("ssh_key.add", "ann"), ("ssh_key.delete", "(corp)")):
        async with site.database.read() as db:
            (entry,) = await list_entries(db, service="identity", limit=10, action=action)
        assert (entry.actor, entry.subject, entry.details["source"]) == (actor, "user ann", "corp")


async def test_a_picture_is_that_of_the_directory_until_its_owner_uploads_one(site, slapd):
    await add_source(site, slapd, **PICTURES)
    ann = await slapd.add_person("ann")
    await sign_in(site)
    drawn = await shown(site)
    await slapd.replace(ann, "jpegPhoto", picture(1))
    headers = await sign_in(site)
    assert await shown(site) == hashlib.sha256(picture(1)).hexdigest()
    assert (await site.http.get(f"/avatars/{await shown(site)}")).content == picture(1)
    answer = await site.http.post("/api/v1/user/avatar", json={"image": GIF}, headers=headers)
    assert answer.status_code == 204
    await sign_in(site)
    assert await shown(site) == hashlib.sha256(base64.b64decode(GIF)).hexdigest()
    await slapd.replace(ann, "jpegPhoto", picture(2))
    await sign_in(site)
    assert await shown(site) == hashlib.sha256(picture(2)).hexdigest()
    await slapd.replace(ann, "jpegPhoto")
    await sign_in(site)
    assert await shown(site) == drawn


@pytest.mark.parametrize("direct", [False, True], ids=["search", "direct bind"])
async def test_a_picture_is_read_after_the_password_was_accepted(site, slapd, direct):
    name = {"user_dn": f"uid={{name}},{PEOPLE}"} if direct else {}
    await add_source(site, slapd, **PICTURES, **name)
    ann = await slapd.add_person("ann")
    await slapd.replace(ann, "jpegPhoto", picture(1))
    assert not (await site.authenticate(name="ann", password="a guess")).json()["user_id"]
    await slapd.binds()
    assert not [line for line in slapd.lines if "SRCH attr=" in line and "jpegPhoto" in line]
    await sign_in(site)
    await slapd.binds()
    assert [line for line in slapd.lines if "SRCH attr=jpegPhoto" in line]
    assert await shown(site) == hashlib.sha256(picture(1)).hexdigest()


HIDDEN_ENTRY = """
access to attrs=objectClass
  by group.exact="cn=readers,{groups}" read
  by * none
"""


async def test_a_picture_stays_while_the_directory_hides_the_entry(make_world, tmp_path):
    """It shows no entry to the search after the password, which says nothing about the picture."""
    async with (
        running_slapd(tmp_path, limits=HIDDEN_ENTRY.format(groups=GROUPS)) as slapd,
        make_world(allowed_directories=["localhost"]) as site,
    ):
        await add_source(site, slapd, **PICTURES, user_filter="(uid={name})")
        readers = await slapd.add_group("readers", SERVICE_DN)
        ann = await slapd.add_person("ann")
        await slapd.replace(ann, "jpegPhoto", picture(1))
        await sign_in(site)
        expected = hashlib.sha256(picture(1)).hexdigest()
        assert await shown(site) == expected
        await slapd.replace(readers, "member", ann)
        await slapd.replace(ann, "jpegPhoto", picture(2))
        await sign_in(site)
        assert await shown(site) == expected
        await slapd.replace(readers, "member", SERVICE_DN)
        await sign_in(site)
        assert await shown(site) == hashlib.sha256(picture(2)).hexdigest()


async def test_an_uploaded_picture_stays_when_the_directory_removes_its_own(site, slapd):
    await add_source(site, slapd, **PICTURES)
    ann = await slapd.add_person("ann")
    await slapd.replace(ann, "jpegPhoto", picture(1))
    headers = await sign_in(site)
    assert (await site.http.post("/api/v1/user/avatar", json={"image": GIF}, headers=headers)).is_success
    await slapd.replace(ann, "jpegPhoto")
    await sign_in(site)
    assert await shown(site) == hashlib.sha256(base64.b64decode(GIF)).hexdigest()


async def test_a_picture_that_may_not_be_uploaded_is_not_used(make_world, slapd):
    async with make_world(allowed_directories=["localhost"], avatar_bytes=1024) as site:
        await add_source(site, slapd, avatar_attribute="audio")
        ann = await slapd.add_person("ann")
        await sign_in(site)
        drawn = await shown(site)
        for content in (JPEG + bytes(2000), b"<svg xmlns='http://www.w3.org/2000/svg'/>"):
            await slapd.replace(ann, "audio", content)
            await sign_in(site)
            assert await shown(site) == drawn
