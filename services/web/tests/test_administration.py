"""People as administrators change them on pages."""

from urllib.parse import parse_qs

from .forge import ANN_USER, MOMENT
from .world import ANN, ROOT

PAGE = "/admin/users/bob"


async def test_an_address_that_is_not_typed_stays_as_it_is(pages, forge):
    hidden = "bob@noreply.example.org"
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "email": hidden, "is_admin": False}
    assert hidden not in (await pages.get(PAGE, ANN)).text
    await pages.submit(PAGE, "Save", to=PAGE, full_name="Bob")
    await pages.submit(PAGE, "Save", to=PAGE, email=" bob@example.org ")

    first, second = (body for _, _, body in forge.sent)
    assert first == {"full_name": "Bob", "admin": False, "prohibit_login": False}
    assert second["email"] == "bob@example.org"


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
    assert "Nobody matches." in (await pages.get("/admin/users?q=zzz", ROOT)).text


async def test_the_page_of_a_person_leads_to_what_they_did(pages, forge):
    forge.answers["/users/bob"] = {**ANN_USER, "login": "bob", "is_admin": False}
    assert 'href="/admin/audit?actor=bob"' in (await pages.get(PAGE, ROOT)).text
