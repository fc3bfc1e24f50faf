"""Passkeys in place of the password, and after it."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.passkeys import store
from ingot_identity.sessions.store import browser_session

from ..applications import AUTHORIZE, Person, came_back, forms, make_app
from ..world import PASSWORD
from .authenticator import USER_PRESENT, Authenticator, add_passkey, options_of, signed_in, use


def codes_on(page):
    return re.search(r"<pre>(.*?)</pre>", page.text, re.DOTALL)[1].split()


async def rows_of(world, name):
    user = (await world.call("GET", f"/users/{name}", as_="root")).json()
    async with world.database.read() as db:
        return await store.list_of(db, user["id"])


async def forget_proofs(world):
    old = now() - timedelta(hours=2)
    async with world.database.transaction() as tx:
        await tx.execute(update(browser_session).values(proved_at=old))


async def test_a_passkey_replaces_the_password(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    person = Person(site, "ann")
    page = await person.get("/login")
    assert "/login/passkey?" in page.text
    page = await person.get("/login/passkey", {"to": "/ann/demo?tab=a"})
    assert (options_of(page)["userVerification"], options_of(page).get("allowCredentials")) == (
        "required",
        None,
    )
    after = await use(person, page, device)
    assert after.url.raw_path == b"/ann/demo?tab=a"
    assert "as <strong>ann" in (await person.get("/login")).text
    (row,) = await rows_of(site, "ann")
    assert (row.name, row.sign_count, row.last_used_at is not None) == ("laptop", 1, True)


async def test_a_passkey_leads_on_to_the_application(site):
    device, _ = await add_passkey(await signed_in(site, "bob"))
    app, person = await make_app(site), Person(site, "bob")
    await person.get(AUTHORIZE, app.query())
    query = str(person.http.build_request("GET", "/", params=app.query()).url.query, "ascii")
    page = await person.get("/login/passkey", {"query": query})
    assert "<strong>ci</strong>" in page.text
    assert "https://ci.example.com" in page.headers["content-security-policy"]
    consent = await use(person, page, device)
    assert "code" in came_back(await person.submit(consent, decision="allow"))


async def test_a_password_needs_the_passkey_as_well(site):
    ann = await signed_in(site, "ann")
    # An authenticator that asks for no PIN is enough after a password.
    device, page = await add_passkey(ann, flags=USER_PRESENT)
    codes = codes_on(page)
    assert len(set(codes)) == 10
    assert (await site.authenticate(name="ann", password=PASSWORD)).json()["needs_code"]
    person = Person(site, "ann")
    page = await person.sign_in(await person.get("/login"))
    assert "Two-factor authentication" in page.text
    assert len(options_of(page)["allowCredentials"]) == 1
    page = await use(person, page, device, flags=USER_PRESENT)
    assert "as <strong>ann" in page.text
    other = Person(site, "ann")
    page = await other.sign_in(await other.get("/login"))
    assert "as <strong>ann" in (await other.submit(page, code=codes[0])).text
    third = Person(site, "ann")
    page = await third.sign_in(await third.get("/login"))
    assert (await third.submit(page, code=codes[0])).status_code == 401


async def test_the_first_passkey_ends_what_the_gateway_remembers_of_the_password(site):
    ann = await signed_in(site, "ann")
    await add_passkey(ann)
    await add_passkey(ann, "key")
    assert len(await site.emitted(CredentialsRevoked)) == 1


async def test_passkeys_are_named_renamed_and_deleted(site):
    ann = await signed_in(site, "ann")
    _, page = await add_passkey(ann)
    _, page = await add_passkey(ann, "  a <b> key ")
    assert "<pre>" not in page.text
    assert "a &lt;b&gt; key" in page.text
    names = [row.name for row in await rows_of(site, "ann")]
    assert names == ["laptop", "a <b> key"]
    page = await ann.submit(page, 1, do="rename", name="key")
    assert [row.name for row in await rows_of(site, "ann")] == ["laptop", "key"]
    for name in (" ", "x" * 101, "a\nb"):
        refused = await ann.submit(page, 1, do="rename", name=name)
        assert (refused.status_code, "name needs 1 to 100" in refused.text) == (422, True)
    page = await ann.submit(page, 1, do="delete")
    assert [row.name for row in await rows_of(site, "ann")] == ["laptop"]
    again = await ann.submit(page, 0, do="delete", id="999")
    assert (again.status_code, "deleted already" in again.text) == (404, True)


async def test_passkeys_of_others_are_out_of_reach(site):
    await add_passkey(await signed_in(site, "ann"))
    bob = await signed_in(site, "bob")
    await add_passkey(bob)
    (row,) = await rows_of(site, "ann")
    page = await bob.get("/login/passkeys")
    for fields in ({"do": "delete"}, {"do": "rename", "name": "mine"}):
        assert (await bob.submit(page, 0, id=str(row.id), **fields)).status_code == 404
    assert [each.name for each in await rows_of(site, "ann")] == ["laptop"]


async def test_without_the_last_passkey_a_password_is_enough_again(site):
    ann = await signed_in(site, "ann")
    _, page = await add_passkey(ann)
    code = codes_on(page)[0]
    await ann.submit(page, 0, do="delete")
    assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
    _, page = await add_passkey(ann)
    assert code not in codes_on(page)
    assert not (await site.authenticate(name="ann", password=PASSWORD, code=code)).json()["user_id"]


async def test_new_recovery_codes_replace_the_old_ones(site):
    ann = await signed_in(site, "ann")
    _, page = await add_passkey(ann)
    old = codes_on(page)[0]
    page = await ann.get("/login/passkeys")
    assert "10 recovery codes left" in page.text
    new = codes_on(await ann.submit(page, len(forms(page.text)) - 1))[0]
    answers = [await site.authenticate(name="ann", password=PASSWORD, code=code) for code in (old, new)]
    assert [bool(answer.json()["user_id"]) for answer in answers] == [False, True]


async def test_an_administrator_removes_lost_passkeys(site):
    await add_passkey(await signed_in(site, "ann"))
    root = await site.call("DELETE", "/admin/users/ann/two_factor", as_="root")
    assert (root.status_code, await rows_of(site, "ann")) == (204, [])
    assert (await site.authenticate(name="ann", password=PASSWORD)).json()["user_id"]
    again = await site.call("DELETE", "/admin/users/ann/two_factor", as_="root")
    assert again.status_code == 404


async def test_the_api_knows_of_passkeys(site):
    headers = await site.headers_of("ann", "")
    await add_passkey(await signed_in(site, "ann"))
    state = await site.http.get("/api/v1/user/two_factor", headers=headers)
    assert state.json() == {"enabled": False, "passkeys": 1, "recovery_codes": 10}
    listed = await site.call("GET", "/admin/users?is_2fa_enabled=true", as_="root")
    assert [user["login"] for user in listed.json()] == ["ann"]


async def test_who_may_not_sign_in_does_not_do_it_with_a_passkey(site):
    device, _ = await add_passkey(await signed_in(site, "ann"))
    await site.call("PATCH", "/admin/users/ann", {"prohibit_login": True}, as_="root")
    person = Person(site, "ann")
    page = await use(person, await person.get("/login/passkey"), device)
    assert (page.status_code, "may not sign in" in page.text) == (403, True)


async def test_the_pages_need_a_sign_in(site):
    page = await Person(site, "ann").get("/login/passkeys")
    assert 'id="password"' in page.text
    page = await Person(site, "ann").get("/login/confirm")
    assert 'id="password"' in page.text


async def test_an_old_session_proves_itself_before_passkeys_change(site):
    ann = await signed_in(site, "ann")
    page = await ann.get("/login/passkeys")
    await forget_proofs(site)
    refused = await ann.submit(page, 0, name="x", credential=Authenticator().create(options_of(page)))
    assert "Confirm that it is you" in refused.text
    assert await rows_of(site, "ann") == []
    wrong = await ann.submit(refused, password="guess")
    assert (wrong.status_code, "is wrong" in wrong.text) == (422, True)
    assert "No passkeys yet" in (await ann.submit(wrong, password=PASSWORD)).text


async def test_a_passkey_is_a_proof(site):
    ann = await signed_in(site, "ann")
    device, _ = await add_passkey(ann)
    await forget_proofs(site)
    page = await ann.get("/login/passkeys")
    # An open browser with a security key in it gives neither PIN nor password.
    for fields in ({"flags": USER_PRESENT}, {"flags": USER_PRESENT, "password": "guess"}):
        refused = await use(ann, page, device, **fields)
        assert refused.status_code in (403, 422)
        assert (await ann.get("/login/passkeys")).url.path == "/login/confirm"
    assert (await ann.submit(page, password=PASSWORD)).status_code == 422  # a code is missing
    assert "laptop" in (await use(ann, await ann.get("/login/passkeys"), device)).text
    await forget_proofs(site)
    page = await ann.get("/login/passkeys")
    assert "laptop" in (await use(ann, page, device, flags=USER_PRESENT, password=PASSWORD)).text


async def test_a_right_password_with_a_wrong_passkey_does_not_clear_the_count_of_failures(make_world):
    async with make_world(public_url="http://localhost:3000/", free_sign_ins=3) as world:
        await world.add_user("ann")
        ann = await signed_in(world, "ann")
        await add_passkey(ann)
        await forget_proofs(world)
        page = await ann.get("/login/passkeys")
        sent = [{"code": "000000"}, {"credential": "{}"}] * 3
        answers = [await ann.submit(page, password=PASSWORD, **fields) for fields in sent]
        assert answers[-1].status_code == 429


@pytest.mark.parametrize("path", ["/login/passkey", "/login/passkeys"])
async def test_pages_with_passkeys_load_one_script_of_this_server(site, path):
    ann = await signed_in(site, "ann")
    page = await ann.get(path)
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert (policy["script-src"], policy["default-src"], policy["frame-ancestors"]) == (
        "'self'",
        "'none'",
        "'none'",
    )
    assert re.findall(r"<script[^>]*>", page.text) == ['<script type="module" src="/login/passkeys.js">']
    assert "<noscript><p>Passkeys need JavaScript" in page.text
    script = await ann.http.get("/login/passkeys.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["x-content-type-options"] == "nosniff"
    # Another release may have another script at this address.
    assert script.headers["cache-control"] == "no-cache"
    headers = {"if-none-match": script.headers["etag"]}
    again = await ann.http.get("/login/passkeys.js", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    other = await ann.http.get("/login/passkeys.js", headers={"if-none-match": '"another"'})
    assert (other.status_code, other.content) == (200, script.content)


@pytest.mark.parametrize("url", ["http://127.0.0.1:3000/", "https://192.0.2.1/", "http://git.example.com/"])
async def test_a_site_without_a_name_or_tls_offers_no_passkeys(make_world, url):
    async with make_world(public_url=url) as world:
        await world.add_user("ann")
        person = Person(world, "ann")
        assert "passkey" not in (await person.http.get("/login")).text
        assert (await person.http.get("/login/passkey")).status_code == 404
