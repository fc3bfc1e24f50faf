"""Accounts with a passkey in place of a password, and attempts to register with forged or used answers."""

import re

import pytest
from sqlalchemy import func, select

from ingot_chassis.db.audit import list_entries
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import account
from ingot_identity.invitations.store import invitation
from ingot_identity.passkeys.store import passkey
from ingot_identity.sources.rules import identities
from ingot_identity.sources.store import sources
from ingot_identity.two_factors import store as two_factors

from ..applications import forms
from ..invitations.visitors import INVITED, invite
from ..mailbox import Mailbox
from ..matrix import source as source_fields
from ..passkeys.authenticator import USER_PRESENT, Authenticator, add_passkey, options_of, unb64, use
from ..passkeys.test_passkeys import codes_on, forget_proofs
from ..world import PASSWORD
from .visitors import BITS, REGISTER, SIGN_UP, Visitor, solve

URL = {"public_url": "http://localhost:3000/", "registration_work_bits": BITS}
ADDRESS = "nora@x.io"


@pytest.fixture
async def site(make_world):
    """A site that is open, sends mail, and has passkeys."""
    async with make_world(sends_mail=True, registration="open", **URL) as world:
        yield world


async def account_page(world, visitor, address=ADDRESS):
    """The page behind the link of a mail, where the account is made."""
    await visitor.sign_up(address)
    return await visitor.http.get(await Mailbox(world).link(address))


async def create(visitor, page, name="nora", device=None, *, fields=(), **changes):
    """Send the form of a page with the answer of a device; the device and the response."""
    device, (action, hidden) = device or Authenticator(), forms(page.text)[0]
    answer = device.create(options_of(page), **changes)
    form = hidden | {"username": name, "credential": answer} | dict(fields)
    return device, await visitor.http.post(action, data=form)


async def rows_of(world):
    """Logins of accounts, and the numbers of passkeys and recovery codes."""
    async with world.database.read() as db:
        logins = set((await db.execute(select(account.c.login))).scalars()) - {"root"}
        numbers = [
            (await db.execute(select(func.count()).select_from(table))).scalar_one()
            for table in (passkey, two_factors.recovery_code)
        ]
    return logins, *numbers


async def use_passkey(visitor, device):
    """Sign in with the passkey alone; the page of the sign-in afterwards."""
    await use(visitor, await visitor.get("/login/passkey"), device)
    return (await visitor.get("/login")).text


async def test_a_passkey_takes_the_place_of_the_password(site):
    visitor = Visitor(site, "nora")
    page = await account_page(site, visitor)
    options = options_of(page)
    assert options["authenticatorSelection"] | {"requireResidentKey": True} == {
        "residentKey": "required",
        "requireResidentKey": True,
        "userVerification": "required",
    }
    device, answer = await create(visitor, page)
    assert (answer.status_code, len(set(codes_on(answer)))) == (200, 10)
    assert 'href="/">Continue' in answer.text
    assert "as <strong>nora" in (await visitor.http.get("/login")).text
    assert await rows_of(site) == ({"nora"}, 1, 10)
    assert "as <strong>nora" in await use_passkey(Visitor(site, "nora"), device)


async def test_a_passkey_and_a_password_are_one_too_many(site):
    visitor = Visitor(site, "nora")
    fields = {"password": PASSWORD, "repeated": PASSWORD}
    _, answer = await create(visitor, await account_page(site, visitor), fields=fields)
    assert (answer.status_code, "leave it empty" in answer.text) == (422, True)
    assert await rows_of(site) == (set(), 0, 0)


async def test_an_invited_person_registers_with_a_passkey_where_registration_is_closed(make_world, acme):
    async with make_world(sends_mail=True, **URL) as world:
        await invite(world, ADDRESS, team=acme[1])
        code, visitor = await Mailbox(world).code(ADDRESS), Visitor(world, "nora")
        device, answer = await create(visitor, await visitor.http.get(f"{INVITED}?code={code}"))
        assert answer.status_code == 200, answer.text
        assert re.search(rf'href="/[a-z/_-]+\?code={code}">Continue', answer.text)
        assert "as <strong>nora" in await use_passkey(Visitor(world, "nora"), device)


