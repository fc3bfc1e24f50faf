"""The ways to reviews and to their comments on lines."""

import pytest

from ..forge import HOME, MOMENT, issue
from ..issues.test_conversations import timeline
from ..test_calls import REVIEW as SUBMITTED
from ..test_forms import COMMENT_ON_LINE, HEAD
from ..world import ANN

REVIEW = {"id": 7, "state": "COMMENT", "submitted_at": MOMENT}


def _moments(count):
    """Entries of a timeline, one a minute."""
    minutes = (f"2026-01-02T{number // 60:02}:{number % 60:02}:00Z" for number in range(count))
    return [entry | {"created_at": moment} for entry, moment in zip(timeline(count), minutes, strict=True)]


@pytest.mark.parametrize(
    ("count", "place", "query"),
    [
        (1, 0, ""),
        (200, 0, ""),
        (200, 49, ""),
        (200, 50, "?page=2"),
        (610, 327, "?page=7"),
        (610, 609, "?page=13"),
    ],
)
@pytest.mark.parametrize("is_burst", [False, True])
async def test_the_way_to_a_review_leads_to_its_page_of_the_timeline(
    pages, forge, count, place, query, is_burst
):
    """Also where the next entry is of the same second."""
    entries = _moments(count)
    entries[place] |= {"review_id": 7}
    if is_burst and place + 1 < count:
        entries[place + 1] |= {"created_at": entries[place]["created_at"]}
    forge.answers |= {
        f"{HOME}/pulls/1/reviews/7": REVIEW | {"submitted_at": entries[place]["created_at"]},
        f"{HOME}/pulls/comments/5": COMMENT_ON_LINE,
        f"{HOME}/issues/1/timeline": entries,
    }
    way = await pages.get("/ann/demo/pulls/1/reviews/7", ANN)
    assert (way.status_code, way.headers["location"]) == (
        303,
        f"/ann/demo/pulls/1{query}#pullrequestreview-7",
    )
    assert forge.read_paths.count(f"{HOME}/issues/1/timeline") <= 5
    way = await pages.get("/ann/demo/pulls/comments/5", ANN)
    assert way.headers["location"] == f"/ann/demo/pulls/1{query}#pullrequestreviewcomment-5"


async def test_what_is_not_sent_yet_stands_beside_its_line(pages, forge):
    forge.answers |= {
        f"{HOME}/pulls/1/reviews/7": REVIEW | {"state": "PENDING"},
        f"{HOME}/pulls/comments/5": COMMENT_ON_LINE,
    }
    way = await pages.get("/ann/demo/pulls/comments/5", ANN)
    assert way.headers["location"] == "/ann/demo/pulls/1/files#pullrequestreviewcomment-5"


async def test_a_review_that_no_page_shows_leads_to_the_first_and_one_that_is_gone_nowhere(pages, forge):
    forge.answers |= {f"{HOME}/pulls/1/reviews/7": REVIEW, f"{HOME}/issues/1/timeline": _moments(300)}
    way = await pages.get("/ann/demo/pulls/1/reviews/7", ANN)
    assert way.headers["location"] == "/ann/demo/pulls/1#pullrequestreview-7"
    forge.failures |= {f"{HOME}/pulls/1/reviews/7": 404, f"{HOME}/pulls/comments/5": 404}
    for path in ("pulls/1/reviews/7", "pulls/comments/5"):
        assert (await pages.get(f"/ann/demo/{path}", ANN)).status_code == 404
    forge.failures[HOME] = 404
    assert (await pages.get("/ann/demo/pulls/comments/5")).status_code == 404


async def test_reviews_on_another_page_of_the_timeline_have_links_at_their_anchors(pages, forge):
    one = issue(
        pull_request={"merged": False, "draft": False},
        base={"ref": "main"},
        head=HEAD,
        merged=False,
        mergeable=True,
    )
    forge.answers |= {
        f"{HOME}/pulls/1": one,
        f"{HOME}/issues/1/timeline": [*timeline(50), timeline(51)[-1] | {"type": "review", "review_id": 7}],
        f"{HOME}/pulls/1/reviews": [SUBMITTED | {"id": 7}],
        f"{HOME}/pulls/1/comments": [COMMENT_ON_LINE],
    }
    ways = (
        'id=pullrequestreview-7 href="/ann/demo/pulls/1/reviews/7"',
        'id=pullrequestreviewcomment-5 href="/ann/demo/pulls/comments/5"',
    )
    first, second = [(await pages.get(f"/ann/demo/pulls/1?page={number}")).text for number in (1, 2)]
    for way in ways:
        assert (way in first, way in second) == (True, False)
        assert way.partition(" ")[0].replace("=", '="') + '"' in second
