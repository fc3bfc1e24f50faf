"""The first page, and the issues and pull requests that wait for the caller."""

from datetime import UTC, datetime

import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.transfers import TransferOffer, TransferOffers

from ..forge import ANN_USER, MOMENT, issue, repository
from ..world import ANN, World


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


async def test_what_waits_for_the_caller_comes_before_repositories(pages, forge):
    forge.answers |= {"/notifications/new": {"new": 0}, "/repos/issues/search": []}
    assert "No reviews, failed checks, assigned issues or mentions." in (await pages.get("/", ANN)).text
    row = issue(title="Look", repository={"full_name": "ann/demo"})
    forge.answers["/repos/issues/search"] = [row] * 8
    shown = (await pages.get("/", ANN)).text
    positions = [shown.index(f"<h3>{words}") for words in ("To review", "Assigned to you", "Mentions you")]
    assert [*positions, shown.index("Your repositories")] == sorted(
        [*positions, shown.index("Your repositories")]
    )
    assert (shown.count(">Look</a>"), shown.count("All 8:")) == (18, 3)


STATES = "POST /internal/pull-check-states"
PULL = {"pull_request": {"merged": False, "draft": False}, "repository": {"full_name": "ann/demo"}}


async def test_failed_checks_of_own_pull_requests_wait_for_the_caller(pages, forge):
    rows = [issue(id=number, number=number, title=f"Pull {number}", **PULL) for number in (1, 2, 3)]
    forge.answers |= {"/notifications/new": {"new": 0}, "/repos/issues/search": rows}
    forge.internal[STATES] = {"ids": [], "states": {"1": "success", "2": "failure"}}
    shown = (await pages.get("/", ANN)).text
    assert forge.bodies == [{"ids": [1, 2, 3]}]
    section = shown.partition("<h3>Failed checks")[2].partition("<h3>")[0]
    assert [f">Pull {number}</a>" in section for number in (1, 2, 3)] == [False, True, False]
    assert '<span class="hidden">Checks: </span>Failed</span>' in section


@pytest.mark.parametrize("path", ["/pulls", "/explore/issues", "/ann/demo/pulls"])
async def test_lists_of_pull_requests_show_the_state_of_their_checks(pages, forge, path):
    rows = [issue(id=number, number=number, **PULL) for number in (1, 2, 3)]
    forge.answers |= {"/repos/issues/search": rows, "/repos/ann/demo/issues": rows}
    forge.internal[STATES] = {"ids": [], "states": {"1": "success", "2": "pending"}}
    shown = (await pages.get(path, ANN)).text
    words = [word for word in ("Passed", "Pending", "Failed") if f"Checks: </span>{word}</span>" in shown]
    assert (words, forge.bodies) == (["Passed", "Pending"], [{"ids": [1, 2, 3]}])


async def test_a_list_comes_without_checks_while_issues_cannot_answer(pages, forge):
    forge.answers["/repos/issues/search"] = [issue(**PULL)]
    forge.internal[STATES] = {"message": "overloaded"}
    forge.failures["/internal/pull-check-states"] = 503
    shown = await pages.get("/explore/issues", ANN)
    assert (shown.status_code, "Checks: " in shown.text) == (200, False)


async def test_issues_and_closed_pull_requests_ask_for_no_checks(pages, forge):
    forge.internal[STATES] = {"ids": [], "states": {}}
    forge.answers["/repos/issues/search"] = [issue(), issue(number=2, state="closed", **PULL)]
    assert (await pages.get("/explore/issues", ANN)).status_code == 200
    assert forge.calls == []


async def test_the_latest_activities_of_watched_repositories_are_listed(pages, forge):
    feed = "/users/ann/activities/feeds"
    forge.answers |= {"/notifications/new": {"new": 0}, feed: []}
    assert "What happens in repositories that you watch is listed here." in (await pages.get("/", ANN)).text
    forge.answers[feed] = [
        {
            "id": number, "op_type": "create_issue", "content": f"{number}|Leak", "ref_name": "",
            "comment_id": 0, "created": MOMENT, "act_user": ANN_USER, "repo": repository(),
            "is_private": False,
        }
        for number in range(1, 13)
    ]  # fmt: skip
    shown = (await pages.get("/", ANN)).text
    assert shown.count(">Leak</p>") == 10
    assert 'href="/ann/demo/issues/1">opened issue #1 in</a>' in shown


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
    assert 'class="search" action="/search"><input type="search" name="q"' in shown


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
