"""Issues as they are edited on pages."""

import re
import time
from html import unescape
from xml.etree import ElementTree as ET

import pytest

from ..forge import ANN_USER, HOME, MOMENT, issue
from ..previews.test_previews import COMMENTS, IN_PLACE, is_part, send_in_place
from ..test_forms import HEAD
from ..world import ANN


async def test_an_edited_issue_keeps_what_nobody_changed(pages, forge):
    answer = await pages.submit("/ann/demo/issues/1", "Save", to="/issues/1/edit", title="New")

    assert answer.status_code == 303
    change = {"title": "New", "body": "first\nsecond", "content_version": 0}
    assert forge.sent == [("PATCH", f"{HOME}/issues/1", change)]


@pytest.mark.parametrize("in_place", [False, True])
async def test_an_edit_of_a_text_that_somebody_changed_meanwhile_is_kept_and_not_sent(pages, forge, in_place):
    forge.answers[f"{HOME}/issues/1"] = issue(content_version=7)
    page = "/ann/demo/issues/1"
    await pages.submit(page, "Save", to="/issues/1/edit", body="mine")
    assert forge.sent == [
        ("PATCH", f"{HOME}/issues/1", {"title": "Old", "body": "mine", "content_version": 7})
    ]
    forge.refusals[f"{HOME}/issues/1"] = (
        409,
        b'{"message": "the text has content_version 8, not 7", "url": ""}',
    )
    if in_place:
        refused = await send_in_place(pages, f"{page}/edit", shown=page, version="7")
    else:
        refused = await pages.submit(page, "Save", to="/issues/1/edit", body="mine too")
        assert re.search(r"<textarea[^>]*>\s*mine too</textarea>", refused.text)
    assert (refused.status_code, "omebody changed the text meanwhile" in refused.text) == (409, True)
    assert "content_version" not in refused.text


def _files(count):
    return [("files", (f"{n}].txt", b"night", "text/plain")) for n in range(count)]


async def _send(pages, path, *, count, **fields):
    fields["token"] = pages.form_token(ANN, at=time.time())
    return await pages.client.post(path, data=fields, files=_files(count), headers=pages.callers.headers(ANN))


async def test_an_issue_whose_files_are_refused_is_there_once_and_shown(pages, forge):
    forge.answers |= {
        f"POST {HOME}/issues": issue(number=1, body="why"),
        f"POST {HOME}/issues/comments/9/assets": {"name": "a].txt", "browser_download_url": "/a"},
        f"POST {HOME}/issues/1/comments": {"id": 9, "body": "see"},
    }
    for status, words in ((404, "files are not kept on this site"), (413, "not all of its files: refused")):
        forge.failures[f"{HOME}/issues/1/assets"] = status
        answer = await _send(pages, "/ann/demo/issues/new", count=2, title="T", body="why")
        assert answer.status_code == 422
        assert words in answer.text
        assert "#1</span>" in answer.text
    assert [path for _, path, _ in forge.sent] == [f"{HOME}/issues", f"{HOME}/issues/1/assets"] * 2

    forge.sent.clear()
    for path in ("/ann/demo/issues/new", "/ann/demo/issues/1/comments"):
        assert (await _send(pages, path, count=11, title="T", body="see")).status_code == 422
    assert not forge.sent
    assert (await _send(pages, "/ann/demo/issues/1/comments", count=1, body="see")).status_code == 303
    assert forge.sent[-1] == ("PATCH", f"{HOME}/issues/comments/9", {"body": "see\n\n[a\\].txt](/a)"})


async def test_a_preview_says_that_files_are_to_be_chosen_again(pages):
    preview = await _send(pages, "/ann/demo/issues/new", count=1, title="T", body="why", preview="1")

    assert "Choose these files again, they were not sent" in preview.text
    assert 'enctype="multipart/form-data"' in preview.text


async def test_a_feed_leaves_out_what_xml_cannot_hold(pages, forge):
    forge.answers[f"{HOME}/issues"] = [issue(title="a\x0bb\x00\x1b", body="\ufffe<i>")]
    (title, content) = ET.fromstring((await pages.get("/ann/demo/issues.atom")).text).findall("{*}entry/*")[
        ::5
    ]

    assert (title.text, content.text) == ("ab", "<i>")


async def test_a_feed_is_as_new_as_its_newest_entry(pages, forge):
    newest = "2026-01-02T23:00:00-02:00"
    times = ("2026-01-02T03:04:05Z", newest, "2026-01-03T00:59:59Z")
    for path, shown in ((times, newest), ((), "1970-01-01T00:00:00Z")):
        forge.answers[f"{HOME}/issues"] = [issue(updated_at=time) for time in path]
        feed = ET.fromstring((await pages.get("/ann/demo/issues.atom")).text)
        assert feed.findtext("{*}updated") == shown


