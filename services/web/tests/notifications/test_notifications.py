"""Notifications as they are listed, counted, opened and marked as read."""

import re
import time
from html import unescape

import pytest

from ingot_contracts.repos.transfers import TransferOffers
from ingot_contracts.testing.forms import form_of

from ..forge import MOMENT
from ..home.test_home import offer_to
from ..world import ANN, BOB

SUBJECT = {
    "html_url": "http://forge/ann/demo/issues/1",
    "latest_comment_url": "",
    "title": "Fire",
    "type": "Issue",
}


THREAD = {
    "id": 7, "subject": SUBJECT, "repository": {"full_name": "ann/demo"}, "updated_at": MOMENT,
    "unread": True,
}  # fmt: skip


async def test_a_notification_leads_to_the_latest_comment_wherever_it_stands(pages, forge):
    said = SUBJECT | {"latest_comment_url": "http://forge/api/v1/repos/ann/demo/issues/comments/51"}
    for subject, place in ((SUBJECT, "/ann/demo/issues/1"), (said, "/ann/demo/issues/comments/51")):
        forge.answers["/notifications"] = [THREAD | {"subject": subject, "unread": False}]
        assert f'href="{place}">Fire</a>' in (await pages.get("/notifications", ANN)).text
    for kind, words in (("Pull", "Pull request"), ("Issue", "Issue")):
        forge.answers["/notifications"] = [THREAD | {"subject": SUBJECT | {"type": kind}}]
        assert f"ann/demo · {words}<" in (await pages.get("/notifications", ANN)).text


async def test_a_notification_that_is_opened_is_read_and_no_other_site_opens_one(pages, forge):
    thread = "/notifications/threads/7"
    forge.answers |= {"/notifications": [THREAD], thread: THREAD}
    link = unescape(re.search(r'href="([^"]+)">Fire</a>', (await pages.get("/notifications", ANN)).text)[1])
    forged = (("/notifications?open=7", ANN), (link + "0", ANN), (link.replace("=7", "=8"), ANN), (link, BOB))
    forge.answers["/notifications/threads/8"] = THREAD
    for address, caller in forged:
        answer = await pages.get(address, caller)
        assert (answer.headers["location"], forge.sent) == ("/ann/demo/issues/1", []), address
    opened = await pages.get(link, ANN)
    assert opened.headers["location"] == "/ann/demo/issues/1"
    assert [call[:2] for call in forge.sent] == [("PATCH", thread)]
    forge.answers[thread] = THREAD | {"unread": False}
    await pages.get(link, ANN)
    assert len(forge.sent) == 1
    assert (await pages.get(link)).status_code == 401


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


IN_PLACE = {"HX-Request": "true"}


UNREAD = "/notifications/unread"


async def _unread(pages, caller=ANN, **headers):
    return await pages.client.get(UNREAD, headers=pages.callers.headers(caller) | headers)


async def test_the_bar_asks_for_the_number_of_unread_notifications_once_in_a_while(pages, forge):
    shown = (await pages.get("/explore/repos", ANN)).text
    assert f'hx-get="{UNREAD}" hx-trigger="load"></span></a>' in shown
    assert "/notifications/new" not in forge.read_paths, "no page costs more"
    forge.answers["/notifications/new"] = {"new": 3}
    part = await _unread(pages, **IN_PLACE)
    assert part.text.strip() == '<span class="count">3<span class="hidden"> unread</span></span>'
    assert (part.headers["cache-control"], part.headers["vary"]) == (
        "private, max-age=30",
        "HX-Request, Cookie",
    )
    assert "no-cache" in (await pages.get("/notifications", ANN)).text, "the list of them knows it better"


@pytest.mark.parametrize("failure", [None, 404, 503])
async def test_nothing_stands_in_the_bar_where_nothing_is_unread_or_nobody_knows(pages, forge, failure):
    forge.answers["/notifications/new"] = {"new": 0 if failure is None else 3}
    forge.failures |= {} if failure is None else {"/notifications/new": failure}
    part = await _unread(pages, **IN_PLACE)
    assert (part.status_code, part.text.strip()) == (200, "")


