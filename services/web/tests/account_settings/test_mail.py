"""The page on which people choose how often they get mail."""

from ..world import ANN

PREFERENCES = {"mentions": "instant", "participating": "daily", "watching": "off", "own": False}


async def test_choices_are_shown_and_sent(pages, forge):
    forge.answers["/user/mail-preferences"] = PREFERENCES
    shown = (await pages.get("/user/settings/mail", ANN)).text
    assert '<option value="daily" selected>' in shown
    sent = await pages.submit("/user/settings/mail", "Save", watching="hourly", own="1")
    assert sent.headers["location"].startswith("/user/settings/mail?outcome=saved")
    changed = PREFERENCES | {"watching": "hourly", "own": True}
    assert forge.sent == [("PATCH", "/user/mail-preferences", changed)]


async def test_a_visitor_signs_in_first(pages):
    assert (await pages.get("/user/settings/mail")).status_code in (302, 303, 401)
