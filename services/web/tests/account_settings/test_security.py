"""Password, sessions and second factor, as people change them on the pages of their account."""

from datetime import timedelta

from ingot_chassis.clock import now
from ingot_web.account_settings.rules.qr_codes import qr_code

from ..forge import MOMENT
from ..world import ANN


async def test_a_new_password_is_typed_twice_and_ends_the_session(pages, forge):
    page, to = "/user/settings/security", "/settings/password"
    shown = (await pages.get(page, ANN)).text
    assert all(
        text in shown for text in ("Current password", "Access tokens go on working; applications ask")
    )
    form = {"old_password": "old", "new_password": "new", "repeated": "nwe"}
    refused = await pages.submit(page, "Change password", to=to, **form)
    assert (refused.status_code, "in two ways" in refused.text, forge.sent) == (422, True, [])
    changed = await pages.submit(page, "Change password", to=to, **form | {"repeated": "new"})
    assert changed.headers["location"] == "/login"
    assert forge.sent == [("POST", "/user/password", {"old_password": "old", "new_password": "new"})]
    forge.failures["/user/password"] = 422
    refused = await pages.submit(page, "Change password", to=to, **form | {"repeated": "new"})
    assert (refused.status_code, "refused" in refused.text) == (422, True)


async def test_an_account_with_passkeys_alone_sets_a_first_password_after_a_proof(pages, forge):
    page, to = "/user/settings/security", "/settings/password"
    forge.answers["/user/proof"] |= {"password": False, "first_password": True}
    shown = (await pages.get(page, ANN)).text
    assert ("Current password" in shown, "this account has no password" in shown) == (False, True)
    form = {"new_password": "very new", "repeated": "very new"}
    changed = await pages.submit(page, "Set password", to=to, **form)
    assert changed.headers["location"] == "/login"
    assert forge.sent == [("POST", "/user/password", {"old_password": "", "new_password": "very new"})]
    ways = {"code": True, "passkey_options": '{"challenge": "AA"}', "state": "sealed", "needed": True}
    forge.answers["/user/proof"] |= ways
    refused = await pages.submit(page, "Set password", to=to, **form)
    assert (refused.status_code, len(forge.sent)) == (403, 1)
    assert ("Use a passkey" in refused.text, "Use the password" in refused.text) == (True, False)
    # The page has no password in it: it asks for the new one again.
    assert ("very new" in refused.text, refused.text.count('type="password"')) == (False, 2)
    assert 'name="do" value="set"' in refused.text


async def test_the_page_is_shown_while_an_older_identity_answers(pages, forge):
    forge.failures["/user/proof"] = 404
    shown = await pages.get("/user/settings/security", ANN)
    assert (shown.status_code, "Current password" in shown.text) == (200, True)


async def test_an_address_becomes_the_primary_one_or_gets_its_link_again(pages, forge):
    one = {"primary": False, "user_id": 1, "username": "ann"}
    forge.answers["/user/emails"] = [
        one | {"email": "ann@work.example", "verified": True},
        one | {"email": "new@work.example", "verified": False},
    ]
    shown = (await pages.get("/user/settings/emails", ANN)).text
    assert (shown.count("Make primary"), "Resend link" in shown) == (2, False)
    pages.app.state.settings.sends_mail = True
    shown = (await pages.get("/user/settings/emails", ANN)).text
    assert (shown.count("Make primary"), shown.count("Resend link")) == (1, 1)
    await pages.submit("/user/settings/emails", "Resend link")
    assert forge.sent == [("POST", "/user/emails", {"emails": ["new@work.example"]})]


async def test_each_session_says_when_it_ends_and_each_that_can_be_ended_which_one_it_is(pages, forge):
    session = {"user_agent": "Firefox", "created_at": MOMENT, "last_used_at": None, "current": False}
    session["expires_at"] = f"{now() + timedelta(hours=5, minutes=30):%Y-%m-%dT%H:%M:%SZ}"
    forge.answers["/user/sessions"] = [
        session | {"id": number, "address": f"192.0.2.{number}"} for number in (1, 2)
    ]
    shown = (await pages.get("/user/settings/security", ANN)).text
    for number in (1, 2):
        label = f"End the session of Firefox at 192.0.2.{number}, signed in 2026-01-02 03:04 UTC"
        assert f'value="{number}" aria-label="{label}">End</button>' in shown
    ends = f'ends <time datetime="{session["expires_at"]}"'
    assert (shown.count(ends), shown.count(">in 5 hours</time>")) == (2, 2)


async def test_a_second_factor_is_turned_on_by_a_camera_and_off_without_one(pages, forge):
    page, uri = "/user/settings/two_factor", "otpauth://totp/Ingot:ann?secret=ABCDEFGH&issuer=Ingot"
    forge.answers |= {
        "/user/two_factor": {"enabled": False, "passkeys": 0, "recovery_codes": 0},
        "POST /user/two_factor": {"secret": "ABCDEFGH", "uri": uri},
    }
    picture = qr_code(uri, "QR code for the app")
    begun = (await pages.submit(page, "Set up", to=page, password=" my password")).text
    assert picture in begun
    assert forge.sent == [("POST", "/user/two_factor", {"password": " my password"})]
    forge.refuses = 422
    refused = await pages.submit(begun, "Turn on", to=page, code="1")
    assert (refused.status_code, picture in refused.text) == (422, True)
    assert 'class="qr"' not in (await pages.get(page, ANN)).text
    forge.answers["/user/two_factor"] = {"enabled": True, "passkeys": 2, "recovery_codes": 9}
    assert ">Code from the app, or a recovery code</label>" in (await pages.get(page, ANN)).text


async def test_a_second_factor_is_weakened_with_password_and_code(pages, forge):
    page, path = "/user/settings/two_factor", "/user/two_factor"
    forge.answers |= {
        path: {"enabled": True, "passkeys": 2, "recovery_codes": 1},
        f"POST {path}/recovery_codes": {"recovery_codes": ["new-code"]},
    }
    proof = {"password": "my password", "code": "123456"}
    renewed = await pages.submit(page, "Create recovery codes", to=page, **proof)
    assert "new-code" in renewed.text
    removed = await pages.submit(page, "Turn off", to=page, **proof)
    assert removed.headers["location"] == page
    assert forge.sent == [("POST", f"{path}/recovery_codes", proof), ("DELETE", path, proof)]
    forge.refuses = 422
    refused = await pages.submit(page, "Turn off", to=page, **proof)
    assert (refused.status_code, "my password" in refused.text) == (422, False)