async def test_the_number_alone_is_for_pages_that_stay_and_for_whoever_is_signed_in(pages):
    assert (await _unread(pages)).headers["location"] == "/notifications"
    assert (await pages.client.get(UNREAD, headers=IN_PLACE)).status_code == 401


async def test_what_was_read_is_read_again(pages, forge):
    forge.answers["/notifications"] = [THREAD | {"unread": False}]
    shown = (await pages.get("/notifications?q=read", ANN)).text
    assert "status-types=read" in forge.queries["/notifications"]
    assert '<a href="?q=read" aria-current="page">Read</a>' in shown
    assert "Mark all as read" not in shown
    await pages.get("/notifications", ANN)
    assert "status-types" not in forge.queries["/notifications"]


async def test_what_was_read_already_has_no_offers(pages, forge):
    forge.internal["GET /internal/transfers"] = TransferOffers(offers=[offer_to("ann")], total=1)
    assert "Offered to you" not in (await pages.get("/notifications?q=read", ANN)).text
    assert forge.calls == []


async def test_notifications_stand_by_repository_with_their_reason(pages, forge):
    others = {"repository": {"full_name": "bob/lamp"}, "reason": "watching"}
    forge.answers["/notifications"] = [
        THREAD | {"reason": "mentioned"},
        THREAD | {"id": 8, **others},
        THREAD | {"id": 9},
    ]
    shown = (await pages.get("/notifications", ANN)).text
    assert re.findall(r'<h2><a href="([^"]*)">([^<]*)</a></h2>', shown) == [
        ("?repository=ann%2Fdemo", "ann/demo"),
        ("?repository=bob%2Flamp", "bob/lamp"),
    ]
    assert re.findall(r"Issue(?: · (\w+))?</p>", shown) == ["Mentioned", "", "Watching"]


@pytest.mark.parametrize(
    ("query", "path", "sent"),
    [
        ("q=all", "/notifications", {"all=true"}),
        ("reason=mentioned", "/notifications", {"reason=mentioned"}),
        ("reason=boredom", "/notifications", set()),
        ("repository=ann/demo&q=read", "/repos/ann/demo/notifications", {"status-types=read"}),
        ("repository=ann", "/notifications", set()),
    ],
)
async def test_notifications_are_filtered(pages, forge, query, path, sent):
    assert (await pages.get(f"/notifications?{query}", ANN)).status_code == 200
    assert {*forge.queries[path].split("&")} - {"page=1", "limit=20"} == sent


async def test_selected_notifications_are_read_by_one_request_and_the_filter_stays(pages, forge):
    forge.answers["/notifications"] = [THREAD, THREAD | {"id": 8}, THREAD | {"id": 9, "unread": False}]
    page = "/notifications?reason=mentioned"
    form = form_of((await pages.get(page, ANN)).text, "/read", "Mark selected as read")
    assert form.values["thread"] == []
    sent = form.press("Mark selected as read", thread=["7", "8"])
    done = await pages.post("/notifications/read", sent, ANN)
    assert done.headers["location"] == "/notifications?reason=mentioned"
    assert [call[:2] for call in forge.sent] == [("PUT", "/notifications")]
    assert "thread=7&thread=8&to-status=read" in forge.changes
    await pages.post("/notifications/read", form.press("Read"), ANN)
    assert forge.sent[-1][1] == "/notifications/threads/8"


async def test_nothing_is_read_where_nothing_is_selected(pages, forge):
    forge.answers["/notifications"] = [THREAD]
    refused = await pages.submit("/notifications", "Mark selected as read", to="/read")
    assert (refused.status_code, forge.sent) == (422, [])


@pytest.mark.parametrize(
    ("threads", "address", "place"),
    [
        (20, "?page=2", "?page=1"),
        (21, "?q=all&page=9", "?q=all&page=2"),
        (21, "?page=2", None),
        (0, "?page=2", None),
    ],
)
async def test_a_page_after_the_last_one_leads_to_the_last_one(pages, forge, threads, address, place):
    forge.answers["/notifications"] = [THREAD] * threads
    answer = await pages.get(f"/notifications{address}", ANN)
    if place:
        assert answer.headers["location"] == f"/notifications{place}"
    else:
        assert answer.status_code == 200
