"""Tokens, the password and the picture, as people change them on the pages of their account."""

import time
from datetime import timedelta

from ingot_chassis.clock import now
from ingot_web.core.qr_codes import qr_code

from .forge import ANN_USER, MOMENT
from .test_calls import GPG_KEY
from .world import ANN, ROOT

PAGE, TOKENS = "/user/settings/applications", "/users/ann/tokens"


async def test_a_token_is_for_what_was_chosen_and_says_so(pages, forge):
    forge.answers[f"POST {TOKENS}"] = {"sha1": "secret"}
    await pages.submit(PAGE, "Make the token", to=PAGE, name="ci", hook="write", issue="read")
    assert forge.sent[-1][2]["scopes"] == ["read:issue", "write:hook"]
    forge.answers[TOKENS] = [
        {"id": 1, "name": "ci", "scopes": ["read:issue"], "expires_at": MOMENT, "last_used_at": MOMENT},
        {"id": 2, "name": "old", "scopes": ["all"], "repositories": []},
    ]
    text = (await pages.get(PAGE, ANN)).text
    assert "read:issue · works until 2026-01-02 03:04 UTC · last used" in text
    assert (
        "everything · only in repositories that are gone · works until it is deleted · not used yet" in text
    )
    assert ["Administration of the site" in (await pages.get(PAGE, who)).text for who in (ANN, ROOT)] == [
        False,
        True,
    ]


async def test_a_key_of_openpgp_is_added_with_its_lines_and_removed(pages, forge):
    forge.answers["/user/gpg_keys"] = [GPG_KEY | {"id": 4, "emails": []}]
    page = "/user/settings/gpg_keys"
    await pages.submit(page, "Add the key", to=page, key="-----BEGIN\r\nabc")
    assert forge.sent == [("POST", "/user/gpg_keys", {"armored_public_key": "-----BEGIN\nabc"})]
    shown = (await pages.get(page, ANN)).text
    assert ("none of your addresses" in shown, "for ever" in shown) == (True, True)
    await pages.post(page, {"token": pages.form_token(ANN, at=time.time()), "remove": "4"}, ANN)
    assert forge.sent[1:] == [("DELETE", "/user/gpg_keys/4", {})]


async def test_a_token_whose_days_are_no_number_is_not_made(pages, forge):
    for days in ("9" * 5, "soon", "²"):
        answer = await pages.submit(PAGE, "Make the token", to=PAGE, name="ci", days=days, issue="read")
        assert "is no number of days" in answer.text, days
    assert forge.sent == []
    assert (await pages.get(PAGE, ANN)).status_code == 200


async def test_a_token_for_nothing_is_not_made(pages, forge):
    refused = await pages.submit(PAGE, "Make the token", to=PAGE, name="ci")
    assert (refused.status_code, "choose what the token may do" in refused.text) == (422, True)
    assert (forge.sent, 'value="ci"' in refused.text) == ([], True)


async def test_a_new_password_is_typed_twice_and_ends_the_session(pages, forge):
    page, to = "/user/settings/security", "/settings/password"
    shown = (await pages.get(page, ANN)).text
    assert all(
        text in shown for text in ("Current password", "Access tokens go on working; applications ask")
    )
    form = {"old_password": "old", "new_password": "new", "repeated": "nwe"}
    refused = await pages.submit(page, "Change the password", to=to, **form)
    assert (refused.status_code, "in two ways" in refused.text, forge.sent) == (422, True, [])
    changed = await pages.submit(page, "Change the password", to=to, **form | {"repeated": "new"})
    assert changed.headers["location"] == "/login"
    assert forge.sent == [("POST", "/user/password", {"old_password": "old", "new_password": "new"})]
    forge.failures["/user/password"] = 422
    refused = await pages.submit(page, "Change the password", to=to, **form | {"repeated": "new"})
    assert (refused.status_code, "refused" in refused.text) == (422, True)


async def test_pictures_of_people_and_organizations_are_sent_and_removed(pages, forge):
    settings = dict.fromkeys(("full_name", "description", "location", "website"), "")
    forge.answers |= {
        "/user/settings": settings | {"hide_email": False},
        "/user": ANN_USER,
        "/orgs/crew": settings | {"username": "crew", "avatar_url": "", "visibility": "public"},
    }
    for page, to in (("/user/settings", "/user/avatar"), ("/org/crew/settings", "/orgs/crew/avatar")):
        headers = pages.callers.headers(ANN)
        form = {"token": pages.form_token(ANN, at=time.time())}
        file = {"files": ("a.png", b"png")}
        sent = await pages.client.post(f"{page}/avatar", data=form, files=file, headers=headers)
        assert sent.headers["location"].startswith(f"{page}?outcome=saved&proof=")
        await pages.submit(page, "Remove it", to="/avatar")
        assert forge.sent[-2:] == [("POST", to, {"image": "cG5n"}), ("DELETE", to, {})]
        refused = await pages.submit(page, "Upload it", to="/avatar")
        assert (refused.status_code, "choose a picture" in refused.text) == (422, True)


