"""SSH keys: what is accepted, in which form it is stored, and whose it is."""

import base64
import json
import shutil
import subprocess
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ingot_chassis.security.ssh_keys import read


def wire(*parts):
    return b"".join(len(part).to_bytes(4) + part for part in parts)


def number(value):
    return value.to_bytes(value.bit_length() // 8 + 1)


def line(kind, *parts, comment=""):
    encoded = base64.b64encode(wire(kind.encode(), *parts)).decode()
    return f"{kind} {encoded} {comment}".strip()


def rsa(bits):
    return line("ssh-rsa", number(65537), number((1 << bits - 1) + 1))


def point(curve):
    key = ec.generate_private_key(curve).public_key()
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


ED = line("ssh-ed25519", b"k" * 32, comment="me@here")
BLOB = ED.split()[1]
SK = "sk-ssh-ed25519@openssh.com"
SK_ECDSA = "sk-ecdsa-sha2-nistp256@openssh.com"
GOOD = {
    "ed25519": ED,
    "without its type": f"{BLOB} me@here",
    "without a comment": f"ssh-ed25519 {BLOB}",
    "rsa 2048": rsa(2048),
    "rsa 16384": rsa(16384),
    "ecdsa 256": line("ecdsa-sha2-nistp256", b"nistp256", point(ec.SECP256R1())),
    "ecdsa 384": line("ecdsa-sha2-nistp384", b"nistp384", point(ec.SECP384R1())),
    "ecdsa 521": line("ecdsa-sha2-nistp521", b"nistp521", point(ec.SECP521R1())),
    "token ed25519": line(SK, b"k" * 32, b"ssh:"),
    "token ecdsa": line(SK_ECDSA, b"nistp256", point(ec.SECP256R1()), b"ssh:"),
    "SSH2": '---- BEGIN SSH2 PUBLIC KEY ----\nComment: "me \\\nand you"\nx-y: z\n'
    f"{BLOB[:30]}\n{BLOB[30:]}\n---- END SSH2 PUBLIC KEY ----\n",
}
BAD = {
    "nothing": "",
    "spaces": "   ",
    "words": "this is no key",
    "huge": "ssh-rsa " + "A" * 1_000_000,
    "no base64": "ssh-ed25519 !!!!",
    "not ASCII": "ssh-ed25519 ünï",
    "two lines": f"{ED}\n{ED}",
    "options before": f'command="x" {ED}',
    "another type than it says": f"ssh-rsa {BLOB}",
    "cut short": f"ssh-ed25519 {BLOB[:40]}",
    "bytes after the key": line("ssh-ed25519", b"k" * 32, b"more"),
    "a length beyond the end": base64.b64encode(b"\xff\xff\xff\xffssh-rsa").decode(),
    "nested": line("ssh-ed25519", wire(wire(b"k" * 32))),
    "ed25519 of 31 bytes": line("ssh-ed25519", b"k" * 31),
    "rsa 2047": rsa(2047),
    "rsa 16385": rsa(16385),
    "rsa with exponent 1": line("ssh-rsa", number(1), number((1 << 2047) + 1)),
    "rsa below zero": line("ssh-rsa", number(65537), b"\xff" * 256),
    "rsa far below zero": line("ssh-rsa", number(65537), b"\x80" + b"\xff" * 511),
    "rsa with a zero too many": line("ssh-rsa", number(65537), b"\0" + number((1 << 2047) + 1)),
    "rsa without modulus": line("ssh-rsa", number(65537)),
    "dsa": line("ssh-dss", *[number(7)] * 4),
    "a certificate": line("ssh-ed25519-cert-v01@openssh.com", b"n", b"k" * 32),
    "a point beside the curve": line("ecdsa-sha2-nistp256", b"nistp256", b"\x04" + b"\1" * 64),
    "another curve than it says": line("ecdsa-sha2-nistp256", b"nistp384", point(ec.SECP384R1())),
    "an unknown curve": line("ecdsa-sha2-nistp256", b"p256", point(ec.SECP256R1())),
    "a token key without application": line(SK, b"k" * 32, b""),
    "an open SSH2 block": f"---- BEGIN SSH2 PUBLIC KEY ----\n{BLOB}",
    "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
    "NUL": f"{ED}\x00",
}


async def add(world, key, title="laptop", as_="ann"):
    return await world.call("POST", "/user/keys", {"title": title, "key": key}, as_=as_)


@pytest.mark.parametrize("key", GOOD.values(), ids=GOOD)
async def test_a_key_is_accepted(world, key):
    await world.add_user("ann")
    answer = await add(world, key)
    assert answer.status_code == 201
    key = answer.json()
    assert key["url"] == f"http://127.0.0.1:3000/api/v1/user/keys/{key['id']}"
    assert (await world.call("GET", f"/user/keys/{key['id']}", as_="ann")).json() == key
    assert (await world.call("GET", "/users/ann/keys", as_="root")).json() == [key]


async def test_a_bad_key_is_refused_by_name(world):
    await world.add_user("ann")
    await world.call("GET", "/user", as_="ann")
    for name, key in BAD.items():
        body = json.dumps({"title": "laptop", "key": key})
        answer = await world.call_raw("POST", "/user/keys", body, as_="ann")
        fields = [error["field"] for error in answer.json()["errors"]]
        assert (name, answer.status_code, fields) == (name, 422, ["key"])
    assert (await world.call("GET", "/user/keys", as_="ann")).json() == []


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"title": ""}, 422, "title"),
        ({"title": "x" * 256}, 422, "title"),
        ({"title": None}, 422, "title"),
        ({"title": 3}, 422, "title"),
        ({"key": {"key": ED}}, 422, "key"),
    ],
)
async def test_a_bad_body_names_the_field(world, body, status, field):
    await world.add_user("ann")
    answer = await world.call("POST", "/user/keys", {"title": "laptop", "key": ED} | body, as_="ann")
    assert (answer.status_code, [e["field"] for e in answer.json()["errors"]]) == (status, [field])


