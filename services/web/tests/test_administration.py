"""People as administrators change them on pages."""

from .forge import ANN_USER
from .world import ANN

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
