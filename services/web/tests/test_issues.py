"""Issues as they are edited on pages."""

from .forge import HOME


async def test_an_edited_issue_keeps_what_nobody_changed(pages, forge):
    answer = await pages.submit("/ann/demo/issues/1", "Save", to="/issues/1/edit", title="New")

    assert answer.status_code == 303
    change = {"title": "New", "body": "first\nsecond"}
    assert forge.sent == [("PATCH", f"{HOME}/issues/1", change)]