async def test_a_key_is_stored_in_one_form_whatever_it_came_in(world):
    await world.add_user("ann")
    key = (await add(world, GOOD["SSH2"])).json()
    assert key["key"] == f"ssh-ed25519 {BLOB} me and you"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_repos_learns_whose_key_it_is_as_long_as_they_may_sign_in(world):
    await world.add_user("ann")
    fingerprint = (await add(world, ED)).json()["fingerprint"]
    path = f"/internal/ssh-keys?fingerprint={quote(fingerprint)}"
    with world.count_statements() as statements:
        owner = (await world.get_as_peer(path)).json()
    assert (owner["principal"]["name"], owner["principal"]["via"], owner["title"]) == ("ann", "ssh", "laptop")
    assert "scopes" not in owner["principal"]
    assert len(statements) == 2
    login = {"source_id": 0, "login_name": "ann", "prohibit_login": True}
    assert (await world.call("PATCH", "/admin/users/ann", login, as_="root")).status_code == 200
    assert (await world.get_as_peer(path)).status_code == 403


@pytest.mark.parametrize("kind", ["ed25519", "rsa 2048", "ecdsa 256"])
def test_the_fingerprint_is_that_of_openssh(tmp_path, kind):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen")
    file = tmp_path / "key.pub"
    file.write_text(GOOD[kind] + "\n")
    output = subprocess.run(["ssh-keygen", "-lf", file], capture_output=True, text=True, check=True)
    assert read(GOOD[kind]).fingerprint == output.stdout.split()[1]


async def test_a_key_belongs_to_one_user_and_a_title_to_one_key(world):
    await world.add_user("ann")
    await world.add_user("bob")
    assert (await add(world, ED)).status_code == 201
    for as_, key, title, field in (
        ("bob", f"{BLOB} other comment", "laptop", "key"),
        ("ann", ED, "other", "key"),
        ("ann", GOOD["rsa 2048"], "laptop", "title"),
    ):
        answer = await add(world, key, title, as_)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await add(world, GOOD["rsa 2048"], "laptop", "bob")).status_code == 201


