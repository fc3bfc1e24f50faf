"""Forms that ask for a recent proof: they are kept, and sent after it."""

import re
import time

import pytest

from ingot_web.forms.rules.dangerous import is_dangerous
from ingot_web.forms.rules.fields import Form

from ..test_forms import ANSWERS
from ..world import ANN

PAGE, OLD = "/user/settings/keys", {"needed": True, "password": True, "code": True, "state": ""}
KEY = {"title": 'my "laptop" <1>', "key": "ssh-ed25519 A"}


@pytest.fixture
def old_session(forge):
    forge.answers["/user/proof"] = OLD | {"passkey_options": "", "state": ""}
    return forge


async def test_a_form_of_an_old_session_is_kept_and_sent_after_the_proof(pages, old_session):
    page = await pages.submit(PAGE, "Add key", to=PAGE, **KEY)
    assert (page.status_code, old_session.sent) == (403, [])
    assert "Confirm that it is you" in page.text
    assert 'value="my &#34;laptop&#34; &lt;1&gt;"' in page.text
    proof = {"proof_password": "my password", "proof_code": " 123456 "}
    old_session.answers["/user/proof"] = {"needed": False}
    added = await pages.submit(page.text, "Confirm and continue", to=PAGE, **proof)
    assert added.status_code == 303
    proved, key = old_session.sent
    assert proved == (
        "POST",
        "/user/proof",
        {"password": "my password", "code": "123456", "credential": "", "state": ""},
    )
    assert (key[1], key[2]["title"], key[2]["key"]) == ("/user/keys", KEY["title"], KEY["key"])


@pytest.mark.parametrize("path", [f"{PAGE}/", "/user//settings//keys", "/user/settings/%6beys"])
async def test_another_way_to_write_the_path_needs_the_proof_as_well(pages, old_session, path):
    form = {"token": pages.form_token(ANN, at=time.time()), "do": "add", **KEY}
    answer = await pages.post(path, form, ANN)
    assert (answer.status_code, old_session.sent) == (403, [])


async def test_a_wrong_proof_is_asked_again_with_the_form(pages, old_session):
    page = await pages.submit(PAGE, "Add key", to=PAGE, **KEY)
    for status, words in ((422, "The password or the code is wrong"), (429, "refused"), (403, "refused")):
        old_session.refusals["/user/proof"] = (status, b'{"message": "refused", "url": ""}')
        again = await pages.submit(page.text, "Confirm and continue", to=PAGE, proof_password="guess")
        assert (again.status_code, words in again.text, "guess" in again.text) == (status, True, False)
        assert 'value="ssh-ed25519 A"' in again.text
    assert "/user/keys" not in {path for _, path, _ in old_session.sent}


async def test_a_passkey_is_a_proof(pages, old_session):
    old_session.answers["/user/proof"] = OLD | {"passkey_options": '{"challenge": "AA"}', "state": "sealed"}
    page = await pages.submit(PAGE, "Add key", to=PAGE, **KEY)
    assert 'data-options="{&#34;challenge&#34;: &#34;AA&#34;}"' in page.text
    assert '<script type="module" src="/login/passkeys.js">' in page.text
    assert "Passkeys need JavaScript" in page.text
    fields = {"credential": '{"id": "x"}', "state": "sealed"}
    await pages.submit(page.text, "Confirm and continue", to=PAGE, **fields)
    assert old_session.sent[0][2] == {"password": "", "code": "", **fields}


async def test_an_account_without_password_and_passkey_signs_in_again(pages, old_session):
    old_session.answers["/user/proof"] = OLD | {"password": False, "passkey_options": ""}
    page = await pages.submit(PAGE, "Add key", to=PAGE, **KEY)
    assert "Sign out, and sign in again" in page.text
    assert not re.search("proof_password", page.text)


@pytest.mark.parametrize(
    ("page", "button", "fields"),
    [
        ("/ann/demo/settings/collaboration", "Save", {"login": "zoe", "permission": "admin"}),
        ("/ann/demo/settings/collaboration", "Invite person", {"email": "z@x.example"}),
        ("/org/crew/settings/teams/1", "Add member", {"login": "zoe"}),
        ("/org/crew/settings/teams/1", "Invite person", {"email": "z@x.example"}),
    ],
)
async def test_new_people_need_a_proof(pages, old_session, page, button, fields):
    old_session.answers |= ANSWERS
    answer = await pages.submit(page, button, to=page, **fields)
    assert (answer.status_code, old_session.sent) == (403, [])
    assert "Confirm that it is you" in answer.text


async def test_other_forms_ask_for_nothing(pages, old_session):
    form = {"token": pages.form_token(ANN, at=time.time()), "old_password": "a", "new_password": "b"}
    form["repeated"] = "b"
    await pages.post("/user/settings/password", form, ANN)
    assert "/user/proof" not in old_session.read_paths


@pytest.mark.parametrize(
    ("path", "do", "expected"),
    [
        ("/user/settings/applications", "", True),
        ("/user/settings/gpg_keys", "remove", True),
        ("/user/settings/emails", "primary", True),
        ("/user/settings/external_accounts", "", True),
        ("/user/settings/password", "", False),
        ("/user/settings/password", "set", True),
        ("/user/settings", "", False),
        ("/org/crew/settings", "delete", True),
        ("/org/crew/settings", "save", False),
        ("/org/crew/settings/teams/1", "add", True),
        ("/org/crew/settings/teams", "", True),
        ("/org/crew/settings/labels", "", False),
        ("/ann/demo/settings/collaboration", "", True),
        ("/ann/demo/settings/teams", "", True),
        ("/ann/demo/settings/delete", "", True),
        ("/ann/demo/settings/keys", "", True),
        ("/ann/demo/settings/transfer", "", True),
        ("/ann/demo/settings", "", False),
        ("/ann/demo/x/settings/delete", "", False),
        ("/admin/auths", "", True),
        ("/admin/auths/3", "add_token", True),
        ("/admin/imports", "import", True),
        ("/admin/imports", "try", False),
        ("/admin/imports/1", "", False),
        ("/admin/imports/1/again", "", True),
        ("/admin/imports/1/people", "", False),
        ("/admin/users/bob", "delete", True),
        ("/admin/users", "", False),
    ],
)
def test_the_list_names_paths(path, do, expected):
    assert is_dangerous(path, Form([("do", do)])) is expected
