"""Reviews of a pull request with comments on lines, as web requests them for a page."""

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_issues.reviews.api import pages
from ingot_testing.service import count_statements

WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


async def ask(world, number=1, *, as_=1):
    world.forget_grants()
    headers = world.headers(as_) | {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    return await world.http.get(f"/internal/repos/ann/app/pulls/{number}/reviews", headers=headers)


async def shown(world, **options):
    answer = await ask(world, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def parts(world, *, as_=1):
    """The same reviews by the routes of the API."""
    reviews = await world.call("GET", "/pulls/1/reviews", as_=as_)
    comments = await world.call("GET", "/pulls/1/comments", as_=as_)
    return {
        "reviews": reviews.json(),
        "comments": comments.json(),
        "comment_total": int(comments.headers["x-total-count"]),
    }


async def review(world, body="fine", *, as_=3, event="COMMENT"):
    answer = await world.call("POST", "/pulls/1/reviews", {"event": event, "body": body}, as_=as_)
    assert answer.status_code == 200, answer.text


async def test_reviews_are_what_the_parts_of_the_api_say(world):
    await world.propose()
    await review(world)
    await world.comment_on_line(as_=3)
    for reader in (1, 2, 3):
        page = await shown(world, as_=reader)
        assert page == await parts(world, as_=reader)
        assert (len(page["reviews"]), page["comment_total"]) == (2, 1)


async def test_a_pending_review_is_for_its_author_alone(world):
    await world.propose()
    await world.comment_on_line(as_=3, event="PENDING")
    for reader, count in ((1, 0), (3, 1)):
        page = await shown(world, as_=reader)
        assert page == await parts(world, as_=reader)
        assert (len(page["reviews"]), len(page["comments"]), page["comment_total"]) == (count, count, count)


@pytest.mark.parametrize(
    ("count", "bodies"),
    [(2, ["0", "1"]), (5, ["0", "1", "2", "3", "4"]), (9, ["0", "1", "6", "7", "8"])],
)
async def test_of_very_many_reviews_the_first_and_the_latest_are_shown(world, monkeypatch, count, bodies):
    monkeypatch.setattr(pages, "MAX_LIMIT", 2)
    await world.propose()
    for number in range(count):
        await review(world, str(number))
    assert [one["body"] for one in (await shown(world))["reviews"]] == bodies


async def test_an_issue_has_no_reviews(world):
    await world.open_issue()
    assert (await ask(world)).status_code == 404


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)  # PostgreSQL prepares them
async def test_reviews_take_as_many_statements_for_many_as_for_few(world):
    await world.propose()
    counted = []
    for _ in range(2):
        for _ in range(3):
            await review(world)
            await world.comment_on_line(as_=3)
        with count_statements(world.db) as statements:
            await shown(world)
        counted.append(len(statements))
    assert 0 < counted[0] == counted[1]
