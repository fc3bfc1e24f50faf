"""Signatures by which users prove that they have an OpenPGP key."""

from datetime import timedelta

import pytest
from pysequoia import SignatureMode, Tsk, sign

from ingot_chassis import clock
from ingot_identity.keys.rules import gpg_proofs

from .test_signatures import find

TOKEN, VERIFY, KEYS = "/user/gpg_key_token", "/user/gpg_key_verify", "/user/gpg_keys"


class Key:
    def __init__(self, user_id="Ann <ann@example.com>"):
        self._key = Tsk.generate(user_id)
        self.public = str(self._key.extract_certificate())

    def sign(self, text):
        return sign(self._key.signer(), text.encode(), mode=SignatureMode.DETACHED).decode()


@pytest.fixture
async def ann(world):
    await world.add_user("ann")
    await world.add_user("bob")


async def token_of(world, who="ann"):
    answer = await world.call("GET", TOKEN, as_=who)
    assert answer.headers["content-type"].startswith("text/plain")
    return answer.text


async def add(world, key, signature="", who="ann"):
    body = {"armored_public_key": key.public, "armored_signature": signature}
    return await world.call("POST", KEYS, body, as_=who)


async def verify(world, key_id, signature, who="ann"):
    body = {"key_id": key_id, "armored_signature": signature}
    return await world.call("POST", VERIFY, body, as_=who)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
async def test_a_signed_token_verifies_a_key(world, ann, end):
    key = Key()
    added = (await add(world, key)).json()
    answer = await verify(world, added["key_id"], key.sign(await token_of(world) + end))
    assert answer.status_code == 201, answer.text
    shown = answer.json()
    assert (added["verified"], shown["verified"]) == (False, True)
    assert all(subkey["verified"] for subkey in shown["subkeys"])
    assert (await world.call("GET", KEYS, as_="bob")).json() == []
    assert (await world.call("GET", "/users/ann/gpg_keys", as_="bob")).json()[0]["verified"] is True


async def test_the_id_may_be_of_a_subkey_or_in_small_letters(world, ann):
    key = Key()
    added = (await add(world, key)).json()
    for id_ in (added["subkeys"][0]["key_id"], added["key_id"].lower()):
        assert (await verify(world, id_, key.sign(await token_of(world)))).status_code == 201


async def test_a_verified_key_vouches_for_all_confirmed_addresses(world, ann):
    """A key that names no address of its owner is added with a signature only."""
    key = Key("Ann <elsewhere@x.io>")
    refused = await add(world, key)
    token = await token_of(world)
    assert (refused.status_code, token in refused.text) == (422, True)
    added = await add(world, key, key.sign(token))
    assert added.status_code == 201, added.text
    assert added.json()["verified"] is True
    ids = [subkey["key_id"] for subkey in added.json()["subkeys"] if subkey["can_sign"]]
    assert "ann@example.com" in (await find(world, key_ids=ids)).json()[0]["addresses"]


async def test_other_signatures_prove_nothing(world, ann):
    key, other = Key(), Key()
    key_id = (await add(world, key)).json()["key_id"]
    token = await token_of(world)
    bad = {
        "of another key": other.sign(token),
        "of another text": key.sign("x" + token),
        "of the token of another account": key.sign(await token_of(world, "bob")),
        "none": "",
        "words": "this is no signature",
        "a key": key.public,
        "cut short": key.sign(token)[:100],
    }
    for name, signature in bad.items():
        answer = await verify(world, key_id, signature)
        assert answer.status_code == 422, name
        assert [error["field"] for error in answer.json()["errors"]] == ["armored_signature"], name
        assert token in answer.text
    assert (await add(world, Key(), key.sign(token))).status_code == 422
    assert [one["verified"] for one in (await world.call("GET", KEYS, as_="ann")).json()] == [False]
    assert (await verify(world, key_id, "x" * 20_000)).status_code == 422


async def test_only_the_owner_of_a_key_verifies_it(world, ann):
    key = Key()
    key_id = (await add(world, key)).json()["key_id"]
    signature = key.sign(await token_of(world, "bob"))
    assert (await verify(world, key_id, signature, who="bob")).status_code == 404
    assert (await verify(world, "0" * 16, signature)).status_code == 404
    assert (await verify(world, "", signature)).status_code == 422


async def test_a_token_is_accepted_in_its_time_and_the_next(world, ann, monkeypatch):
    key = Key()
    key_id = (await add(world, key)).json()["key_id"]
    signature = key.sign(await token_of(world))
    later = timedelta(0)
    monkeypatch.setattr(gpg_proofs, "now", lambda: clock.now() + later)
    for steps, code in ((1, 201), (2, 422)):
        later = timedelta(seconds=steps * gpg_proofs.STEP_SECONDS)
        assert (await verify(world, key_id, signature)).status_code == code
