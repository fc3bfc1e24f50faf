"""The pages where people sign in and consent: hostile requests, forged forms, cookies and headers."""

from datetime import timedelta

import msgspec
import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_contracts.web import PageFrame
from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.sessions import rules as browser_sessions
from ingot_identity.sessions.store import browser_session
from ingot_identity.sign_in.api.browser import local_path
from ingot_testing.non_empty import non_empty

from ..applications import AUTHORIZE, CHALLENGE, REDIRECT, Person, came_back, forms, make_app, with_query
from ..two_factors.test_two_factors import code_of, enrol
from ..world import PASSWORD


@pytest.fixture
async def app(world):
    """An application of ann that keeps a secret; bob has an account."""
    for name in ("ann", "bob"):
        await world.add_user(name)
    return await make_app(world)


@pytest.fixture
async def bob(world, app):
    """bob, who has signed in."""
    person = Person(world, "bob")
    await person.sign_in(await person.get("/login"))
    return person


UNTRUSTED = {
    "no client": {"client_id": None},
    "an unknown client": {"client_id": "6f1f3a52-0000-4000-8000-000000000000"},
    "a client with odd letters": {"client_id": "é\n"},
    "another site": {"redirect_uri": "https://evil.example.com/cb"},
    "a deeper path": {"redirect_uri": f"{REDIRECT}/more"},
    "a query": {"redirect_uri": f"{REDIRECT}?x=1"},
    "a fragment": {"redirect_uri": f"{REDIRECT}#x"},
    "another port": {"redirect_uri": "https://ci.example.com:444/cb"},
    "a name before the host": {"redirect_uri": "https://ci.example.com@evil.example.com/cb"},
    "no TLS": {"redirect_uri": "http://ci.example.com/cb"},
    "a script": {"redirect_uri": "javascript:alert(1)"},
    "a page in the address": {"redirect_uri": "data:text/html,<script>alert(1)</script>"},
    "odd letters": {"redirect_uri": 'https://é.example.com/"\\<b>'},
    "a line break": {"redirect_uri": f"{REDIRECT}\r\nSet-Cookie: a=b"},
    "a long state": {"state": "x" * 1_001},
    "a long nonce": {"nonce": "x" * 1_001},
}


async def test_nobody_is_sent_to_an_address_that_is_not_registered(app, bob):
    for case, changes in UNTRUSTED.items():
        query = app.query(**changes)
        for answer in (
            await bob.http.get(AUTHORIZE, params=query),
            await bob.http.post(with_query(AUTHORIZE, query), data=await form_of(bob, app)),
        ):
            assert answer.status_code == 400, case
            assert "location" not in answer.headers, case
            assert "<script>" not in answer.text, case
            assert "<b>" not in answer.text, case


async def form_of(person, app):
    """The fields of a consent that the person could give."""
    page = await person.get(AUTHORIZE, app.query())
    return forms(page.text)[0][1] | {"decision": "allow"}


REFUSED = {
    "unsupported_response_type": [
        {"response_type": None},
        {"response_type": "token"},
        {"response_type": "code token"},
        {"response_type": 'é"\\'},
    ],
    "invalid_scope": [
        {"scope": "everything"},
        {"scope": "sudo"},
        {"scope": "read:user read:nothing"},
        {"scope": "READ:USER"},
        {"scope": "groups"},
        {"scope": 'é"\\<'},
    ],
    "invalid_request": [
        {"code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": "S512"},
        {"code_challenge": None, "code_challenge_method": "S256"},
        {"code_challenge": "short"},
        {"code_challenge": "x" * 129},
        {"code_challenge": 'é"' * 30},
        {"prompt": "none login"},
    ],
    "consent_required": [{"prompt": "none"}],
}


async def test_an_application_that_asks_wrongly_hears_why(world, app, bob):
    for error, cases in REFUSED.items():
        for changes in non_empty(cases):
            back = came_back(await bob.get(AUTHORIZE, app.query(**changes)))
            expected = error, "xyz", world.part(OAuth2Components).issuer
            assert (back["error"], back["state"], back["iss"]) == expected, changes
            assert "code" not in back, changes


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "scope", "state", "response_type"])
async def test_a_parameter_that_comes_twice_is_refused(app, bob, name):
    query = [*app.query().items(), (name, app.query()[name])]
    answer = await bob.http.get(AUTHORIZE, params=query)
    assert (answer.status_code, "location" in answer.headers) == (400, False)


