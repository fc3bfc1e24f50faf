"""Activities on pages and in feeds, and the heatmap of a person."""

import json
import xml.etree.ElementTree as ET
from datetime import UTC, date, datetime
from urllib.parse import parse_qsl

import pytest

from ingot_web.activities.rules import heatmap_of, line_of

from ..forge import ANN_USER, HOME, MOMENT, repository
from ..world import ANN

PERSON = ANN_USER | {"created": MOMENT} | dict.fromkeys(("description", "location", "website"), "")
FEED = "/users/ann/activities/feeds"


def activity(kind="create_issue", content="3|It flickers", **changed):
    """An activity as repos answers it."""
    return {
        "id": 5,
        "user_id": 1,
        "op_type": kind,
        "act_user_id": 1,
        "act_user": ANN_USER,
        "repo_id": 1,
        "repo": repository(),
        "comment_id": 0,
        "comment": None,
        "ref_name": "",
        "is_private": False,
        "content": content,
        "created": MOMENT,
        **changed,
    }


def push(total=1, messages=("Mend it\n\nAt last",), ref="refs/heads/a/b"):
    content = json.dumps({"Len": total, "Commits": [{"Message": message} for message in messages]})
    return activity("commit_repo", content, ref_name=ref)


LINES = [
    (activity(), "opened issue #3 in", "/issues/3", ["It flickers"]),
    (activity("close_issue", "3|"), "closed issue #3 in", "/issues/3", []),
    (
        activity("comment_pull", "4|Why?", comment_id=9),
        "commented on pull request #4 in",
        "/pulls/4#issuecomment-9",
        ["Why?"],
    ),
    (push(), "pushed 1 commit to a/b of", "/commits/branch/a/b", ["Mend it"]),
    (push(7, ()), "pushed 7 commits to a/b of", "/commits/branch/a/b", []),
    (activity("commit_repo", "", ref_name="refs/heads/x#y"), "pushed to x#y of", "/commits/branch/x%23y", []),
    (activity("delete_branch", "", ref_name="refs/heads/old"), "deleted the branch old of", "", []),
    (
        activity("publish_release", "First", ref_name="v1"),
        "published the release v1 of",
        "/releases/tag/v1",
        ["First"],
    ),
    (activity("rename_repo", "lamp"), "renamed", "", ["Formerly lamp"]),
    (activity("watch_repo", ""), "watch repo", "", []),
]


@pytest.mark.parametrize(("shown", "words", "path", "lines"), LINES)
def test_an_activity_is_a_sentence_with_a_link(shown, words, path, lines):
    line = line_of(shown)
    assert (line.words, line.path, line.lines) == (words, f"/ann/demo{path}", lines)


def test_the_days_of_a_heatmap_are_complete_weeks_until_today():
    def at(*day):
        return {"timestamp": int(datetime(*day, tzinfo=UTC).timestamp()), "contributions": 2}

    today = date(2026, 11, 25)  # a Wednesday
    slots = [at(2026, 11, 25, 23, 45), at(2026, 11, 25), at(2025, 11, 23), at(2025, 11, 22)]
    shown = heatmap_of(slots, today)
    first, last = shown.days[0], shown.days[-1]
    assert (first.day, first.x, first.y, first.count) == (date(2025, 11, 23), 0, 0, 2)
    assert (last.day, last.x, last.y) == (today, 52 * 13, 3 * 13)
    assert (last.label, last.level, first.level) == ("4 contributions on 2026-11-25", 4, 2)
    assert (shown.total, shown.months[0]) == (6, ("2026-11", 4))
    assert {day.level for day in heatmap_of([], today).days} == {0}


async def test_the_page_of_a_person_shows_the_heatmap_and_the_activities(pages, forge):
    hostile = activity(content="3|<script>alert(1)</script>")
    forge.answers |= {"/users/ann": PERSON, FEED: [hostile], "/users/ann/heatmap": []}
    forge.failures["/orgs/ann"] = 404
    assert 'href="?tab=activity">Activity</a>' in (await pages.get("/ann")).text
    assert FEED not in forge.read_paths
    shown = (await pages.get("/ann?tab=activity")).text
    assert 'href="/ann/demo/issues/3">opened issue #3 in</a>' in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert 'role="img" aria-label="0 contributions in the last 53 weeks"' in shown
    assert "<script>alert" not in shown
    assert dict(parse_qsl(forge.queries[FEED]))["only-performed-by"] == "true"


async def test_an_organization_shows_activities_without_a_heatmap(pages, forge):
    organization = PERSON | {"username": "ann", "visibility": "public", "avatar_url": ""}
    feed = "/orgs/ann/activities/feeds"
    forge.answers |= {"/users/ann": PERSON, "/orgs/ann": organization, feed: [activity()]}
    shown = (await pages.get("/ann?tab=activity")).text
    assert ("opened issue #3 in" in shown, "<svg role" in shown) == (True, False)
    assert "/users/ann/heatmap" not in forge.read_paths


@pytest.mark.parametrize(("page", "path"), [("/ann", FEED), ("/ann/demo", f"{HOME}/activities/feeds")])
async def test_feeds_are_atom_and_rss(pages, forge, page, path):
    forge.answers |= {"/users/ann": PERSON, path: [activity(content="3|a\x00<b>"), push()]}
    answer = await pages.get(f"{page}.atom")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = ET.fromstring(answer.text)
    titles = [one.text for one in feed.findall("{*}entry/{*}title")]
    assert titles == ["ann opened issue #3 in ann/demo", "ann pushed 1 commit to a/b of ann/demo"]
    (link,) = feed.findall("{*}entry/{*}link")[:1]
    assert link.attrib["href"].endswith("/ann/demo/issues/3")
    assert len({one.text for one in feed.findall("{*}entry/{*}id")}) == 2
    answer = await pages.get(f"{page}.rss")
    assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
    items = ET.fromstring(answer.text).findall("channel/item")
    assert [one.findtext("title") for one in items] == titles
    assert [one.findtext("description") for one in items] == ["a<b>", "Mend it"]
    assert items[0].findtext("pubDate") == "Fri, 02 Jan 2026 03:04:05 GMT"


async def test_a_feed_of_something_hidden_is_not_found(pages, forge):
    forge.failures |= {"/users/eve": 404, "/repos/eve/secret/activities/feeds": 404}
    for page in ("/eve.atom", "/eve.rss", "/eve/secret.atom", "/eve/secret.rss"):
        assert (await pages.get(page)).status_code == 404
        assert (await pages.get(page, ANN)).status_code == 404
