"""What waits for somebody."""

import re
import time
from datetime import UTC, datetime
from html import unescape

import pytest

from ingot_contracts.identity import User
from ingot_contracts.transfers import TransferOffer, TransferOffers

from .forge import MOMENT, issue
from .world import ANN, BOB, World

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


async def test_the_first_page_leads_to_own_organizations(pages, forge):
    names = [{"username": f"crew{number}", "full_name": "", "avatar_url": ""} for number in range(12)]
    forge.answers |= {"/notifications/new": {"new": 0}, "/user/orgs": names}
    shown = (await pages.get("/", ANN)).text
    assert [f'href="/crew{number}">crew{number}</a>' in shown for number in (0, 9, 10)] == [True, True, False]
    assert '<a href="/ann">All 12</a>' in shown
    forge.answers["/user/orgs"] = [names[0] | {"full_name": "The <crew>"}]
    shown = (await pages.get("/", ANN)).text
    assert ('href="/crew0">The &lt;crew&gt;</a>' in shown, "All 1<" in shown) == (True, False)
    forge.answers["/user/orgs"] = []
    assert 'href="/org/create">New organization</a>' in (await pages.get("/", ANN)).text
    forge.read_paths.clear()
    assert "Your organizations" not in (await pages.get("/")).text
    assert "/user/orgs" not in forge.read_paths


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


@pytest.mark.parametrize(
    ("url", "name", "flags"),
    [("http://forge/", "ingot-session", set()), ("https://forge/", "__Host-ingot-session", {"secure"})],
)
async def test_signing_out_ends_the_session_and_takes_its_cookie(forge, url, name, flags):
    world = World(forge, public_url=url)
    answer = await world.submit("/explore/repos", "Sign out", to="/user/logout")
    await world.client.aclose()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert [one[:2] for one in forge.sent] == [("DELETE", "/user/sessions/11")]
    value, *attributes = answer.headers["set-cookie"].split("; ")
    assert value == f'{name}=""'
    assert {"max-age=0", "path=/", "httponly", "samesite=lax", *flags} == {one.lower() for one in attributes}


async def test_a_session_that_ended_already_is_signed_out_as_well(pages, forge):
    forge.failures["/user/sessions/11"] = 404
    answer = await pages.submit("/explore/repos", "Sign out", to="/user/logout")
    assert answer.headers["location"] == "/"


async def test_nobody_is_signed_out_by_another_site(pages, forge):
    assert (await pages.post("/user/logout", {"token": "1.0.0"}, ANN)).status_code == 403
    assert not forge.sent


async def test_the_first_page_leads_to_all_that_is_assigned_of_either_kind(pages, forge):
    waiting = issue(repository={"full_name": "ann/demo"})
    forge.answers |= {"/notifications/new": {"new": 0}, "/repos/issues/search": [waiting] * 7}
    shown = (await pages.get("/", ANN)).text
    for links in (
        'All 7: <a href="/issues">issues</a>, <a href="/pulls">pull requests</a>',
        'All 7: <a href="/pulls?filter=review">pull requests</a>',
    ):
        assert links in shown


@pytest.mark.parametrize("kind", ["issues", "pulls"])
async def test_what_is_in_own_repositories_is_a_list_too(pages, forge, kind):
    shown = (await pages.get(f"/{kind}", ANN)).text
    assert '<a href="?filter=repositories">In your repositories</a>' in shown
    assert "owner=" not in forge.queries["/repos/issues/search"]
    for address in (f"/{kind}?filter=repositories", f"/{kind}?type=your_repositories"):
        await pages.get(address, ANN)
        query = f"owner=ann&memberships=true&state=open&type={kind}&page=1&limit=20"
        assert forge.queries["/repos/issues/search"] == query


async def test_the_bar_searches(pages):
    shown = (await pages.get("/")).text
    assert 'role="search" action="/explore/repos"><input type="search" name="q"' in shown


async def test_what_was_read_is_read_again(pages, forge):
    forge.answers["/notifications"] = [THREAD | {"unread": False}]
    shown = (await pages.get("/notifications?q=read", ANN)).text
    assert "status-types=read" in forge.queries["/notifications"]
    assert '<a href="?q=read" aria-current="page">Read</a>' in shown
    assert "Mark all as read" not in shown
    await pages.get("/notifications", ANN)
    assert "status-types" not in forge.queries["/notifications"]


async def test_words_of_a_search_go_along_to_other_kinds_and_issues_are_searched_by_state(pages, forge):
    shown = (await pages.get("/explore/repos?q=a+%26", ANN)).text
    assert 'href="/explore/issues?q=a+%26"' in shown
    for state, expected in (("closed", "closed"), ("all", "all"), ("", "open"), ("x", "open")):
        shown = (await pages.get(f"/explore/issues?state={state}", ANN)).text
        assert f"state={expected}" in forge.queries["/repos/issues/search"]
        assert f'<option value="{expected}" selected>' in shown


def offer_to(recipient):
    return TransferOffer(
        full_name="bob/secret",
        doer=User(id=2, login="bob"),
        recipient=User(id=1, login=recipient),
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


@pytest.mark.parametrize("page", ["/", "/notifications"])
async def test_a_repository_that_is_offered_is_where_one_looks(pages, forge, page):
    forge.answers["/notifications/new"] = {"new": 0}
    assert "Offered to you" not in (await pages.get(page, ANN)).text, "repos of an older release has no list"
    for recipient, words in (("ann", "offers it to you"), ("crew", 'offers it to <a href="/crew">crew</a>')):
        forge.internal["GET /internal/transfers"] = TransferOffers(offers=[offer_to(recipient)], total=1)
        shown = (await pages.get(page, ANN)).text
        assert '<a class="title" href="/bob/secret/transfer">bob/secret</a>' in shown
        assert (words in shown, "more when these are answered" in shown) == (True, False)
    forge.internal["GET /internal/transfers"] = TransferOffers(offers=[offer_to("ann")], total=3)
    assert "2 more when these are answered" in (await pages.get(page, ANN)).text
    forge.internal["GET /internal/transfers"] = TransferOffers(total=0)
    assert "Offered to you" not in (await pages.get(page, ANN)).text


async def test_what_was_read_already_has_no_offers(pages, forge):
    forge.internal["GET /internal/transfers"] = TransferOffers(offers=[offer_to("ann")], total=1)
    assert "Offered to you" not in (await pages.get("/notifications?q=read", ANN)).text
    assert forge.calls == []
