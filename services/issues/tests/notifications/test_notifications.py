"""Notifications: Bob (2) opens issues, Ann (1) and Cat (3) take part."""

import pytest

from ingot_testing.service import count_statements

from ..builders import APP, repository

pytestmark = pytest.mark.both_databases

ALL = "//notifications"


async def threads(world, query="", *, as_=1):
    answer = await world.call("GET", f"{ALL}{query}", as_=as_)
    assert answer.status_code == 200, answer.text
    assert "page=" in query or int(answer.headers["x-total-count"]) == len(answer.json())
    return answer.json()


async def numbers(world, query="", *, as_=1):
    return [int(one["subject"]["url"].rpartition("/")[2]) for one in await threads(world, query, as_=as_)]


async def comment(world, number=1, body="x", *, as_=1):
    await world.create(f"/issues/{number}/comments", {"body": body}, as_=as_)
    await world.work()


async def test_a_comment_that_was_deleted_is_not_the_latest_one_of_a_thread(world):
    await world.open_issue(as_=2)
    await comment(world)
    assert (await world.call("DELETE", "/issues/comments/1")).status_code == 204
    [thread] = await threads(world, as_=2)
    assert (thread["subject"]["latest_comment_url"], thread["subject"]["latest_comment_html_url"]) == ("", "")


async def test_who_takes_part_hears_of_a_comment(world):
    await world.open_issue(as_=2)
    await comment(world)
    [thread] = await threads(world, as_=2)
    root = "http://127.0.0.1:3000"
    assert thread["subject"] == {
        "title": "It burns", "type": "Issue", "state": "open",
        "url": f"{root}/api/v1/repos/ann/app/issues/1", "html_url": f"{root}/ann/app/issues/1",
        "latest_comment_url": f"{root}/api/v1/repos/ann/app/issues/comments/1",
        "latest_comment_html_url": f"{root}/ann/app/issues/1#issuecomment-1",
    }  # fmt: skip
    assert (thread["unread"], thread["pinned"]) == (True, False)
    assert thread["repository"]["full_name"] == "ann/app"
    assert thread["url"] == f"{root}/api/v1/notifications/threads/{thread['id']}"
    assert (await world.call("GET", f"{ALL}/threads/{thread['id']}", as_=2)).json() == thread
    assert (await numbers(world), await numbers(world, as_=3)) == ([], [])
    assert (await world.call("GET", f"{ALL}/new", as_=2)).json() == {"new": 1}
    assert (await world.call("GET", ALL, as_=0)).status_code == 401


async def test_who_is_mentioned_or_assigned_hears_of_an_issue(world):
    """This includes a new account without an event yet. Organizations and unknown names are not notified."""
    world.identity.add_account(9, "acme", kind="organization")
    await world.open_issue(body="@cat, @acme, @nobody, `@dan` look", assignees=["bob"])
    await world.work()
    assert [await numbers(world, as_=who) for who in (1, 2, 3, 4)] == [[], [1], [1], []]
    await world.open_issue()
    await world.work()
    assert await numbers(world, as_=3) == [1]
    await comment(world, 2, "@cat")
    assert await numbers(world, as_=3) == [2, 1]


async def test_who_is_mentioned_later_or_in_a_review_hears_of_it_once(world):
    async def expect_unread_of(*people):
        """Return whether exactly these have unread notifications. Marks them as read."""
        await world.work()
        for who in (2, 3, 4):
            assert await numbers(world, as_=who) == [1] * (who in people), who
            await world.call("PUT", ALL, as_=who)

    await world.propose(as_=1)
    commented = await world.create("/issues/1/comments", {"body": "nothing"})
    await expect_unread_of()
    path = f"/issues/comments/{commented['id']}"
    for body, people in (("@cat", [3]), ("@cat @bob", [2]), ("@cat, @bob!", []), ("nothing", [])):
        assert (await world.call("PATCH", path, {"body": body})).status_code == 200
        await expect_unread_of(*people)
    on_line = {"path": "a", "body": "@dan `@cat`", "new_position": 1}
    review = {"event": "PENDING", "body": "@bob", "comments": [on_line]}
    pending = await world.call("POST", "/pulls/1/reviews", review)
    await expect_unread_of()
    path = f"/pulls/1/reviews/{pending.json()['id']}"
    assert (await world.call("POST", path, {"event": "COMMENT"})).status_code == 200
    await expect_unread_of(2, 4)
    [comment] = (await world.call("GET", f"{path}/comments")).json()
    await world.create(f"/pulls/1/comments/{comment['id']}/replies", {"body": "so @cat"})
    await expect_unread_of(3)


async def test_closing_merging_and_reviewing_are_told_and_editing_is_not(world):
    await world.propose_many("fix")
    for method, path, body, expected in (
        ("PATCH", "/issues/1", {"title": "other"}, []),
        ("POST", "/pulls/1/reviews", {"event": "APPROVED"}, [1]),
        ("PATCH", "/issues/1", {"state": "closed"}, [1]),
        ("PATCH", "/issues/1", {"state": "open"}, [1]),
        ("POST", "/pulls/1/requested_reviewers", {"reviewers": ["cat"]}, [1]),
        ("POST", "/pulls/1/merge", {}, [1]),
    ):
        await world.call("PUT", ALL, as_=2)
        assert (await world.call(method, path, body)).is_success, path
        await world.work()
        assert await numbers(world, as_=2) == expected, (path, body)
    [thread] = await threads(world, as_=3)
    assert (thread["subject"]["type"], thread["subject"]["state"]) == ("Pull", "merged")


