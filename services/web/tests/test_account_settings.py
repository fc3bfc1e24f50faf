"""Tokens, the password and the picture, as people change them on the pages of their account."""

import time

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
        answer = await pages.submit(PAGE, "Make the token", to=PAGE, name="ci", days=days)
        assert "is no number of days" in answer.text, days
    assert forge.sent == []
    assert (await pages.get(PAGE, ANN)).status_code == 200


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
        assert sent.headers["location"] == page
        await pages.submit(page, "Remove it", to="/avatar")
        assert forge.sent[-2:] == [("POST", to, {"image": "cG5n"}), ("DELETE", to, {})]
        refused = await pages.submit(page, "Upload it", to="/avatar")
        assert (refused.status_code, "choose a picture" in refused.text) == (422, True)
