"""Tokens and applications, as people change them on the pages of their account."""

from ..forge import MOMENT
from ..world import ANN, ROOT

PAGE, TOKENS = "/user/settings/applications", "/users/ann/tokens"


async def test_a_token_is_for_what_was_chosen_and_says_so(pages, forge):
    forge.answers[f"POST {TOKENS}"] = {"sha1": "secret"}
    await pages.submit(PAGE, "Create token", to=PAGE, name="ci", hook="write", issue="read")
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


async def test_a_token_whose_days_are_no_number_is_not_made(pages, forge):
    for days in ("9" * 5, "soon", "²"):
        answer = await pages.submit(PAGE, "Create token", to=PAGE, name="ci", days=days, issue="read")
        assert "is no number of days" in answer.text, days
    assert forge.sent == []
    assert (await pages.get(PAGE, ANN)).status_code == 200


async def test_a_token_for_nothing_is_not_made(pages, forge):
    refused = await pages.submit(PAGE, "Create token", to=PAGE, name="ci")
    assert (refused.status_code, "choose what the token may do" in refused.text) == (422, True)
    assert (forge.sent, 'value="ci"' in refused.text) == ([], True)


OAUTH2, APPLICATIONS = "/user/settings/oauth2", "/user/applications/oauth2"


APPLICATION = {
    "id": 4, "name": "app", "client_id": "abc", "client_secret": "",
    "redirect_uris": ["https://a/", "https://b/"], "confidential_client": False,
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
        await pages.submit(OAUTH2, "Create new secret", to=OAUTH2),
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