async def test_who_does_not_want_to_hear_of_an_issue_does_not(world):
    await world.open_issue(as_=2)
    await world.call("DELETE", "/issues/1/subscriptions/bob", as_=2)
    await world.call("PUT", "/issues/1/subscriptions/cat", as_=3)
    await comment(world, body="@bob")
    assert (await numbers(world, as_=2), await numbers(world, as_=3)) == ([], [1])


async def test_nobody_hears_of_what_they_may_not_see(world):
    await world.open_issue(as_=3)
    await comment(world)
    assert await numbers(world, as_=3) == [1]
    thread = (await threads(world, as_=3))[0]["id"]
    world.repos.repositories[7] = repository(private=True)
    for method, path in (
        ("GET", f"{ALL}/threads/{thread}"),
        ("PATCH", f"{ALL}/threads/{thread}"),
        ("GET", "/notifications"),
        ("PUT", "/notifications"),
    ):
        assert (await world.call(method, path, as_=3)).status_code == 404, path
    assert await numbers(world, as_=3) == []
    assert (await world.call("GET", f"{ALL}/new", as_=3)).json() == {"new": 0}
    await comment(world)
    world.repos.repositories[7] = repository()
    [thread] = await threads(world, as_=3)
    assert thread["subject"]["latest_comment_url"].endswith("/comments/1")


async def test_threads_are_marked_alone_by_repository_and_all(world):
    for _ in range(3):
        await world.open_issue(as_=2)
    for number in (1, 2, 3):
        await comment(world, number)
    first, second, third = reversed([one["id"] for one in await threads(world, as_=2)])
    marked = await world.call("PATCH", f"{ALL}/threads/{first}", as_=2)
    assert (marked.status_code, marked.json()["unread"]) == (205, False)
    pinned = await world.call("PATCH", f"{ALL}/threads/{second}?to-status=pinned", as_=2)
    assert pinned.json()["pinned"] is True
    assert await numbers(world, as_=2) == [3, 2]
    assert await numbers(world, "?status-types=read&status-types=pinned", as_=2) == [2, 1]
    assert await numbers(world, "?all=true", as_=2) == [3, 2, 1]
    answer = await world.call("PUT", "/notifications", as_=2)
    assert (answer.status_code, [one["id"] for one in answer.json()]) == (205, [third])
    assert await numbers(world, as_=2) == [2]
    await comment(world, 2)
    assert (await threads(world, as_=2))[0]["pinned"] is True
    answer = await world.call("PUT", f"{ALL}?all=true&to-status=unread", as_=2)
    assert len(answer.json()) == 3
    assert (await world.call("GET", f"{ALL}/new", as_=2)).json() == {"new": 3}
    await world.call("PUT", f"{ALL}?last_read_at=2020-01-01T00:00:00Z", as_=2)
    assert (await world.call("GET", f"{ALL}/new", as_=2)).json() == {"new": 3}
    for path in (f"{ALL}/threads/{first}", f"{ALL}/threads/999"):
        for method in ("GET", "PATCH"):
            assert (await world.call(method, path, as_=3)).status_code == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?subject-type=issue", [1]),
        ("?subject-type=pull", [2]),
        ("?subject-type=issue&subject-type=pull", [2, 1]),
        ("?subject-type=commit", []),
        ("?since=2100-01-01T00:00:00Z", []),
        ("?before=2100-01-01T00:00:00Z", [2, 1]),
        ("?limit=1&page=2", [1]),
    ],
)
async def test_threads_are_filtered(world, query, expected):
    await world.open_issue(as_=2)
    await world.propose()
    for number in (1, 2):
        await comment(world, number)
    assert await numbers(world, query, as_=2) == expected
    own = await world.call("GET", f"/notifications{query}", as_=2)
    assert len(own.json()) == len(await numbers(world, query, as_=2))


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("GET", "status-types=old"),
        ("PUT", "to-status=old"),
        ("PUT", "last_read_at=soon"),
        ("PUT", "status-types=" + "x" * 1000),
    ],
)
async def test_what_means_nothing_is_refused(world, method, query):
    for path in (ALL, "/notifications"):
        answer = await world.call(method, f"{path}?{query}")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == query.split("=")[0]


async def test_a_restricted_token_reads_threads_of_its_repositories(world):
    world.add_library()
    await world.open_issue(as_=2)
    await world.create("//repos/ann/lib/issues", {"title": "x"}, as_=2)
    await comment(world)
    await world.create("//repos/ann/lib/issues/1/comments", {"body": "x"})
    await world.work()
    assert len(await threads(world, as_=2)) == 2
    answer = await world.call("GET", ALL, as_=2, restricted_to=[9])
    assert [one["repository"]["name"] for one in answer.json()] == ["lib"]
    assert (await world.call("PUT", ALL, as_=2, restricted_to=[9])).status_code == 403
    assert (await world.call("PUT", "/notifications", as_=2, restricted_to=[9])).status_code == 403