async def test_an_approved_person_has_the_passkey_and_the_codes_that_were_shown(make_world):
    async with make_world(sends_mail=True, registration="approval", **URL) as world:
        visitor = Visitor(world, "nora")
        device, answer = await create(visitor, await account_page(world, visitor), fields={"note": "bugs"})
        codes, handle = codes_on(answer), device.user_handle
        assert (answer.status_code, "Wait for approval" in answer.text, len(codes)) == (200, True, 10)
        assert await rows_of(world) == (set(), 0, 0)
        # Another account cannot wait with the same passkey.
        other = Visitor(world, "dora")
        page = await account_page(world, other, "dora@x.io")
        _, refused = await create(other, page, "dora", device, fields={"note": "bugs"})
        assert refused.status_code == 409
        (waiting,) = (await world.call("GET", "/admin/registrations", as_="root")).json()
        path = f"/admin/registrations/{waiting['id']}/approval"
        assert (await world.call("POST", path, as_="root")).status_code == 204
        assert await rows_of(world) == ({"nora"}, 1, 10)
        async with world.database.read() as db:
            (entry,) = await list_entries(db, service="identity", limit=10, action="passkey.add")
        assert (entry.actor, entry.subject, entry.details["name"]) == ("root", "user nora", "Passkey")
        device.user_handle = handle
        assert "as <strong>nora" in await use_passkey(visitor, device)
        # The codes of the first page count, after a password that an administrator has set.
        await world.call("PATCH", "/admin/users/nora", {"password": PASSWORD}, as_="root")
        person = Visitor(world, "nora")
        page = await person.sign_in(await person.get("/login"))
        assert "as <strong>nora" in (await person.submit(page, code=codes[3])).text


async def test_the_form_without_mail_asks_for_work_as_well(make_world):
    async with make_world(registration="open", **URL) as world:
        visitor = Visitor(world, "nora")
        page = await visitor.http.get(SIGN_UP)
        _, refused = await create(visitor, page, fields={"email": ADDRESS})
        assert (refused.status_code, await rows_of(world)) == (422, (set(), 0, 0))
        page = await visitor.http.get(SIGN_UP)
        work = solve(forms(page.text)[0][1]["challenge"])
        _, answer = await create(visitor, page, fields={"email": ADDRESS, "work": work})
        assert answer.status_code == 200, answer.text
        assert await rows_of(world) == ({"nora"}, 1, 10)


async def test_a_site_without_a_name_offers_no_passkey(make_world):
    async with make_world(sends_mail=True, registration="open", registration_work_bits=BITS) as world:
        page = await account_page(world, Visitor(world, "nora"))
        assert (page.status_code, "data-passkey" in page.text) == (200, False)


FORGED = {
    "no finger": {"flags": USER_PRESENT},
    "nobody there": {"flags": 0},
    "another site": {"origin": "https://evil.example"},
    "a subdomain": {"rp_id": "evil.localhost"},
    "a frame": {"cross_origin": True},
    "another challenge": {"challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    "a sign-in": {"type": "webauthn.get"},
    "a short id": {"credential_id": b"short"},
    "a weak key": {"key": {3: -65535}},
}


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED)
async def test_a_forged_answer_makes_nothing(site, changes):
    visitor = Visitor(site, "nora")
    _, answer = await create(visitor, await account_page(site, visitor), **changes)
    assert (answer.status_code, "not accepted" in answer.text) == (403, True)
    assert await rows_of(site) == (set(), 0, 0)
    # The link is not used up.
    assert (await create(visitor, answer))[1].status_code == 200


@pytest.mark.parametrize("answer", ["", "{}", "[]", "null", "nonsense", '{"id": 1}', "9" * 20_000])
async def test_nonsense_makes_nothing(site, answer):
    visitor = Visitor(site, "nora")
    page = await account_page(site, visitor)
    action, hidden = forms(page.text)[0]
    for state in (hidden["state"], "", "AAAA"):
        form = hidden | {"username": "nora", "credential": answer, "state": state}
        refused = await visitor.http.post(action, data=form)
        assert refused.status_code in (403, 422)
    assert await rows_of(site) == (set(), 0, 0)


async def test_a_device_that_does_not_store_the_passkey_is_refused(site):
    visitor, device = Visitor(site, "nora"), Authenticator()
    page = await account_page(site, visitor)
    action, hidden = forms(page.text)[0]
    answer = device.create(options_of(page))
    unstored = answer.removesuffix("}") + ', "clientExtensionResults": {"credProps": {"rk": false}}}'
    refused = await visitor.http.post(action, data=hidden | {"username": "nora", "credential": unstored})
    assert (refused.status_code, await rows_of(site)) == (403, (set(), 0, 0))


