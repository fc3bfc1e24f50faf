"""People as administrators change them on pages."""

import time
from urllib.parse import parse_qs

from ..forge import ANN_USER, MOMENT
from ..world import ANN, ROOT

PAGE = "/admin/users/bob"


async def test_an_address_that_is_not_typed_stays_as_it_is(pages, forge):
    hidden = "bob@noreply.example.org"
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "email": hidden, "is_admin": False}
    assert hidden not in (await pages.get(PAGE, ANN)).text
    await pages.submit(PAGE, "Save", to=PAGE, full_name="Bob")
    await pages.submit(PAGE, "Save", to=PAGE, email=" bob@example.org ")

    first, second = (body for _, _, body in forge.sent)
    assert first == {"full_name": "Bob", "admin": False, "prohibit_login": False, "restricted": False}
    assert second["email"] == "bob@example.org"


async def test_what_was_done_to_a_person_is_said(pages, forge):
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "is_admin": False}
    for button, words in (
        ("Save", ">Saved.<"),
        ("Remove second factor", ">The second factor is removed.<"),
    ):
        done = await pages.submit(PAGE, button, to=PAGE, caller=ROOT)
        shown = (await pages.get(done.headers["location"], ROOT)).text
        assert (words in shown, words in (await pages.get(PAGE, ROOT)).text) == (True, False)
    for link in ("saved=factor", "outcome=factor+removed"):
        assert "factor is removed" not in (await pages.get(f"{PAGE}?{link}", ROOT)).text, (
            "anybody may write such a link"
        )
    forge.answers["/users/carol"] = forge.answers["/users/bob"] | {"login": "carol"}
    again = await pages.submit(PAGE, "Remove second factor", to=PAGE, caller=ROOT)
    other = again.headers["location"].replace("bob", "carol")
    assert "factor is removed" not in (await pages.get(other, ROOT)).text
    forge.failures["/admin/users/bob/two_factor"] = 404
    refused = await pages.submit(PAGE, "Remove second factor", to=PAGE, caller=ROOT)
    assert (refused.status_code, "the account has no second factor" in refused.text) == (404, True)


async def test_nobody_sets_the_own_password_or_removes_the_own_factor_here(pages, forge):
    forge.answers["/users/root"] = {**ANN_USER, "login": "root", "is_admin": True}
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "is_admin": False}
    for name, offers in (("bob", True), ("root", False)):
        shown = (await pages.get(f"/admin/users/{name}", ROOT)).text
        offered = [words in shown for words in ('name="password"', "Remove second factor")]
        assert offered == [offers, offers]
        assert ("/user/settings/security" in shown.split("<main")[1]) is not offers


async def test_what_a_form_does_not_name_is_not_said_to_be_saved(pages, forge):
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "is_admin": False}
    form = {"token": pages.form_token(ROOT, at=time.time()), "do": "unknown"}
    refused = await pages.post(PAGE, form, ROOT)
    assert (refused.status_code, forge.sent) == (422, [])


async def test_people_are_searched_and_the_words_stay_on_the_next_page(pages, forge):
    person = ANN_USER | {"created": MOMENT, "is_admin": False}
    forge.answers["/admin/users"] = [person] * 51
    shown = await pages.get("/admin/users?q=+Ann+%26+co", ROOT)
    assert parse_qs(forge.queries["/admin/users"])["q"] == ["Ann & co"]
    assert 'name="q" value="Ann &amp; co"' in shown.text
    assert 'href="?q=+Ann+%26+co&amp;page=2"' in shown.text
    await pages.get("/admin/users", ROOT)
    assert "q=" not in forge.queries["/admin/users"]
    forge.answers["/admin/users"] = []
    assert "No people match." in (await pages.get("/admin/users?q=zzz", ROOT)).text


async def test_the_page_of_a_person_leads_to_what_they_did(pages, forge):
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "is_admin": False}
    assert 'href="/admin/audit?actor=bob"' in (await pages.get(PAGE, ROOT)).text


async def test_restricted_users_have_a_badge_and_a_box(pages, forge):
    person = {**ANN_USER, "login": "bob", "is_admin": False, "restricted": True}
    forge.answers |= {
        "/users/bob": person,
        "/admin/users": [person, person | {"login": "cy", "restricted": False}],
    }
    assert (await pages.get("/admin/users", ROOT)).text.count(">Restricted</span>") == 1
    await pages.submit(PAGE, "Save", to=PAGE, caller=ROOT)
    assert forge.sent[-1][2]["restricted"] is True
    await pages.submit(PAGE, "Save", to=PAGE, caller=ROOT, restricted=[])
    assert forge.sent[-1][2]["restricted"] is False