async def test_a_comment_is_added_to_its_thread_and_the_form_is_empty_again(pages, forge):
    said = {"id": 7, "user": ANN_USER, "body": "*words*", "created_at": MOMENT}
    forge.answers |= {f"POST {HOME}/issues/1/comments": said, f"{HOME}/issues/comments/7": said}
    answer = await send_in_place(pages, COMMENTS)
    assert (answer.status_code, is_part(answer)) == (200, True)
    assert (answer.headers["hx-retarget"], answer.headers["hx-reswap"]) == ("this", "outerHTML")
    form, _, entry = answer.text.partition('<ul hx-swap-oob="beforeend:#thread">')
    assert 'id="issuecomment-7"' in entry
    assert "<p>*words*</p>" in entry
    assert "*words*" not in form
    assert [target for _, target, _ in forge.sent] == [f"{HOME}/issues/1/comments"]
    assert 'id="thread"' in (await pages.get("/ann/demo/issues/1", ANN)).text


async def test_a_comment_whose_file_is_refused_is_added_and_the_form_says_so(pages, forge):
    said = {"id": 7, "user": ANN_USER, "body": "*words*", "created_at": MOMENT}
    forge.answers |= {f"POST {HOME}/issues/1/comments": said, f"{HOME}/issues/comments/7": said}
    forge.failures[f"{HOME}/issues/comments/7/assets"] = 413
    answer = await pages.client.post(
        COMMENTS,
        data={"body": "*words*", "token": pages.form_token(ANN, at=time.time())},
        files=[("files", ("a.txt", b"night", "text/plain"))],
        headers=pages.callers.headers(ANN) | IN_PLACE,
    )
    assert (answer.status_code, is_part(answer)) == (422, True)
    for words in ('id="issuecomment-7"', "not all of its files"):
        assert words in answer.text


async def test_a_title_that_was_changed_is_on_the_page_again(pages, forge):
    forge.answers[f"PATCH {HOME}/issues/1"] = issue(title="New")
    answer = await send_in_place(pages, "/ann/demo/issues/1/edit", shown="/ann/demo/issues/1")
    assert (answer.status_code, answer.headers["hx-redirect"]) == (204, "/ann/demo/issues/1")


def timeline(count):
    event = {
        "type": "comment", "review_id": 0, "user": ANN_USER, "body": "x", "created_at": MOMENT,
        "ref_commit_sha": "", "ref_issue": None,
    }  # fmt: skip
    return [event | {"id": number} for number in range(1, count + 1)]


@pytest.mark.parametrize(("count", "place"), [(50, "#issuecomment-50"), (51, "?page=2#issuecomment-51")])
async def test_a_new_comment_leads_to_the_page_of_the_timeline_that_shows_it(pages, forge, count, place):
    forge.answers |= {
        f"POST {HOME}/issues/1/comments": {"id": count, "body": "x"},
        f"{HOME}/issues/1/timeline": timeline(count),
    }
    for button in ("Comment", "Close"):
        answer = await pages.submit("/ann/demo/issues/1", button, to="/comments", body="x")
        assert answer.headers["location"] == f"/ann/demo/issues/1{place}"
    shown = await pages.get(f"/ann/demo/issues/1{place}", ANN)
    assert f'id="issuecomment-{count}"' in shown.text
    assert ('rel="prev" href="/ann/demo/issues/1?page=1"' in shown.text) == (count > 50)


@pytest.mark.parametrize("is_pull", [False, True])
async def test_an_anchor_of_another_page_of_the_timeline_is_a_link_to_its_entry(pages, forge, is_pull):
    """The part of an address behind # is not sent, so each page has the anchors of the others."""
    pull = {"merged": False, "draft": False} if is_pull else None
    one = issue(pull_request=pull, base={"ref": "main"}, head=HEAD, merged=False, mergeable=True)
    forge.answers |= {f"{HOME}/pulls/1": one, f"{HOME}/issues/1": one} if is_pull else {}
    forge.answers |= {
        f"{HOME}/issues/1/timeline": timeline(51),
        f"{HOME}/issues/1/timeline/ids": [*range(1, 52)],
    }
    page = "/ann/demo/pulls/1" if is_pull else "/ann/demo/issues/1"
    link = '<a id=issuecomment-{0} href="/ann/demo/issues/comments/{0}"></a>'
    for number, others in ((1, [51]), (2, [*range(1, 51)])):
        shown = (await pages.get(f"{page}?page={number}")).text
        assert "".join(link.format(other) for other in others) in shown
        assert sorted(int(n) for n in re.findall(r'id="?issuecomment-(\d+)', shown)) == [*range(1, 52)]
    forge.answers[f"{HOME}/issues/1/timeline"] = timeline(50)
    forge.read_paths.clear()
    assert 'class="other-pages"' not in (await pages.get(page)).text
    assert f"{HOME}/issues/1/timeline/ids" not in forge.read_paths


