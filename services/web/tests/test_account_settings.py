"""Tokens as people make them on the page of their account."""

from .world import ANN

PAGE = "/user/settings/applications"


async def test_a_token_whose_days_are_no_number_is_not_made(pages, forge):
    for days in ("9" * 5, "soon", "²"):
        answer = await pages.submit(PAGE, "Make the token", to=PAGE, name="ci", days=days)
        assert "is no number of days" in answer.text, days
    assert forge.sent == []
    assert (await pages.get(PAGE, ANN)).status_code == 200