async def test_a_list_takes_as_many_statements_for_many_threads(world):
    counts = []
    for _ in range(2):
        for _ in range(3):
            issue = await world.open_issue(as_=2)
            await comment(world, issue["number"])
        with count_statements(world.db) as statements:
            await threads(world, as_=2)
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1] <= 5


async def test_who_watches_hears_of_what_is_opened_unless_they_said_no(world):
    world.repos.repositories[APP] = repository(watchers_count=3)
    world.repos.watchers[APP] = [1, 3, 4]
    await world.open_issue(as_=2)
    await world.propose()
    await world.work()
    for who, count in ((1, 2), (2, 0), (3, 2)):
        assert (await world.call("GET", "//notifications/new", as_=who)).json() == {"new": count}
    await world.call("PUT", "//notifications", as_=3)
    assert (await world.call("DELETE", "/issues/1/subscriptions/cat", as_=3)).status_code in (200, 201)
    await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=2)
    await world.work()
    assert (await world.call("GET", "//notifications/new", as_=3)).json() == {"new": 0}


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_the_text_of_a_new_issue_is_read_where_somebody_may_be_mentioned(world):
    world.repos.repositories[APP] = repository(watchers_count=1)
    world.repos.watchers[APP] = [2]
    counts = []
    for body in ("x", "@x"):
        await world.open_issue(as_=2, body=body)
        with count_statements(world.db) as statements:
            await world.work()
        counts.append(len(statements))
    assert counts[1] - counts[0] == 2  # the text, and who is mentioned in it


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_new_issue_of_which_only_its_author_would_hear_takes_few_statements(world):
    world.repos.repositories[APP] = repository(watchers_count=1)
    world.repos.watchers[APP] = [2]
    await world.open_issue(as_=2)
    await world.work()
    world.repos.calls.clear()
    with count_statements(world.db) as statements:
        await world.open_issue(as_=2)
    assert len(statements) == 4  # its number, the issue, the job, the event
    with count_statements(world.db) as statements:
        assert await world.workers.step() == 1
    assert len(statements) == 5  # the claim, who hears of it, the event, the end, another claim
    assert world.repos.operations() == ["access", "watchers"]


async def test_a_watcher_who_may_not_read_any_more_hears_nothing(world):
    world.repos.repositories[APP] = repository(watchers_count=1, private=True)
    world.repos.watchers[APP] = [4]
    await world.open_issue(as_=2)
    await world.work()
    world.repos.repositories[APP] = repository()
    assert (await world.call("GET", "//notifications/new", as_=4)).json() == {"new": 0}


async def test_who_begins_to_watch_hears_of_what_is_opened_then(world):
    world.repos.repositories[APP] = repository(watchers_count=1)
    for watcher_ids in ([3], [3, 4]):
        world.repos.watchers[APP] = watcher_ids
        await world.open_issue(as_=2)
        await world.work()
    for who, count in ((3, 2), (4, 1)):
        assert (await world.call("GET", "//notifications/new", as_=who)).json() == {"new": count}


async def test_a_thread_has_the_reason_of_its_latest_event_and_is_found_by_it(world):
    world.repos.watchers[APP] = [4]
    await world.open_issue(as_=2, body="@cat", assignees=["ann"])
    await world.work()
    await comment(world, body="@bob", as_=3)
    reasons = {who: [one["reason"] for one in await threads(world, as_=who)] for who in (1, 2, 3, 4)}
    assert reasons == {1: ["participating"], 2: ["mentioned"], 3: ["mentioned"], 4: ["watching"]}
    await comment(world, as_=1)
    assert [one["reason"] for one in await threads(world, as_=2)] == ["participating"]
    assert await numbers(world, "?reason=participating", as_=2) == [1]
    assert await numbers(world, "?reason=mentioned&reason=watching", as_=2) == []
    own = await world.call("GET", "/notifications?reason=participating", as_=2)
    assert len(own.json()) == 1
    assert (await world.call("GET", f"{ALL}?reason=boredom", as_=2)).status_code == 422


async def test_only_the_named_threads_of_the_caller_are_marked(world):
    for _ in range(3):
        await world.open_issue(as_=2)
    for number in (1, 2, 3):
        await comment(world, number)
    third, second, first = [one["id"] for one in await threads(world, as_=2)]
    foreign = await world.call("PUT", f"{ALL}?thread={first}", as_=3)
    assert (foreign.status_code, await numbers(world, as_=2)) == (205, [3, 2, 1])
    assert (await world.call("PUT", f"{ALL}?thread={first}&thread={third}", as_=2)).status_code == 205
    assert await numbers(world, as_=2) == [2]
    for wrong in ("x", f"{second},x"):
        assert (await world.call("PUT", f"{ALL}?thread={wrong}", as_=2)).status_code == 422
    assert await numbers(world, as_=2) == [2]
