"""The page of registrations for site administrators."""

import pytest

from ..world import ROOT

PATH = "/admin/registrations"
WAITING = {
    "id": 7, "username": "nora", "email": "nora@x.io", "email_confirmed": True, "note": "I <fix> bugs",
    "created_at": "2026-01-02T03:04:05Z",
}  # fmt: skip


@pytest.mark.parametrize(
    ("button", "sent"), [("Approve", ("POST", f"{PATH}/7/approval")), ("Refuse", ("DELETE", f"{PATH}/7"))]
)
async def test_a_registration_is_shown_and_decided(pages, forge, button, sent):
    forge.answers[PATH] = [WAITING]
    shown = (await pages.get(PATH, ROOT)).text
    assert "I &lt;fix&gt; bugs" in shown
    assert "Not confirmed" not in shown
    answer = await pages.submit(PATH, button, caller=ROOT)
    assert answer.headers["location"].startswith(PATH)
    assert forge.sent[-1][:2] == sent


async def test_an_address_that_nothing_confirms_is_marked(pages, forge):
    forge.answers[PATH] = [WAITING | {"email_confirmed": False}]
    assert "Not confirmed" in (await pages.get(PATH, ROOT)).text