@pytest.mark.parametrize("number", [1, 2])
async def test_the_page_is_the_same_while_issues_runs_an_older_release(pages, forge, number):
    forge.answers |= {
        f"{HOME}/issues/1/timeline": timeline(51),
        f"{HOME}/issues/1/reactions/counts": [
            {"comment_id": None, "content": "heart", "count": 2, "own": True}
        ],
        f"{HOME}/issues/1/dependencies": [issue(number=7, title="Blocker")],
        f"{HOME}/issues/1/blocks": [issue(number=8, title="Blocked")],
    }
    present = (await pages.get(f"/ann/demo/issues/1?page={number}")).text
    assert f"{HOME}/issues/1/dependencies" not in forge.read_paths
    forge.failures[f"/internal{HOME}/issues/1/conversation"] = 404
    assert (await pages.get(f"/ann/demo/issues/1?page={number}")).text == present
    assert f"{HOME}/issues/1/dependencies" in forge.read_paths
    assert {"Blocker", "Blocked"} <= set(re.findall("Blocke[rd]", present))


async def test_a_new_comment_is_not_added_below_another_page_of_the_timeline(pages, forge):
    comment = timeline(51)[-1]
    forge.answers |= {
        f"POST {HOME}/issues/1/comments": comment,
        f"{HOME}/issues/comments/51": comment,
        f"{HOME}/issues/1/timeline": timeline(51),
    }
    below_the_first = await send_in_place(pages, COMMENTS, shown="/ann/demo/issues/1")
    assert below_the_first.headers["hx-redirect"] == "/ann/demo/issues/1?page=2#issuecomment-51"
    below_the_last = await send_in_place(pages, COMMENTS, shown="/ann/demo/issues/1?page=2")
    assert (below_the_last.status_code, is_part(below_the_last)) == (200, True)


async def test_the_page_of_a_timeline_is_the_same_at_the_address_of_a_pull_request(pages, forge):
    forge.answers[f"{HOME}/issues/1"] = issue(pull_request={"merged": False, "draft": False})
    assert (await pages.get("/ann/demo/issues/1?page=2", ANN)).headers[
        "location"
    ] == "/ann/demo/pulls/1?page=2"


@pytest.mark.parametrize(
    "page", ["/ann/demo/issues", "/ann/demo/pulls", "/ann/demo/issues/new", "/ann/demo/issues/1/labels"]
)
async def test_labels_of_the_organization_are_chosen_like_those_of_the_repository(pages, forge, page):
    """On every page that has a choice of labels, also of more than one page of them."""

    def labels(first, count):
        return [
            {"id": n, "name": f"label-{n}", "color": "ffffff", "description": ""}
            for n in range(first, first + count)
        ]

    forge.answers |= {f"{HOME}/labels": labels(100, 70), "/orgs/ann/labels": labels(300, 120)}
    shown = (await pages.get(page, ANN)).text
    assert [n for n in (100, 169, 300, 419) if f"label-{n}</" in shown] == [100, 169, 300, 419]
    forge.failures["/orgs/ann/labels"] = 404
    shown = (await pages.get(page, ANN)).text
    assert ("label-169<" in shown, "label-300<" in shown) == (True, False)


@pytest.mark.parametrize("kind", ["issues", "pulls"])
async def test_what_is_pinned_stands_above_the_list_that_is_shown_first(pages, forge, kind):
    one = issue(number=7, title="Read me", pull_request=None, merged=False)
    forge.answers[f"{HOME}/{kind}/pinned"] = [one]
    page = f"/ann/demo/{kind}"
    shown = (await pages.get(page)).text
    assert shown.index("<h2>Pinned</h2>") < shown.index("Read me") < shown.index('class="box filters"')
    assert ('class="badge open"' in shown.partition('class="box filters"')[0]) is True
    for query in ("?state=closed", "?q=x", "?labels=bug", "?page=2"):
        assert "Pinned" not in (await pages.get(page + query)).text, query
    forge.failures[f"{HOME}/{kind}/pinned"] = 404
    assert (await pages.get(page)).status_code == 200


