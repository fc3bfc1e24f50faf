"""Input of users about an issue."""

import time

import pytest

from ..forge import HOME, MOMENT, issue
from ..history.test_commits import OPEN
from ..world import ANN

FACTS = f"{HOME}/issues/1"


async def test_who_only_reads_is_led_to_times_where_they_are_tracked(pages, forge):
    forge.answers[HOME]["permissions"]["push"] = False
    for tracked, words in ((True, "Time, subscription"), (False, "Subscription")):
        forge.answers[HOME]["internal_tracker"] = {"enable_time_tracker": tracked}
        shown = (await pages.get("/ann/demo/issues/1", ANN)).text
        assert f'/ann/demo/issues/1/facts">{words}</a>' in shown


async def test_what_the_repository_does_not_track_has_no_form(pages, forge):
    page, both = "/ann/demo/issues/1/facts", ["Blocked by", "Time spent"]
    for off, shown in (((), both), (("dependencies",), both[1:]), (("times",), both[:1])):
        forge.failures = {f"{FACTS}/{name}": 404 for name in off}
        text = (await pages.get(page, ANN)).text
        assert [title for title in both if title in text] == shown
        assert (await pages.get("/ann/demo/issues/1", ANN)).status_code == 200


@pytest.mark.parametrize(
    ("text", "named"), [("#3", (3, "", "")), ("3", (3, "", "")), ("ann/demo#12", (12, "ann", "demo"))]
)
async def test_an_issue_is_named_by_its_number(pages, forge, text, named):
    await pages.submit("/ann/demo/issues/1/facts", "Add blocking issue", to="/facts", issue=text)
    body = dict(zip(("index", "owner", "repo"), named, strict=True))
    assert forge.sent == [("POST", f"{FACTS}/dependencies", body)]


@pytest.mark.parametrize("text", ["", "#", "#x", "ann/demo", "#-1", "#٣", "#" + "9" * 5000])
async def test_what_names_no_issue_is_refused(pages, forge, text):
    page = "/ann/demo/issues/1/facts"
    refused = await pages.submit(page, "Add blocking issue", to="/facts", issue=text)
    assert (refused.status_code, "is the number of an issue" in refused.text, forge.sent) == (422, True, [])


STOPWATCH = {
    "created": MOMENT, "seconds": 60, "issue_index": 1, "issue_title": "Old", "repo_owner_name": "ann",
    "repo_name": "demo",
}  # fmt: skip


async def test_a_stopwatch_is_started_and_stopped_on_its_own_issue(pages, forge):
    page, path = "/ann/demo/issues/1/facts", f"{FACTS}/stopwatch"
    for other in ({"issue_index": 2}, {"repo_name": "other"}):
        forge.answers["/user/stopwatches"] = [STOPWATCH | other]
        await pages.submit(page, "Start stopwatch", to="/facts")
    forge.answers["/user/stopwatches"] = [STOPWATCH]
    for button in ("Stop stopwatch", "Discard time"):
        await pages.submit(page, button, to="/facts")
    assert [(method, target) for method, target, _ in forge.sent] == [
        ("POST", f"{path}/start"),
        ("POST", f"{path}/start"),
        ("POST", f"{path}/stop"),
        ("DELETE", f"{path}/delete"),
    ]


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 min"), (70, "1 h 10 min"), (250, "more than 3 h 20 min")]
)
async def test_the_time_spent_is_that_of_all_entries(pages, forge, count, words):
    entry = {"time": 60, "user_id": 1, "created": MOMENT}
    forge.answers[f"{FACTS}/times"] = [entry | {"id": number} for number in range(count)]
    assert f"<h2>Time spent: {words}</h2>" in (await pages.get("/ann/demo/issues/1/facts", ANN)).text


async def test_what_an_issue_blocks_stands_beside_what_blocks_it(pages, forge):
    other = issue(number=2, title="Later", html_url="http://forge/ann/demo/issues/2")
    forge.answers[f"{FACTS}/blocks"] = [other | {"repository": {"full_name": "ann/demo"}}]
    forge.answers[f"{HOME}/pulls/1"] = OPEN
    for page in ("/ann/demo/issues/1", "/ann/demo/issues/1/facts", "/ann/demo/pulls/1"):
        shown = (await pages.get(page, ANN)).text
        assert ("<h2>Blocks</h2>" in shown, "Later</a>" in shown) == (True, True)


@pytest.mark.parametrize(("one", "place"), [(issue(), "issues"), (OPEN, "pulls")])
async def test_an_issue_is_deleted_once_its_number_was_typed_by_who_administers(pages, forge, one, place):
    forge.answers[FACTS] = one
    page = "/ann/demo/issues/1/facts"
    refused = await pages.submit(page, "Delete permanently", to="/facts", typed="1")
    assert (refused.status_code, "type #1 to do that" in refused.text.lower(), forge.sent) == (422, True, [])
    assert 'name="typed" type="text" value="1"' in refused.text
    deleted = await pages.submit(page, "Delete permanently", to="/facts", typed="#1")
    assert (deleted.headers["location"], forge.sent) == (f"/ann/demo/{place}", [("DELETE", FACTS, {})])
    forge.answers[HOME]["permissions"]["admin"] = False
    assert "Delete permanently" not in (await pages.get(page, ANN)).text
    forbidden = {"token": pages.form_token(ANN, at=time.time()), "do": "delete", "typed": "1"}
    assert (await pages.post(page, forbidden, ANN)).status_code == 403
    assert len(forge.sent) == 1
