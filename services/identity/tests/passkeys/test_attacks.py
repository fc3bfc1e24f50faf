"""Attacks on passkeys, one by one: each is refused, and leaves no session and no passkey."""

import json

import pytest

from ingot_identity.passkeys import store
from ingot_identity.passkeys.rules import ceremonies

from ..applications import Person, forms
from .authenticator import (
    USER_PRESENT,
    USER_VERIFIED,
    Authenticator,
    add_passkey,
    form_with_passkey,
    options_of,
    signed_in,
    use,
)

FORGED = {
    "another origin": {"origin": "https://evil.example.com"},
    "another port": {"origin": "http://localhost:3001"},
    "a name that begins the same": {"origin": "http://localhost:3000.evil.example.com"},
    "another RP id": {"rp_id": "evil.example.com"},
    "a frame of another site": {"cross_origin": True},
    "another challenge": {"challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    "the other ceremony": {"type": "webauthn.create"},
    "a wrong signature": {"signature": bytes(70)},
    "an empty signature": {"signature": b""},
    "no person present": {"flags": USER_VERIFIED},
    "no user verification": {"flags": USER_PRESENT},
    "no user handle": {"user_handle": b""},
    "the user handle of nobody": {"user_handle": bytes(32)},
    "an unknown credential": {"credential_id": bytes(32)},
}


async def is_signed_in(person):
    return "You are signed in" in (await person.get("/login")).text


@pytest.mark.parametrize("case", FORGED)
async def test_a_forged_answer_signs_nobody_in(site, case):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    page = await use(person, await person.get("/login/passkey"), device, **FORGED[case])
    assert (page.status_code, "was not accepted" in page.text) == (403, True)
    assert not await is_signed_in(person)
    # The next page has a new challenge, and the right answer is accepted.
    await use(person, page, device)
    assert await is_signed_in(person)


async def test_an_answer_works_once(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    page = await person.get("/login/passkey")
    answer = device.get(options_of(page))
    await person.submit(page, credential=answer)
    await person.http.post("/login/out", data=forms((await person.get("/login")).text)[0][1])
    replayed = await person.submit(page, credential=answer)
    assert (replayed.status_code, await is_signed_in(person)) == (403, False)


async def test_a_challenge_works_once_also_after_a_refused_answer(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    page = await person.get("/login/passkey")
    assert (await use(person, page, device, signature=b"x")).status_code == 403
    assert (await use(person, page, device)).status_code == 403
    assert not await is_signed_in(person)


async def test_a_challenge_of_another_browser_is_refused(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    victim, attacker = Person(site, "ann"), Person(site, "bob")
    page = await attacker.get("/login/passkey")
    # If ann is made to sign the challenge of another browser, it signs in neither there nor here.
    answer = device.get(options_of(page))
    _, fields = forms(page.text)[0]
    own = await victim.get("/login/passkey")
    for person, at, state in (
        (victim, own, fields["state"]),
        (attacker, page, forms(own.text)[0][1]["state"]),
    ):
        assert (await person.submit(at, credential=answer, state=state)).status_code == 403
        assert not await is_signed_in(person)


async def test_a_challenge_expires(site, monkeypatch):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    page = await person.get("/login/passkey")
    monkeypatch.setattr(ceremonies, "CEREMONY_SECONDS", -1)
    assert (await use(person, page, device)).status_code == 403
    assert not await is_signed_in(person)


@pytest.mark.parametrize("counter", [5, 4, 0])
async def test_a_counter_that_does_not_grow_tells_of_a_copy(site, counter):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    await use(person, await person.get("/login/passkey"), device, counter=5)
    copy = Person(site, "ann")
    assert (await use(copy, await copy.get("/login/passkey"), device, counter=counter)).status_code == 403
    assert not await is_signed_in(copy)
    await use(copy, await copy.get("/login/passkey"), device, counter=6)
    assert await is_signed_in(copy)


async def test_an_authenticator_may_never_count(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    for _ in range(2):
        person = Person(site, "ann")
        await use(person, await person.get("/login/passkey"), device, counter=0)
        assert await is_signed_in(person)


async def test_the_passkey_of_another_account_is_no_second_factor(site):
    await add_passkey(await signed_in(site, "ann"))
    device, _ = await add_passkey(await signed_in(site, "bob"))
    person = Person(site, "ann")
    page = await person.sign_in(await person.get("/login"))
    refused = await use(person, page, device)
    assert (refused.status_code, await is_signed_in(person)) == (403, False)


async def test_a_user_handle_of_another_account_signs_in_neither(site):
    ann, _ = await add_passkey(await signed_in(site, "ann"))
    bob, _ = await add_passkey(await signed_in(site, "bob"))
    person = Person(site, "ann")
    refused = await use(person, await person.get("/login/passkey"), bob, user_handle=ann.user_handle)
    assert (refused.status_code, await is_signed_in(person)) == (403, False)


async def test_a_signature_of_another_key_of_the_same_name_is_refused(site):
    ann, _ = await add_passkey(await signed_in(site, "ann"))
    other, person = Authenticator(), Person(site, "ann")
    page = await person.get("/login/passkey")
    forged = {"credential_id": ann.credential_id, "user_handle": ann.user_handle}
    assert (await use(person, page, other, **forged)).status_code == 403
    assert not await is_signed_in(person)


async def test_a_challenge_for_one_purpose_serves_no_other(site):
    ann = await signed_in(site, "ann")
    device, _ = await add_passkey(ann)
    person = Person(site, "ann")
    second = await person.sign_in(await person.get("/login"))
    page = await person.get("/login/passkey")
    state = forms(second.text)[0][1]["state"]
    # A second factor needs no PIN; its challenge does not sign in without the password.
    answer = device.get(options_of(second), flags=USER_PRESENT)
    assert (await person.submit(page, credential=answer, state=state)).status_code == 403
    add = await ann.get("/login/passkeys")
    number = form_with_passkey(add)
    answer = device.create(options_of(add))
    assert (
        await person.submit(page, credential=answer, state=forms(add.text)[number][1]["state"])
    ).status_code == 403
    assert not await is_signed_in(person)


async def test_a_passkey_after_the_password_needs_the_ticket_of_the_password(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    page = await person.sign_in(await person.get("/login"))
    answer = device.get(options_of(page))
    refused = await person.submit(page, credential=answer, ticket="forged")
    assert (refused.status_code, await is_signed_in(person)) == (403, False)
    wrong = await person.submit(page, credential=answer, ticket="", username="ann", password="guess")
    assert (wrong.status_code, await is_signed_in(person)) == (403, False)


MALFORMED = [
    "", "x", "[]", "null", "1", "{}", '{"id": 1}', "[" * 5_000, "x" * 20_000, '{"rawId": "\u00e9"}',
    json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": None}),
    json.dumps({"id": "AA", "rawId": "AB", "type": "public-key", "response": {}}),
    json.dumps({"id": "AA", "rawId": "AA", "type": "x", "response": {
        "clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA", "attestationObject": "AA"}}),
    json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": {
        "clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA",
        "attestationObject": "n_______"}}),
]  # fmt: skip


@pytest.mark.parametrize("answer", MALFORMED)
async def test_a_malformed_answer_is_refused_with_words(site, answer):
    ann = await signed_in(site, "ann")
    for path in ("/login/passkey", "/login/passkeys"):
        page = await ann.get(path)
        refused = await ann.submit(page, form_with_passkey(page), credential=answer, name="x")
        assert (refused.status_code, 'role="alert"' in refused.text) == (403, True)


@pytest.mark.parametrize("state", ["", "x", "gAAAAABl", "\u00e9"])
async def test_a_forged_state_is_refused(site, state):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    assert (await use(person, await person.get("/login/passkey"), device, state=state)).status_code == 403


NEW_FORGED = {
    "another origin": {"origin": "https://evil.example.com"},
    "another RP id": {"rp_id": "evil.example.com"},
    "a frame of another site": {"cross_origin": True},
    "another challenge": {"challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    "the other ceremony": {"type": "webauthn.get"},
    "no person present": {"flags": USER_VERIFIED},
    "an algorithm that was not asked for": {"key": {3: -47}},
    "an unknown algorithm": {"key": {3: -65_000}},
    "a point that is not on the curve": {"key": {-2: bytes(32)}},
    "a key without a point": {"key": {-2: b"", -3: b""}},
    "a short id": {"credential_id": b"x"},
    "a long id": {"credential_id": bytes(1_024)},
    "a long key": {"key": {-4: bytes(2_000)}},
}


@pytest.mark.parametrize("case", NEW_FORGED)
async def test_a_forged_passkey_is_not_registered(site, case):
    ann = await signed_in(site, "ann")
    _, page = await add_passkey(ann, **NEW_FORGED[case])
    assert (page.status_code, "was not accepted" in page.text) == (403, True)
    assert "No passkeys yet" in page.text


async def test_a_passkey_is_registered_for_one_account_alone(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    bob = await signed_in(site, "bob")
    _, page = await add_passkey(bob, device=device)
    assert (page.status_code, "registered already" in page.text) == (409, True)


async def test_a_registration_is_for_the_session_that_began_it(site):
    ann, bob = [await signed_in(site, name) for name in ("ann", "bob")]
    pages = [await person.get("/login/passkeys") for person in (ann, bob)]
    answer = Authenticator().create(options_of(pages[0]))
    state = forms(pages[0].text)[0][1]["state"]
    for person, page in ((bob, pages[1]), (await signed_in(site, "ann"), None)):
        at = page or await person.get("/login/passkeys")
        assert (await person.submit(at, credential=answer, state=state, name="x")).status_code == 403
    async with site.database.read() as db:
        assert await store.get_by_credential(db, b"") is None
    assert "No passkeys yet" in (await bob.get("/login/passkeys")).text


async def test_no_other_site_adds_or_deletes_a_passkey(site):
    ann = await signed_in(site, "ann")
    _, page = await add_passkey(ann)
    for token in (
        "",
        "forged",
        forms((await (await signed_in(site, "bob")).get("/login")).text)[0][1]["token"],
    ):
        for number in range(3):
            assert (await ann.submit(page, number, token=token, do="delete")).status_code == 403
    assert "laptop" in (await ann.get("/login/passkeys")).text