async def test_a_challenge_works_once_and_for_one_registration(site):
    """Of another browser, of another link of the same browser, and of the passkeys of an account."""
    visitor, mallory = Visitor(site, "nora"), Visitor(site, "mallory")
    page, other = await account_page(site, visitor), await account_page(site, mallory, "mallory@x.io")
    second = await account_page(site, visitor, "second@x.io")
    for source in (other, second):
        stolen = {
            "state": forms(source.text)[0][1]["state"],
            "credential": Authenticator().create(options_of(source)),
        }
        _, refused = await create(visitor, page, fields=stolen)
        assert refused.status_code == 403
    device, done = await create(visitor, page)
    assert done.status_code == 200
    own = await visitor.http.get("/login/passkeys")
    stolen = {"state": next(fields["state"] for _, fields in forms(own.text) if "state" in fields)}
    stolen["credential"] = Authenticator().create(options_of(own))
    _, refused = await create(visitor, second, "second", fields=stolen)
    assert refused.status_code == 403
    replayed = await visitor.http.post(
        REGISTER,
        data=forms(second.text)[0][1]
        | {"username": "second", "state": forms(page.text)[0][1]["state"]}
        | {"credential": device.create(options_of(page))},
    )
    assert replayed.status_code == 403
    assert await rows_of(site) == ({"nora"}, 1, 10)


async def test_a_name_that_was_taken_meanwhile_leaves_nothing_and_the_form_goes_on(site):
    visitor = Visitor(site, "nora")
    page = await account_page(site, visitor)
    await site.add_user("nora")
    device, refused = await create(visitor, page)
    assert (refused.status_code, "taken" in refused.text) == (422, True)
    assert await rows_of(site) == ({"nora"}, 0, 0)
    # The answer counts no second time; the next passkey replaces the one on the device.
    assert unb64(options_of(refused)["user"]["id"]) == device.user_handle
    again = forms(page.text)[0][1] | {"username": "nora2", "credential": device.create(options_of(page))}
    assert (await visitor.http.post(REGISTER, data=again)).status_code == 403
    device, answer = await create(visitor, refused, "nora2")
    assert (answer.status_code, await rows_of(site)) == (200, ({"nora", "nora2"}, 1, 10))


async def test_an_invitation_that_was_used_meanwhile_makes_nothing(make_world, acme):
    async with make_world(sends_mail=True, **URL) as world:
        await invite(world, ADDRESS, team=acme[1])
        path = f"{INVITED}?code={await Mailbox(world).code(ADDRESS)}"
        first, second = Visitor(world, "one"), Visitor(world, "two")
        late, page = await second.http.get(path), await first.http.get(path)
        assert (await create(first, page, "one"))[1].status_code == 200
        before = await rows_of(world)
        assert (await create(second, late, "two"))[1].status_code == 404
        assert await rows_of(world) == before
        async with world.database.read() as db:
            assert (await db.execute(select(func.count()).select_from(invitation))).scalar_one() == 1


async def test_a_passkey_of_another_account_makes_nothing(site):
    visitor, other = Visitor(site, "nora"), Visitor(site, "other")
    device, _ = await create(visitor, await account_page(site, visitor))
    _, refused = await create(other, await account_page(site, other, "o@x.io"), "other", device)
    assert (refused.status_code, "registered already" in refused.text) == (409, True)
    assert await rows_of(site) == ({"nora"}, 1, 10)


# What a person without a password can do later.


@pytest.fixture
async def nora(site):
    """A browser that is signed in, of an account with a passkey alone; its device."""
    visitor = Visitor(site, "nora")
    device, answer = await create(visitor, await account_page(site, visitor))
    visitor.codes = codes_on(answer)
    return visitor, device


async def api_as(world, visitor, method, path, body=None):
    """A call of web with the session of a browser."""
    answer = await world.authenticate(session=visitor.http.cookies["ingot-session"])
    headers = {"ingot-principal": answer.json()["statement"]}
    return await world.http.request(method, f"/api/v1{path}", json=body, headers=headers)


async def test_no_password_signs_such_an_account_in(site, nora):
    for password in ("", PASSWORD):
        answer = (await site.authenticate(name="nora", password=password)).json()
        assert not answer["user_id"]
        person = Visitor(site, "nora")
        refused = await person.submit(await person.get("/login"), username="nora", password=password)
        assert (refused.status_code, "may have changed in the meantime" in refused.text) == (403, False)


async def test_the_last_passkey_stays_while_it_is_the_only_way_in(site, nora):
    visitor, _ = nora
    page = await visitor.get("/login/passkeys")
    number = next(n for n, (_, fields) in enumerate(forms(page.text)) if "id" in fields)
    refused = await visitor.submit(page, number, do="delete")
    assert (refused.status_code, "set a password first" in refused.text) == (409, True)
    assert await rows_of(site) == ({"nora"}, 1, 10)
    assert options_of(page)["authenticatorSelection"]["residentKey"] == "required"