async def test_a_deleted_key_is_free_again(world):
    await world.add_user("ann")
    await world.add_user("bob")
    key_id = (await add(world, ED)).json()["id"]
    assert (await world.call("DELETE", f"/user/keys/{key_id}", as_="bob")).status_code == 403
    assert (await world.call("DELETE", f"/user/keys/{key_id}", as_="ann")).status_code == 204
    assert (await world.call("DELETE", f"/user/keys/{key_id}", as_="ann")).status_code == 204
    assert (await add(world, ED, as_="bob")).status_code == 201


async def test_an_administrator_adds_and_deletes_keys_of_others(world):
    await world.add_user("ann")
    await world.add_user("bob")
    answer = await world.call("POST", "/admin/users/ann/keys", {"title": "k", "key": ED}, as_="root")
    assert answer.status_code == 201
    key_id = answer.json()["id"]
    fingerprint = quote(answer.json()["fingerprint"], safe="")
    for path in ("/user/keys", "/users/ann/keys"):
        for text, ids in ((fingerprint, [key_id]), ("SHA256:x", [])):
            listed = await world.call("GET", f"{path}?fingerprint={text}", as_="ann")
            assert [key["id"] for key in listed.json()] == ids, path
    assert (await world.call("DELETE", f"/admin/users/bob/keys/{key_id}", as_="root")).status_code == 404
    assert (await world.call("DELETE", f"/admin/users/ann/keys/{key_id}", as_="root")).status_code == 204
    assert (await world.call("GET", "/user/keys", as_="ann")).json() == []


async def test_a_token_of_an_administrator_deletes_keys_of_others_only_if_it_reaches_that_far(world):
    await world.add_user("ann")
    path = f"/user/keys/{(await add(world, ED)).json()['id']}"
    for scopes, status in ((["write:user"], 403), (["write:user", "write:admin"], 204)):
        body = {"name": "t", "scopes": scopes}
        token = (await world.call("POST", "/users/root/tokens", body, as_="root")).json()["sha1"]
        assert (await world.call("DELETE", path, token=token)).status_code == status


async def test_a_key_of_a_person_may_be_read_only(world):
    """Such a key may fetch, and not push. That of an administrator opens what administrators may read."""
    path = f"/internal/ssh-keys?fingerprint={quote(read(ED).fingerprint)}"
    for read_only, scopes in ((True, ["read:repository", "write:admin"]), (False, None), (None, None)):
        new = {"title": "x", "key": ED, "read_only": read_only}
        added = await world.call("POST", "/user/keys", new, as_="root")
        key = added.json()
        assert (added.status_code, key["read_only"], key["key_type"]) == (201, bool(read_only), "user")
        principal = (await world.get_as_peer(path)).json()["principal"]
        assert (principal.get("scopes"), principal["admin"]) == (scopes, True)
        [listed] = (await world.call("GET", "/user/keys", as_="root")).json()
        assert listed == key == (await world.call("GET", f"/user/keys/{key['id']}", as_="root")).json()
        await world.call("DELETE", f"/user/keys/{key['id']}", as_="root")


async def test_a_key_shows_its_user_and_its_last_session(world):
    await world.add_user("ann")
    key = (await add(world, ED)).json()
    assert (key["user"]["login"], key["last_used_at"]) == ("ann", None)
    path = f"/internal/ssh-keys?fingerprint={quote(key['fingerprint'])}"
    await world.get_as_peer(path)  # a client may offer a key that it does not have
    assert (await world.call("GET", "/user/keys", as_="ann")).json() == [key]
    await world.get_as_peer(f"{path}&used=true")
    for shown in ("/user/keys", "/users/ann/keys"):
        [listed] = (await world.call("GET", shown, as_="ann")).json()
        assert listed["last_used_at"] >= key["created_at"], shown
        assert listed["user"] == key["user"], shown
    with world.count_statements() as statements:
        await world.get_as_peer(f"{path}&used=true")
    assert len(statements) == 2  # the time is written once a minute


async def test_an_administrator_adds_a_read_only_key(world):
    await world.add_user("ann")
    new = {"title": "x", "key": ED, "read_only": True}
    key = (await world.call("POST", "/admin/users/ann/keys", new, as_="root")).json()
    assert (key["read_only"], key["user"]["login"]) == (True, "ann")
