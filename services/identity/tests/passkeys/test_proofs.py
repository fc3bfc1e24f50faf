"""Proofs of sessions over the API, as the pages of web ask for them."""

import json

from ingot_chassis.security.principal import Principal

from ..world import PASSWORD
from .authenticator import USER_PRESENT, add_passkey, signed_in
from .test_passkeys import forget_proofs


async def in_browser(world, name):
    """The headers of a session of that person."""
    user = (await world.call("GET", f"/users/{name}", as_="root")).json()
    session_id = await world.start_session(name)
    principal = Principal(id=user["id"], name=name, via="session", session_id=session_id)
    return {"ingot-principal": await world.principal_token(principal)}


async def ask(world, headers):
    return (await world.http.get("/api/v1/user/proof", headers=headers)).json()


async def prove(world, headers, **body):
    return (await world.http.post("/api/v1/user/proof", headers=headers, json=body)).status_code


async def test_an_old_session_needs_a_proof_and_a_new_one_does_not(site):
    headers = await in_browser(site, "ann")
    assert await ask(site, headers) == {
        "needed": False,
        "password": True,
        "code": False,
        "first_password": False,
        "passkey_options": "",
        "state": "",
    }
    await forget_proofs(site)
    assert (await ask(site, headers))["needed"]
    assert await prove(site, headers) == 422
    assert await prove(site, headers, password="guess") == 422
    assert (await ask(site, headers))["needed"]
    assert await prove(site, headers, password=PASSWORD) == 204
    assert not (await ask(site, headers))["needed"]


async def test_a_proof_is_for_one_session(site):
    first, second = [await in_browser(site, "ann") for _ in range(2)]
    await forget_proofs(site)
    await prove(site, first, password=PASSWORD)
    assert [(await ask(site, headers))["needed"] for headers in (first, second)] == [False, True]


async def test_a_request_with_a_password_needs_no_proof(site):
    assert (await site.call("GET", "/user/proof", as_="ann")).json()["needed"] is False


async def test_a_passkey_proves_the_session_whose_challenge_it_signed(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    first, second = [await in_browser(site, "ann") for _ in range(2)]
    await forget_proofs(site)
    proof = await ask(site, first)
    assert proof["code"]
    options = json.loads(proof["passkey_options"])
    answer = {"credential": device.get(options), "state": proof["state"]}
    assert await prove(site, second, **answer) == 403
    assert await prove(site, first, password=PASSWORD) == 422
    proof = await ask(site, first)
    weak = device.get(json.loads(proof["passkey_options"]), flags=USER_PRESENT)
    assert await prove(site, first, credential=weak, state=proof["state"]) == 403
    proof = await ask(site, first)
    answer = {"credential": device.get(json.loads(proof["passkey_options"])), "state": proof["state"]}
    assert await prove(site, first, **answer) == 204
    assert await prove(site, first, **answer) == 403
    assert [(await ask(site, headers))["needed"] for headers in (first, second)] == [False, True]


async def test_a_proof_of_another_account_is_refused(site):
    device, _ = await add_passkey(await signed_in(site, "bob"))
    ann, bob = [await in_browser(site, name) for name in ("ann", "bob")]
    await forget_proofs(site)
    proof = await ask(site, bob)
    answer = {"credential": device.get(json.loads(proof["passkey_options"])), "state": proof["state"]}
    assert await prove(site, ann, **answer) == 403
    assert (await ask(site, ann))["needed"]