OAUTH2, APPLICATIONS = "/user/settings/oauth2", "/user/applications/oauth2"
APPLICATION = {
    "id": 4, "name": "app", "client_id": "abc", "client_secret": "", "redirect_uris": ["https://a/", "https://b/"],
    "confidential_client": False,
}  # fmt: skip


async def test_an_application_is_registered_changed_and_removed_and_its_secret_is_shown_once(pages, forge):
    forge.answers[APPLICATIONS] = [APPLICATION]
    registration = APPLICATION | {"client_secret": "sesame"}
    forge.answers |= {f"POST {APPLICATIONS}": registration, f"PATCH {APPLICATIONS}/4": registration}
    addresses = "https://a/\r\nhttps://c/"
    new = {"name": "other", "redirect_uris": addresses}
    shown = [
        await pages.submit(OAUTH2, "Register it", to=OAUTH2, **new),
        await pages.submit(OAUTH2, "Save, with a new secret", to=OAUTH2, redirect_uris=addresses),
        await pages.submit(OAUTH2, "Only a new secret", to=OAUTH2),
    ]
    assert [("sesame" in answer.text, answer.status_code) for answer in shown] == [(True, 200)] * 3
    removed = await pages.submit(OAUTH2, "Remove app", to=OAUTH2)
    assert (removed.headers["location"], "sesame" in (await pages.get(OAUTH2, ANN)).text) == (OAUTH2, False)
    changed = {"redirect_uris": ["https://a/", "https://c/"]}
    assert forge.sent == [
        ("POST", APPLICATIONS, changed | {"name": "other", "confidential_client": True}),
        ("PATCH", f"{APPLICATIONS}/4", changed | {"name": "app", "confidential_client": False}),
        ("PATCH", f"{APPLICATIONS}/4", {}),
        ("DELETE", f"{APPLICATIONS}/4", {}),
    ]


async def test_what_was_written_about_an_application_is_in_its_form_when_it_is_refused(pages, forge):
    forge.answers[APPLICATIONS] = [APPLICATION]
    forge.refuses = 422
    for button, is_open in (("Save, with a new secret", True), ("Register it", False)):
        refused = await pages.submit(
            OAUTH2, button, to=OAUTH2, name="<it>", redirect_uris="https://no", confidential="1"
        )
        assert (refused.status_code, "refused" in refused.text) == (422, True)
        assert refused.text.count(">\nhttps://no</textarea>") == 1
        assert refused.text.count('value="&lt;it&gt;"') == 1
        assert ('class="menu end wide" open' in refused.text) is is_open


async def test_what_one_authorized_is_ended(pages, forge):
    grant = {"id": 7, "application": "app", "owner": "bob", "scopes": ["read:user"], "created_at": MOMENT}
    forge.answers["/user/oauth2_grants"] = [grant]
    answer = await pages.submit(OAUTH2, "End", to=OAUTH2)
    assert (answer.headers["location"], forge.sent) == (OAUTH2, [("DELETE", "/user/oauth2_grants/7", {})])


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
        "/user/two_factor": {"enabled": False, "recovery_codes": 0},
        "POST /user/two_factor": {"secret": "ABCDEFGH", "uri": uri},
    }
    picture = qr_code(uri, "QR code for the app")
    begun = (await pages.submit(page, "Set it up", to=page, password=" my password")).text
    assert picture in begun
    assert forge.sent == [("POST", "/user/two_factor", {"password": " my password"})]
    forge.refuses = 422
    refused = await pages.submit(begun, "Turn it on", to=page, code="1")
    assert (refused.status_code, picture in refused.text) == (422, True)
    assert 'class="qr"' not in (await pages.get(page, ANN)).text
    forge.answers["/user/two_factor"] = {"enabled": True, "recovery_codes": 9}
    assert ">Code of the app, or a recovery code</label>" in (await pages.get(page, ANN)).text


async def test_a_second_factor_is_weakened_with_password_and_code(pages, forge):
    page, path = "/user/settings/two_factor", "/user/two_factor"
    forge.answers |= {
        path: {"enabled": True, "recovery_codes": 1},
        f"POST {path}/recovery_codes": {"recovery_codes": ["new-code"]},
    }
    proof = {"password": "my password", "code": "123456"}
    renewed = await pages.submit(page, "New recovery codes", to=page, **proof)
    assert "new-code" in renewed.text
    removed = await pages.submit(page, "Turn it off", to=page, **proof)
    assert removed.headers["location"] == page
    assert forge.sent == [("POST", f"{path}/recovery_codes", proof), ("DELETE", path, proof)]
    forge.refuses = 422
    refused = await pages.submit(page, "Turn it off", to=page, **proof)
    assert (refused.status_code, "my password" in refused.text) == (422, False)
