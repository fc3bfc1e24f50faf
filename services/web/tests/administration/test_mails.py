"""The page of mails for site administrators."""

from ..world import ROOT

FAILED = {
    "id": "a1b2", "kind": "issue", "address": "bob@example.org", "user_id": 2, "attempts": 3,
    "error": "550 <no> such mailbox", "created_at": "2026-01-02T03:04:05Z",
}  # fmt: skip


async def test_a_failed_mail_is_shown_with_its_reason_and_sent_again(pages, forge):
    forge.answers["/admin/mails"] = [FAILED]
    shown = (await pages.get("/admin/mails", ROOT)).text
    assert "550 &lt;no&gt; such mailbox" in shown
    assert "bob@example.org" in shown
    sent = await pages.submit("/admin/mails", "Send again", caller=ROOT)
    assert sent.headers["location"].endswith("/admin/mails?state=pending")
    assert forge.sent[-1][:2] == ("POST", "/admin/mails/a1b2/attempts")


async def test_a_mail_that_was_sent_is_not_sent_again(pages, forge):
    forge.answers["/admin/mails"] = [FAILED]
    assert "Send again" not in (await pages.get("/admin/mails?state=sent", ROOT)).text
