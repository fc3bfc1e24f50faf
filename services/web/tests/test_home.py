"""What waits for somebody."""

import time

from .forge import MOMENT
from .world import ANN

SUBJECT = {
    "html_url": "http://forge/ann/demo/issues/1",
    "latest_comment_url": "",
    "title": "Fire",
    "type": "Issue",
}
THREAD = {
    "id": 7, "subject": SUBJECT, "repository": {"full_name": "ann/demo"}, "updated_at": MOMENT, "unread": True,
}  # fmt: skip


async def test_a_notification_leads_to_the_latest_comment_wherever_it_stands(pages, forge):
    said = SUBJECT | {"latest_comment_url": "http://forge/api/v1/repos/ann/demo/issues/comments/51"}
    for subject, place in ((SUBJECT, SUBJECT["html_url"]), (said, "/ann/demo/issues/comments/51")):
        forge.answers["/notifications"] = [THREAD | {"subject": subject}]
        assert f'href="{place}">Fire</a>' in (await pages.get("/notifications", ANN)).text


async def test_notifications_are_marked_as_read_one_by_one_or_all_at_once(pages, forge):
    forge.answers["/notifications"] = [THREAD]
    token = {"token": pages.form_token(ANN, at=time.time())}
    await pages.post("/notifications/read", token | {"thread": "7"}, ANN)
    await pages.post("/notifications/read", token, ANN)
    assert [(method, path) for method, path, _ in forge.sent] == [
        ("PATCH", "/notifications/threads/7"), ("PUT", "/notifications"),
    ]  # fmt: skip
    for no_id in ("7x", "1" * 19, "", "0"):
        assert (await pages.post("/notifications/read", token | {"thread": no_id}, ANN)).status_code == 404
    assert len(forge.sent) == 2
    forge.answers["/notifications"] = [THREAD | {"unread": False}]
    assert 'value="7"' not in (await pages.get("/notifications", ANN)).text
