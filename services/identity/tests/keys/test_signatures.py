"""Keys of signatures, as repos asks for them."""

import base64

from pysequoia import Cert, Tsk

from ingot_chassis.security.principal import ANONYMOUS

from ..matrix import ssh_key
from ..world import REPOS

PATH = "/internal/signature-keys"


async def find(world, **query):
    headers = REPOS.headers(ANONYMOUS, peer="repos")
    return await world.http.post(PATH, json=query, headers=headers)


async def test_keys_vouch_for_the_confirmed_addresses_of_their_owner(world):
    await world.add_user("ann")
    await world.call("POST", "/user/emails", {"emails": ["ann@x.io", "ceo@company.example"]}, as_="ann")
    names = ["Ann <Ann@example.com>", "Ann <other@x.io>", "Ann <ceo@company.example>"]
    cert = Tsk.generate(user_ids=names).extract_certificate()
    added = await world.call("POST", "/user/gpg_keys", {"armored_public_key": str(cert)}, as_="ann")
    ids = [added.json()["key_id"], *(subkey["key_id"] for subkey in added.json()["subkeys"])]
    of_ssh = (await world.call("POST", "/user/keys", {"title": "k", "key": ssh_key(1)}, as_="ann")).json()

    with world.count_statements() as statements:
        answer = await find(world, key_ids=[*ids, "0" * 16], fingerprints=[of_ssh["fingerprint"], "none"])
    assert answer.status_code == 200, answer.text
    keys = {key["id"]: key for key in answer.json()}
    signing = [subkey["key_id"] for subkey in added.json()["subkeys"] if subkey["can_sign"]]
    assert set(keys) == {*signing, of_ssh["fingerprint"]}
    assert {key["owner"]["login"] for key in answer.json()} == {"ann"}
    assert keys[of_ssh["fingerprint"]]["addresses"] == ["ann@noreply.localhost", "ann@example.com"]
    assert keys[signing[0]]["addresses"] == ["ann@example.com"]
    certificate = Cert.from_bytes(base64.b64decode(keys[signing[0]]["certificate"]))
    assert certificate.fingerprint == cert.fingerprint
    assert len(statements) == 4
    assert (await find(world)).json() == []
    assert (await find(world, key_ids=["0"] * 101)).status_code == 422