async def test_a_program_that_keeps_no_secret_must_send_a_challenge(world, app, bob):
    tea = await make_app(world, confidential_client=False)
    query = tea.query(code_challenge=None, code_challenge_method=None)
    assert came_back(await bob.get(AUTHORIZE, query))["error"] == "invalid_request"
    page = await bob.get(AUTHORIZE, tea.query())
    action, fields = forms(page.text)[0]
    without = action.replace(f"&code_challenge={CHALLENGE}&code_challenge_method=S256", "")
    assert without != action
    back = came_back(await bob.http.post(without, data=fields | {"decision": "allow"}))
    assert back["error"] == "invalid_request"


async def test_who_is_not_signed_in_is_not_asked_silently(world, app):
    person = Person(world, "bob")
    for changes in ({}, {"scope": "read:user"}):
        back = came_back(await person.get(AUTHORIZE, app.query(prompt="none", **changes)))
        assert back["error"] == "login_required"


async def test_an_application_may_leave_out_the_only_address(world, app, bob):
    assert (await bob.get(AUTHORIZE, app.query(redirect_uri=None))).status_code == 200
    two = await make_app(world, redirect_uris=[REDIRECT, f"{REDIRECT}2"])
    assert (await bob.get(AUTHORIZE, two.query(redirect_uri=None))).status_code == 400


@pytest.mark.parametrize("token", ["", "forged", "0" * 64, "é"])
async def test_a_consent_that_no_page_of_ours_sent_grants_nothing(world, app, bob, token):
    answer = await bob.http.post(
        with_query(AUTHORIZE, app.query()), data={"token": token, "decision": "allow"}
    )
    assert (answer.status_code, "location" in answer.headers) == (403, False)


async def test_the_form_of_one_person_is_of_no_use_to_another(world, app, bob):
    ann = Person(world, "ann")
    await ann.sign_in(await ann.get("/login"))
    answer = await bob.http.post(with_query(AUTHORIZE, app.query()), data=await form_of(ann, app))
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/login", "/login/out"])
async def test_signing_in_and_out_is_nothing_that_another_site_can_do(world, app, bob, path):
    for person in (bob, Person(world, "bob")):
        body = {"username": "bob", "password": PASSWORD, "token": browser_sessions.form_token("0" * 64)}
        answer = await person.http.post(path, data=body)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert "as <strong>bob" in (await bob.get("/login")).text