async def test_issues_are_those_of_somebody_in_the_order_that_the_address_says(pages, forge):
    page = "/ann/demo/issues?poster=bob&assignee=carl&sort=oldest&labels=bug"
    forge.answers[f"{HOME}/issues"] = [issue(number=n, comments=0) for n in range(1, 22)]
    shown = (await pages.get(page, ANN)).text
    query = forge.queries[f"{HOME}/issues"]
    assert [part in query for part in ("created_by=bob", "assigned_by=carl", "sort=oldest")] == [True] * 3
    for link in (
        "state=open&amp;labels=bug&amp;assignee=carl&amp;poster=ann&amp;sort=oldest",
        "state=open&amp;labels=bug&amp;poster=bob&amp;sort=oldest",
        "state=open&amp;labels=bug&amp;assignee=carl&amp;poster=bob&amp;sort=mostcomment",
    ):
        assert f'href="?{link}"' in shown
    next_page = re.search(r'rel="next" href="(.*?)"', shown)[1]
    assert sorted(next_page[1:].split("&amp;")) == [
        "assignee=carl",
        "labels=bug",
        "page=2",
        "poster=bob",
        "sort=oldest",
    ]
    for words in ("Author: bob", "Assignee: carl", "Label: bug", "Order: Oldest"):
        assert f'<summary class="button quiet">{words}<' in shown
    assert 'href="?state=open">Clear filters</a>' in shown
    milestone = (await pages.get("/ann/demo/issues?milestone=Next+year&sort=other&state=all", ANN)).text
    assert '<summary class="button quiet">Milestone: Next year<' in milestone
    assert ("Order<" in milestone, 'href="?state=all" rel="nofollow">Clear' in milestone) == (True, True)
    assert "Clear filters" not in (await pages.get("/ann/demo/issues?state=closed", ANN)).text


async def test_an_issue_that_is_refused_keeps_its_labels_and_milestone(pages, forge):
    forge.answers[f"{HOME}/labels"] = [
        {"id": number, "name": f"l{number}", "color": "ff0000", "description": ""} for number in (1, 2)
    ]
    forge.answers[f"{HOME}/milestones"] = [{"id": 7, "title": "Next"}]
    forge.refuses = 422
    chosen = {"title": "It leaks", "labels": "2", "milestone": "7"}
    refused = (await pages.submit("/ann/demo/issues/new", "Create issue", to="/issues/new", **chosen)).text
    assert [f'value="{number}" checked' in refused for number in (1, 2)] == [False, True]
    assert 'name="milestone" value="7" checked' in refused


async def test_somebody_who_has_not_signed_in_finds_where_an_issue_is_opened(pages, forge):
    link = 'href="/login?to=/ann/demo/issues/new" rel="nofollow">Sign in to open an issue</a>'
    shown = (await pages.get("/ann/demo/issues")).text
    assert (link in shown, 'href="/ann/demo/issues/new"' in shown) == (True, False)
    assert 'href="/ann/demo/issues/new">New issue</a>' in (await pages.get("/ann/demo/issues", ANN)).text
    answer = await pages.get("/ann/demo/issues/new")
    assert (answer.status_code, "/login?to=/ann/demo/issues/new" in answer.text) == (401, True)
    forge.answers[HOME] |= {"archived": True}
    assert "/issues/new" not in (await pages.get("/ann/demo/issues")).text


async def test_somebody_who_has_not_signed_in_finds_where_a_pull_request_is_opened(pages, forge):
    link = 'href="/ann/demo/compare" rel="nofollow">New pull request</a>'
    assert link in (await pages.get("/ann/demo/pulls")).text
    compare = (await pages.get("/ann/demo/compare")).text
    assert '<a href="/login?to=/ann/demo/compare">Sign in</a> to open a pull request.' in compare
    assert 'href="/ann/demo/compare">New pull request</a>' in (await pages.get("/ann/demo/pulls", ANN)).text
    assert "to open a pull request." not in (await pages.get("/ann/demo/compare", ANN)).text
    forge.answers[HOME] |= {"archived": True}
    assert "New pull request" not in (await pages.get("/ann/demo/pulls")).text
    assert "to open a pull request." not in (await pages.get("/ann/demo/compare")).text


async def test_a_reply_quotes_a_comment_of_the_page(pages, forge):
    entry = {
        "id": 5, "type": "comment", "review_id": 0, "user": ANN_USER, "body": "one <b>\n\n  two\n",
        "created_at": MOMENT, "ref_commit_sha": "", "ref_issue": None,
    }  # fmt: skip
    forge.answers[f"{HOME}/issues/1/timeline"] = [entry]
    page = "/ann/demo/issues/1"
    shown = (await pages.get(page, ANN)).text
    assert ('href="?quote=5#body"' in shown, 'href="?quote=0#body"' in shown) == (True, True)
    quotes = {"5": "> one <b>\n>\n>   two\n\n", "0": "> first\n> second\n\n", "77": "", "x": ""}
    for number, quote in quotes.items():
        shown = (await pages.get(f"{page}?quote={number}", ANN)).text
        field = re.search(r'<textarea id="body" name="body" rows="5"([^>]*)>\n([^<]*)</textarea>', shown)
        assert (unescape(field[2]), "autofocus" in field[1]) == (quote, bool(quote)), number
    assert "?quote=" not in (await pages.get(page)).text
