"""OpenPGP keys: what is accepted, what is shown of them, and whose they are."""

import base64
import subprocess
import sys
import zlib

from pysequoia import ArmorKind, Tsk, armor
from pysequoia.packet import PacketPile

ANN = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZN9JRYJKwYBBAHaRw8BAQdAknHrZ8U7XUPGDWKY/177vk82rzAdHImAMu7b
7iZTgtq0HEFubiAod29yaykgPEFubkBleGFtcGxlLmNvbT6IkAQTFggAOBYhBFJY
B+Gk/8adbFtUm4O9CVHnkuQ7BQJlk30lAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4B
AheAAAoJEIO9CVHnkuQ7+6oA/iYg/q6kPPmJdfTAHpQQm6LlV3jt8kVoDmLPhTQK
AyoZAP9VxCmyChtIQMthqgVvDNlToiLpDLTytfUZ/XRySxpBCLg4BGWTfSUSCisG
AQQBl1UBBQEBB0Ciacl7l7J8ujNiPuIVoa/ONaTZPkSRaLm3AF9pKldhFwMBCAeI
fgQYFggAJhYhBFJYB+Gk/8adbFtUm4O9CVHnkuQ7BQJlk30lAhsMBQlXsSwAAAoJ
EIO9CVHnkuQ7NosBAIpEv0zuHHAq213SLa7o1l2pS7x/Zw9rEvz1lI5mqbYTAP4s
il5+xESW+I8idionU6lXxYjiWZLX6/9KUzqhgWtPCw==
=9tFb
-----END PGP PUBLIC KEY BLOCK-----
"""
"""Made with GnuPG: signs and certifies, never expires; its subkey encrypts."""


def public(user_id):
    return Tsk.generate(user_id).extract_certificate()


def packets(cert):
    return [bytes(packet) for packet in PacketPile.from_bytes(bytes(cert))]


def armored(parts):
    return armor(b"".join(parts), ArmorKind.PublicKey)


def nested(text):
    for _ in range(5):
        text = armor(text.encode(), ArmorKind.PublicKey)
    return text


def packed(data):
    """A packet of compressed packets."""
    body = b"\2" + zlib.compress(data, 9)
    return b"\xc8\xff" + len(body).to_bytes(4) + body


BAD = {
    "nothing": lambda: "",
    "words": lambda: "this is no key",
    "huge": lambda: ANN + "\n" + "A" * 1_000_000,
    "cut short": lambda: ANN[:300],
    "cut in its packets": lambda: armored([b"".join(packets(public("Ann <ann@example.com>")))[:100]]),
    "another checksum": lambda: ANN.replace("\n=", "\n=AAAA\n="),
    "an empty block": lambda: armored([b""]),
    "noise": lambda: armored([b"\x99\xff\xff" + b"\xff" * 500]),
    "nested": lambda: nested(ANN),
    "compressed": lambda: armored([packed(bytes(public("Ann <ann@example.com>")))]),
    "two keys": lambda: armored([bytes(public("Ann <ann@example.com>")), bytes(public("B <b@x.io>"))]),
    "a private key": lambda: str(Tsk.generate("Ann <ann@example.com>")),
    "a message": lambda: armor(b"\xcb\x0bb\x00\x00\x00\x00\x00hello", ArmorKind.Message),
    "no user id": lambda: armored([bytes(Tsk.generate().extract_certificate())]),
    "an address of somebody else": lambda: str(public("Bob <bob@example.com>")),
    "an unsigned address": lambda: armored(packets(public("Ann <ann@example.com>"))[:3]),
    "an address that another key signed": lambda: armored(
        [*packets(public("Eve <eve@x.io>"))[:4], *packets(public("Ann <ann@example.com>"))[2:4]]
    ),
}


async def add(world, key=ANN, as_="ann"):
    return await world.call("POST", "/user/gpg_keys", {"armored_public_key": key}, as_=as_)


async def test_a_key_of_gnupg_is_shown_with_its_subkey_and_addresses(world):
    await world.add_user("ann")
    answer = await add(world)
    assert answer.status_code == 201
    key = answer.json()
    (subkey,) = key.pop("subkeys")
    shown = {name: key[name] for name in key if name not in ("id", "public_key")}
    assert shown == {
        "primary_key_id": "",
        "key_id": "83BD0951E792E43B",
        "emails": [{"email": "ann@example.com", "verified": True}],
        "can_sign": True,
        "can_encrypt_comms": False,
        "can_encrypt_storage": False,
        "can_certify": True,
        "created_at": "2024-01-02T03:04:05Z",
        "expires_at": "0001-01-01T00:00:00Z",
        "verified": False,
    }
    assert base64.b64decode(key["public_key"])[0] & 0x80
    shown = {name: subkey[name] for name in subkey if name not in ("id", "public_key", "expires_at")}
    assert shown == {
        "primary_key_id": "83BD0951E792E43B",
        "key_id": "9A04E7F96AD6B856",
        "emails": None,
        "subkeys": None,
        "can_sign": False,
        "can_encrypt_comms": True,
        "can_encrypt_storage": True,
        "can_certify": False,
        "created_at": "2024-01-02T03:04:05Z",
        "verified": False,
    }
    assert subkey["expires_at"] > "2050"


async def test_a_key_is_shown_by_its_id_and_in_the_lists(world):
    await world.add_user("ann")
    await world.add_user("bob")
    key = (await add(world)).json()
    assert (await world.call("GET", f"/user/gpg_keys/{key['id']}", as_="ann")).json() == key
    assert (await world.call("GET", "/user/gpg_keys", as_="ann")).json() == [key]
    listed = await world.call("GET", "/users/ann/gpg_keys", as_="bob")
    assert listed.json() == [key]
    assert listed.headers["x-total-count"] == "1"
    subkey = key["subkeys"][0]["id"]
    assert (await world.call("GET", f"/user/gpg_keys/{subkey}", as_="ann")).status_code == 404
    assert (await world.call("GET", "/user/gpg_keys/99", as_="ann")).status_code == 404


async def test_a_bad_key_is_refused_by_name(world):
    await world.add_user("ann")
    await world.add_user("bob")
    for name, make in BAD.items():
        answer = await add(world, make())
        fields = [error["field"] for error in answer.json()["errors"]]
        assert (name, answer.status_code, fields) == (name, 422, ["armored_public_key"])
    assert (await world.call("GET", "/user/gpg_keys", as_="ann")).json() == []


UNPACKING = """
import resource, sys
from ingot_chassis.errors import Invalid
from ingot_identity.keys.rules.gpg import read

