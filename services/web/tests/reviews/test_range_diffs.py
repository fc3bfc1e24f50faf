"""The page that compares two heads of a pull request, and the ways to it."""

from datetime import UTC, datetime
from html import unescape

import pytest

from ingot_contracts.issues.head_comparisons import HeadComparison, HeadVersion
from ingot_contracts.repos.range_diffs import CommitPair, RangeDiff
from ingot_web.reviews.rules.range_diffs import difference_html, totals

from ..forge import ANN_USER, HOME, MOMENT, issue, pull

OLD, NEW, OTHER = "2" * 40, "1" * 40, "3" * 40  # the head of the pull request is NEW
PAGE = "/ann/demo/pulls/1/range-diff"
PATH = f"/internal{HOME}/pulls/1/range-diff"
BOTH = f"?old={OLD}&new={NEW}"
PUSH_TIME = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
HEADS = [HeadVersion(sha=OLD), HeadVersion(sha=NEW, created_at=PUSH_TIME)]
PAIRS = [
    CommitPair(state="unchanged", old="4" * 40, new="4" * 40, title="same"),
    CommitPair(state="changed", old=OLD, new=NEW, title="<b>bold", difference="@@ f\n  1\n -2\n-+<two>\n++3"),
    CommitPair(state="dropped", old="5" * 40, title="away"),
    CommitPair(state="added", new="6" * 40, title=""),
]


@pytest.fixture
def forge(forge):
    forge.answers[f"{HOME}/pulls/1"] = pull()
    forge.internal[f"GET {PATH}"] = HeadComparison(heads=HEADS, comparison=RangeDiff(pairs=PAIRS))
    return forge


def push_event(**more):
    event = {
        "id": 3, "type": "pull_push", "body": "", "user": ANN_USER, "created_at": MOMENT, "review_id": 0,
        "ref_commit_sha": "", "ref_issue": None, "old_ref": OLD, "new_ref": NEW,
    }  # fmt: skip
    return event | more


async def test_commits_are_marked_and_differences_are_unfolded(pages):
    shown = (await pages.get(PAGE + BOTH)).text
    for badge, title in (("", "same"), ("merged", "&lt;b&gt;bold"), ("bad", "away"), ("good", "No title")):
        assert f'<span class="badge {badge}">' in shown
        assert f'">{title}<' in shown
    assert "1 unchanged, 1 changed, 1 added, 1 dropped" in shown
    assert '<details class="difference" open>' in shown
    assert '<span class="del">-+&lt;two&gt;\n</span><span class="add">++3\n</span>' in shown
    assert shown.count('<details class="difference"') == 1
    assert "2222222222 → 1111111111" in shown


async def test_only_commits_of_the_present_head_are_links(pages, forge):
    shown = (await pages.get(PAGE + BOTH)).text
    assert {one for one in "123456" if f'/commit/{one * 40}"' in shown} == {"1", "4", "6"}
    forge.answers[f"{HOME}/pulls/1"] = pull(head=pull()["head"] | {"sha": OTHER})
    assert "/ann/demo/commit/" not in (await pages.get(PAGE + BOTH)).text


async def test_the_form_offers_the_heads_and_has_the_compared_ones(pages, forge):
    shown = (await pages.get(PAGE + BOTH)).text
    assert f'<option value="{NEW}">1111111111, 2026-01-02 03:04 UTC, present head</option>' in shown
    assert shown.count(f'<option value="{OLD}" selected>2222222222</option>') == 1
    assert shown.count(f'<option value="{NEW}" selected>') == 1
    assert '<label for="old">Before</label>' in shown
    forge.internal[f"GET {PATH}"] = HeadComparison(heads=[HeadVersion(sha=OTHER), *HEADS])
    empty = (await pages.get(PAGE)).text
    assert (empty.count(f'"{OLD}" selected'), empty.count(f'"{NEW}" selected')) == (1, 1)
    assert 'id="pairs"' not in empty


async def test_a_head_that_was_deleted_is_named(pages, forge):
    forge.internal[f"GET {PATH}"] = HeadComparison(heads=HEADS, comparison=RangeDiff(missing=OLD))
    shown = (await pages.get(PAGE + BOTH)).text
    assert "<code>2222222222</code> no longer exists" in shown
    assert 'id="pairs"' not in shown


async def test_without_pushes_and_without_commits_the_page_says_so(pages, forge):
    forge.internal[f"GET {PATH}"] = HeadComparison(heads=HEADS[1:])
    shown = (await pages.get(PAGE)).text
    assert ("has not changed yet" in shown, "<select" in shown) == (True, False)
    forge.internal[f"GET {PATH}"] = HeadComparison(heads=HEADS, comparison=RangeDiff())
    assert "Neither head has commits" in (await pages.get(PAGE + BOTH)).text


@pytest.mark.parametrize("status", [404, 413, 503])
async def test_a_refusal_is_shown_with_the_heads_to_choose_from(pages, forge, status):
    forge.refusals[PATH + BOTH] = (status, b'{"message": "too many commits", "url": ""}')
    forge.internal[f"GET {PATH}"] = HeadComparison(heads=HEADS)
    answer = await pages.get(PAGE + BOTH)
    assert answer.status_code == status
    assert ('role="alert"' in answer.text, answer.text.count("<select")) == (True, 2)
    reason = "these heads could not be compared in time" if status == 503 else "too many commits"
    assert reason in answer.text
    forge.failures[PATH] = 404
    assert (await pages.get(PAGE + BOTH)).status_code == status


async def test_an_older_release_of_issues_and_a_missing_pull_request(pages, forge):
    del forge.internal[f"GET {PATH}"]
    assert (await pages.get(PAGE)).status_code == 404
    forge.failures[f"{HOME}/pulls/1"] = 404
    assert (await pages.get(PAGE + BOTH)).status_code == 404


async def test_values_of_the_query_are_only_values(pages, forge):
    answer = await pages.get(f'{PAGE}?old="><script>&new=%26x=1%23')
    assert "<script>" not in answer.text.partition("<main")[2]
    assert ("GET", PATH) in forge.calls


async def test_each_push_in_the_timeline_has_a_way_to_the_page(pages, forge):
    forge.answers[f"{HOME}/issues/1"] = issue(pull_request={"merged": False, "draft": False})
    forge.answers[f"{HOME}/issues/1/timeline"] = [push_event(), push_event(id=4, old_ref="", new_ref="")]
    shown = unescape((await pages.get("/ann/demo/pulls/1")).text)
    way = f'<a href="{PAGE}{BOTH}" aria-label="Compare 2222222222 with 1111111111">Compare</a>'
    assert (shown.count(way), shown.count(">Compare</a>"), shown.count("pushed commits")) == (1, 1, 2)


def test_lines_have_the_class_of_their_first_sign():
    assert str(difference_html("@@ a\n +1\n")) == (
        '<span class="">@@ a\n</span><span class=""> +1\n</span><span class="">\n</span>'
    )
    assert totals([]) == ""