async def test_a_second_passkey_must_sign_in_alone_too_and_frees_the_first(site, nora):
    visitor, _ = nora
    _, refused = await add_passkey(visitor, flags=USER_PRESENT)
    assert (refused.status_code, await rows_of(site)) == (403, ({"nora"}, 1, 10))
    second, _ = await add_passkey(visitor)
    page = await visitor.get("/login/passkeys")
    number = next(n for n, (_, fields) in enumerate(forms(page.text)) if "id" in fields)
    await visitor.submit(page, number, do="delete")
    assert await rows_of(site) == ({"nora"}, 1, 10)
    assert "as <strong>nora" in await use_passkey(Visitor(site, "nora"), second)


async def source_of(site, number=1):
    """The id of a new source that nora is linked with."""
    source = (await site.call("POST", "/admin/auths", source_fields(number), as_="root")).json()["id"]
    async with site.database.transaction() as tx:
        row, nora = await sources.get(tx, source), await accounts.get_by_login(tx, "nora")
        await identities.link(tx, nora.id, row, "person")
    return source


async def test_a_link_is_removed_while_a_passkey_is_left(site, nora):
    visitor, device = nora
    path = f"/user/external_accounts/{await source_of(site)}"
    removed = await api_as(site, visitor, "DELETE", path)
    assert removed.is_success, removed.text
    assert "as <strong>nora" in await use_passkey(Visitor(site, "nora"), device)


@pytest.mark.parametrize(("enabled", "status"), [(False, 409), (True, 303)])
async def test_a_link_with_a_disabled_source_is_no_way_to_sign_in(site, nora, enabled, status):
    visitor, _ = nora
    source = await source_of(site)
    changed = await site.call("PATCH", f"/admin/auths/{source}", {"enabled": enabled}, as_="root")
    assert changed.is_success, changed.text
    page = await visitor.get("/login/passkeys")
    number = next(n for n, (_, fields) in enumerate(forms(page.text)) if "id" in fields)
    action, values = forms(page.text)[number]
    answer = await visitor.http.post(action, data=values | {"do": "delete"})
    assert answer.status_code == status


async def test_an_old_session_asks_for_the_passkey(site, nora):
    visitor, device = nora
    await forget_proofs(site)
    page = await visitor.get("/login/passkeys")
    assert ("Confirm that it is you" in page.text, 'name="password"' in page.text) == (True, False)
    assert "Add a passkey" in (await use(visitor, page, device)).text


async def test_a_first_password_needs_a_recent_proof(site, nora):
    visitor, device = nora
    body = {"old_password": "", "new_password": "another secret"}
    await forget_proofs(site)
    assert (await api_as(site, visitor, "POST", "/user/password", body)).status_code == 403
    proof = (await api_as(site, visitor, "GET", "/user/proof")).json()
    assert (proof["needed"], proof["password"], proof["first_password"]) == (True, False, True)
    await use(visitor, await visitor.get("/login/passkeys"), device)
    short = await api_as(site, visitor, "POST", "/user/password", body | {"new_password": "x"})
    assert (short.status_code, short.json()["errors"][0]["field"]) == (422, "new_password")
    assert (await api_as(site, visitor, "POST", "/user/password", body)).status_code == 204
    # The session has ended, and the password needs the passkey or a code.
    assert "as <strong>nora" not in (await visitor.get("/login")).text
    page = await Visitor(site, "nora").get("/login")
    person = Visitor(site, "nora")
    page = await person.submit(await person.get("/login"), username="nora", password="another secret")
    assert "Two-factor authentication" in page.text
    after = await person.submit(page, code=visitor.codes[0])
    assert "as <strong>nora" in after.text


async def test_a_forgotten_password_gives_a_first_one(site, nora):
    visitor, _ = nora
    page = await visitor.get("/user/forgot_password")
    await visitor.submit(page, email=ADDRESS)
    page = await visitor.http.get(await Mailbox(site).link(ADDRESS))
    fields = {"password": "another secret", "repeated": "another secret"}
    await visitor.submit(page, **fields)
    person = Visitor(site, "nora")
    page = await person.submit(await person.get("/login"), username="nora", password="another secret")
    assert "Two-factor authentication" in page.text
    assert await rows_of(site) == ({"nora"}, 1, 10)