@pytest.mark.parametrize("path", ["/login", AUTHORIZE])
async def test_pages_cannot_be_framed_and_load_nothing(app, bob, path):
    answer = await bob.get(path, app.query())
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert (policy["default-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'",) * 3
    assert policy["form-action"].split(" ")[0] == "'self'"
    assert policy["form-action"].split(" ")[1:] in ([], ["https://ci.example.com"])
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "<script" not in answer.text


async def test_names_are_text_and_never_html(world, app, bob):
    evil = await make_app(world, name="<script>alert(1)</script>")
    page = await bob.get(AUTHORIZE, evil.query(state='"><script>'))
    assert page.status_code == 200
    assert "<script>" not in page.text
    person = Person(world, '"><script>')
    page = await person.sign_in(await person.get("/login"))
    assert (page.status_code, "<script>" in page.text) == (403, False)


@pytest.mark.parametrize("url", ["http://127.0.0.1:3000/", "https://git.example.com/"])
async def test_cookies_are_for_this_host_alone(make_world, url):
    async with make_world(public_url=url) as world:
        await world.add_user("bob")
        person, secure = Person(world, "bob"), url.startswith("https:")
        page = await person.http.get("/login")
        cookies = [page.headers["set-cookie"]]
        action, fields = forms(page.text)[0]
        cookie = {"cookie": cookies[0].split(";")[0]}
        body = fields | {"username": "bob", "password": PASSWORD}
        cookies.append((await person.http.post(action, data=body, headers=cookie)).headers["set-cookie"])
        for line in cookies:
            parts = {part.strip().lower() for part in line.split(";")[1:]}
            assert {"httponly", "samesite=lax", "path=/"} <= parts
            assert ("secure" in parts, line.startswith("__Host-")) == (secure, secure)
            assert not any(part.startswith("domain") for part in parts)


@pytest.mark.parametrize("query", ["\r\nSet-Cookie: a=b", "a b", "é", "x" * 8_001])
async def test_a_sign_in_leads_only_to_pages_of_this_server(world, app, query):
    person = Person(world, "bob")
    page = await person.get("/login")
    assert (await person.submit(page, username="bob", password=PASSWORD, query=query)).status_code == 400


async def test_a_sign_in_leads_back_to_a_page_of_this_server_alone(world, app):
    own = "/ann/demo/issues?q=a%20b&page=2"
    for to, page in ((own, own), ("//evil.example.com", "/")):
        person = Person(world, "bob")
        action, fields = forms((await person.get("/login", {"to": to})).text)[0]
        assert fields["to"] == page
        body = {"username": "bob", "password": PASSWORD, "to": to}
        answer = await person.http.post(action, data=fields | body)
        assert answer.headers["location"] == page
        again = await person.http.get("/login", params={"to": to})
        assert again.headers["location"] == page


@pytest.mark.parametrize(
    "text",
    [
        "//evil.example.com/x", "/\\evil.example.com", "\\/evil.example.com", "https://evil.example.com", "x",
        "", "/\t/evil.example.com", "/a\r\nSet-Cookie: a=b", "/a\\b", "/é", " /a", "/" + "x" * 8_001,
    ],
)  # fmt: skip
def test_what_is_no_path_of_this_server_is_the_first_page(text):
    assert local_path(text) == "/"


async def test_whatever_is_asked_for_a_sign_in_stays_here(world, app):
    for query in ("//evil.example.com", "https://evil.example.com", "redirect_uri=https://evil.example.com"):
        person = Person(world, "bob")
        action, fields = forms((await person.get("/login")).text)[0]
        body = fields | {"username": "bob", "password": PASSWORD, "query": query}
        answer = await person.http.post(action, data=body)
        assert answer.headers["location"] == f"{AUTHORIZE}?{query}"
        assert (await person.http.get(answer.headers["location"])).status_code == 400


@pytest.mark.parametrize(
    ("name", "password", "status"),
    [
        ("bob", "wrong", 403),
        ("nobody", PASSWORD, 403),
        ("", "", 403),
        ("bob", "", 403),
        ("bob\x1f", PASSWORD, 403),
        ("bob", "x\x00", 403),
        ("b" * 300, PASSWORD, 403),
        ("ci", PASSWORD, 403),
    ],
)
async def test_a_wrong_name_or_password_signs_nobody_in(world, app, name, password, status):
    person = Person(world, name)
    page = await person.sign_in(await person.get(AUTHORIZE, app.query()), password)
    assert (page.status_code, "wrong" in page.text) == (status, True)
    assert not [cookie for cookie in person.http.cookies.jar if "session" in cookie.name]
    assert "ci.example.com" in page.headers["content-security-policy"]
    page = await person.submit(page, username="bob", password=PASSWORD)
    assert "Do not allow" in page.text


async def test_a_token_does_not_sign_in(world, app):
    body = {"name": "t", "scopes": ["read:user"]}
    token = (await world.call("POST", "/users/bob/tokens", body, as_="bob")).json()["sha1"]
    person = Person(world, "bob")
    page = await person.sign_in(await person.get("/login"), token)
    assert page.status_code == 403


async def test_an_account_that_may_not_sign_in_does_not(world, app):
    await world.call("PATCH", "/admin/users/bob", {"prohibit_login": True}, as_="root")
    person = Person(world, "bob")
    page = await person.sign_in(await person.get("/login"))
    assert (page.status_code, "may not sign in" in page.text) == (403, True)


async def test_an_account_that_may_not_sign_in_gets_no_session_for_its_code(world):
    """It was prohibited after its password; the session would work when it is allowed again."""
    await world.add_user("ann")
    secret, _ = await enrol(world)
    ann = Person(world, "ann")
    page = await ann.sign_in(await ann.get("/login"))
    await world.call("PATCH", "/admin/users/ann", {"prohibit_login": True}, as_="root")
    answer = await ann.submit(page, code=code_of(secret))
    assert (answer.status_code, "may not sign in" in answer.text) == (403, True)
    await world.call("PATCH", "/admin/users/ann", {"prohibit_login": False}, as_="root")
    assert "You are signed in" not in (await ann.get("/login")).text


async def test_guessing_passwords_is_slowed_down(make_world):
    async with make_world(free_sign_ins=2) as world:
        await world.add_user("bob")
        person = Person(world, "bob")
        statuses = []
        for _ in range(3):
            page = await person.sign_in(await person.get("/login"), "wrong")
            statuses.append(page.status_code)
        assert statuses == [403, 403, 429]
        assert int(page.headers["retry-after"]) > 0
        assert (await person.sign_in(await person.get("/login"))).status_code == 429


async def test_a_person_signs_out_and_in_as_somebody_else(world, app, bob):
    page = await bob.get(AUTHORIZE, app.query())
    secret = dict(bob.http.cookies)["ingot-session"]
    page = await bob.submit(page, 1)
    assert "Password" in page.text
    bob.http.cookies.set("ingot-session", secret)
    assert "Password" in (await bob.get("/login")).text
    bob.http.cookies.clear()
    bob.name = "ann"
    page = await bob.sign_in(await bob.get(AUTHORIZE, app.query()))
    assert "as <strong>ann" in page.text


async def test_a_sign_in_makes_a_new_session_and_ends_the_one_before(world, app, bob):
    first = dict(bob.http.cookies)["ingot-session"]
    page = await Person(world, "bob").get("/login")
    action, fields = forms(page.text)[0]
    for line in page.headers["set-cookie"].split(","):
        name, _, value = line.split(";")[0].partition("=")
        bob.http.cookies.set(name, value)
    await bob.http.post(action, data=fields | {"username": "bob", "password": PASSWORD})
    assert first not in [cookie.value for cookie in bob.http.cookies.jar if "session" in cookie.name]
    other = Person(world, "bob")
    other.http.cookies.set("ingot-session", first)
    assert "Password" in (await other.get("/login")).text


async def test_an_application_may_want_a_new_sign_in(world, app, bob):
    for changes, asks in (
        ({"prompt": "login"}, True),
        ({"max_age": "0"}, True),
        ({"max_age": "100"}, True),
        ({"max_age": "300"}, False),
        ({"max_age": "9" * 50}, False),
        ({"max_age": "x"}, False),
    ):
        async with world.database.transaction() as tx:
            await tx.execute(update(browser_session).values(created_at=now() - timedelta(seconds=200)))
        page = await bob.get(AUTHORIZE, app.query(**changes))
        assert ("Password" in page.text) is asks, changes
        page = await bob.sign_in(page) if asks else page
        assert "Do not allow" in page.text


async def test_an_old_session_gives_an_application_nothing_new(world, app, bob):
    """A consent makes tokens, so it needs a recent proof as the form for tokens does."""
    page = await bob.get(AUTHORIZE, app.query())
    old = now() - timedelta(hours=2)
    async with world.database.transaction() as tx:
        await tx.execute(update(browser_session).values(created_at=old, proved_at=old))
    refused = await bob.submit(page, decision="allow")
    assert (refused.status_code, "Password" in refused.text) == (200, True)
    page = await bob.get(AUTHORIZE, app.query())
    assert ("Password" in page.text, "Do not allow" in page.text) == (True, False)
    silent = came_back(await bob.get(AUTHORIZE, app.query(prompt="none")))
    assert silent["error"] == "consent_required"
    assert "code" in came_back(await bob.submit(await bob.sign_in(page), decision="allow"))
    async with world.database.transaction() as tx:
        await tx.execute(update(browser_session).values(created_at=old, proved_at=old))
    assert "code" in came_back(await bob.get(AUTHORIZE, app.query())), "it was given before"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_page_has_the_name_of_the_site_and_a_way_past_its_head(world):
    world.app.state.settings = msgspec.structs.replace(world.app.state.settings, site_name="<Forge>")
    page = (await Person(world, "bob").get("/login")).text
    start, _, end = PageFrame("", "<Forge>").document("Sign in", "|", kind="sign-in").partition("|")
    assert (page.startswith(start), page.endswith(end)) == (True, True), "the frame of all pages"
    assert "<title>Sign in · &lt;Forge&gt;</title>" in page
    assert "No account, or the password is lost? Those who run this site" in page
    assert '<a class="skip" href="#main">' in page
    assert "Ingot</a>" not in page