texts = sys.stdin.read().split(";")
with open("/proc/self/statm") as sizes:
    most = int(sizes.read().split()[0]) * resource.getpagesize() + (400 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for text in texts:
    try:
        read(text)
    except Invalid as refused:
        print(refused.errors[0].code)
"""


def test_what_is_compressed_is_not_unpacked():
    user_ids = packed(b"\xcd\6a@x.io" * 1_000_000)  # more than a gigabyte as packets
    alone, after_a_key = armored([user_ids]), armored([bytes(public("Ann <ann@example.com>")), user_ids])
    ended = subprocess.run(
        [sys.executable, "-c", UNPACKING],
        input=f"{alone};{after_a_key}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "format\nformat\n"), ended.stderr


async def test_a_subkey_that_its_key_did_not_bind_is_left_out(world):
    await world.add_user("ann")
    own, foreign = packets(public("Ann <ann@example.com>")), packets(public("Eve <eve@x.io>"))
    key = (await add(world, armored([*own[:6], *foreign[4:6]]))).json()
    assert len(key["subkeys"]) == 1


async def test_a_key_belongs_to_one_user(world):
    await world.add_user("ann")
    await world.add_user("bob")
    await add(world)
    again = await add(world)
    assert (again.status_code, again.json()["errors"][0]["code"]) == (422, "taken")
    assert len((await world.call("GET", "/user/gpg_keys", as_="ann")).json()) == 1


async def test_hidden_addresses_are_shown_to_their_owner_only(world):
    await world.add_user("ann")
    await world.add_user("bob")
    key = (await add(world)).json()
    await world.call("PATCH", "/user/settings", {"hide_email": True}, as_="ann")
    path = f"/user/gpg_keys/{key['id']}"
    assert (await world.call("GET", path, as_="ann")).json() == key
    for caller in ("bob", "root"):
        assert (await world.call("GET", path, as_=caller)).json() == key | {"emails": []}
        listed = await world.call("GET", "/users/ann/gpg_keys", as_=caller)
        assert listed.json() == [key | {"emails": []}]


async def test_a_token_of_an_administrator_deletes_keys_of_others_only_if_it_reaches_that_far(world):
    await world.add_user("ann")
    path = f"/user/gpg_keys/{(await add(world)).json()['id']}"
    for scopes, status in ((["write:user"], 403), (["write:user", "write:admin"], 204)):
        body = {"name": "t", "scopes": scopes}
        token = (await world.call("POST", "/users/root/tokens", body, as_="root")).json()["sha1"]
        assert (await world.call("DELETE", path, token=token)).status_code == status


async def test_an_address_that_is_deleted_is_no_longer_shown(world):
    await world.add_user("ann")
    key = (await add(world)).json()
    await world.call("PATCH", "/admin/users/ann", {"email": "other@example.com"}, as_="root")
    shown = await world.call("GET", f"/user/gpg_keys/{key['id']}", as_="ann")
    assert shown.json()["emails"] == []


async def test_a_key_is_deleted_with_its_subkeys(world):
    await world.add_user("ann")
    await world.add_user("bob")
    path = f"/user/gpg_keys/{(await add(world)).json()['id']}"
    assert (await world.call("DELETE", path, as_="bob")).status_code == 403
    assert (await world.call("DELETE", path, as_="ann")).status_code == 204
    assert (await world.call("DELETE", path, as_="ann")).status_code == 204
    assert (await add(world)).status_code == 201


async def test_a_form_may_use_the_other_name_of_the_field(world):
    await world.add_user("ann")
    answer = await world.call("POST", "/user/gpg_keys", {"armored_key": ANN}, as_="ann")
    assert answer.status_code == 201
