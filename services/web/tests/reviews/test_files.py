"""Reviews as they are written on pages."""

import re
import time
from html import escape
from urllib.parse import urlencode

import msgspec
import pytest

from ingot_contracts.rendering import MOST_TEXTS
from ingot_contracts.testing.forms import form_of
from ingot_web.diffs.rules.parsing import LINES

from ..diffs.test_parsing import CHANGED
from ..forge import ANN_USER, HOME, MOMENT, issue
from ..history.test_commits import COMPARED, DROPPED
from ..issues.test_conversations import timeline
from ..previews.test_previews import IN_PLACE, is_part, send_in_place
from ..test_forms import ANSWERS
from ..world import ANN, BOB

PULL = f"{HOME}/pulls/1"
SHOWN = {"commit_id": "1" * 40, "base_branch": "main", "merge_base": "0" * 40}
OF_SHOWN = urlencode(SHOWN)


@pytest.fixture
def forge(forge):
    forge.answers[f"{HOME}/issues/1"] = pull = issue(
        pull_request={"merged": False, "draft": False},
        base={"ref": "main"},
        head={"ref": "topic", "repo": None, "sha": "1" * 40},
        merged=False,
        mergeable=True,
        merge_base="0" * 40,
    )
    forge.answers |= {PULL: pull, f"{PULL}.diff": CHANGED.encode(), f"POST {PULL}/reviews": {"id": 7}}
    return forge


def _review(number, state, *, comments=1):
    return {"id": number, "state": state, "body": "", "comments_count": comments, "user": ANN_USER,
            "stale": False,
            "dismissed": False, "submitted_at": MOMENT}  # fmt: skip


async def test_more_than_20_changed_files_have_pages(pages, forge):
    forge.totals[f"{PULL}.diff"] = 300
    shown = (await pages.get("/ann/demo/pulls/1/files?style=split")).text
    assert forge.queries[f"{PULL}.diff"] == f"page=1&files=20&{OF_SHOWN}"
    more = f"?style=split&{OF_SHOWN}&page=2"
    assert ("300 files changed" in shown, f'href="{escape(more)}"' in shown) == (True, True)
    part = await pages.client.get(f"/ann/demo/pulls/1/files{more}", headers=IN_PLACE)
    assert (is_part(part), 'class="code diff split"' in part.text) == (True, True)
    assert forge.queries[f"{PULL}.diff"] == f"page=2&files=20&{OF_SHOWN}"


@pytest.mark.parametrize(
    ("part", "position", "calls"),
    [
        ("page=2", "21R4", "page=2&files=20"),
        ("file=7", "7R4", "page=7&files=1"),
        ("file=7&page=2", f"7R{LINES + 3}", "page=7&files=1"),
    ],
)
async def test_a_comment_on_a_line_of_another_page_of_the_changes_leads_back_to_it(
    pages, forge, part, position, calls
):
    forge.totals[f"{PULL}.diff"] = 300
    if part != "page=2":
        forge.answers[f"{PULL}.diff"] = (CHANGED + " x\n" * LINES).encode()
    page = f"/ann/demo/pulls/1/files?style=split&{part}"
    shown = (await pages.get(page, ANN)).text
    own = page.replace("&", "&amp;").removeprefix("/ann/demo/pulls/1/files")
    assert f'href="{own}&amp;{escape(OF_SHOWN)}&amp;at={position}#body"' in shown
    assert forge.queries[f"{PULL}.diff"] == f"{calls}&{OF_SHOWN}"
    answer = await pages.submit(f"{page}&at={position}", "Comment now", to="/pulls/1/comments", body="so")
    assert answer.headers["location"] == f"{page}&{OF_SHOWN}"
    comment = forge.sent[0][2]["comments"][0]
    assert (comment["path"], comment["new_position"]) == ("src/a.py", int(position.partition("R")[2]))


@pytest.mark.parametrize(
    "back",
    [
        "files/x",
        "files/1/2/3/4",
        "files/-1/0",
        "files//",
        "files/" + "9" * 5000,
        "files/1/2/3/" + "1" * 40 + "/x/main",
    ],
)
async def test_a_form_leads_to_no_page_that_its_sender_made_up(pages, forge, back):
    form = {"token": pages.form_token(ANN, at=time.time()), "body": "so", "back": back}
    answer = await pages.post("/ann/demo/pulls/1/comments", form, ANN)
    assert re.fullmatch(
        r"/ann/demo/pulls/1/files\?style=unified(&file=1&page=2&w=1)?", answer.headers["location"]
    )


@pytest.mark.parametrize(
    ("page", "path"),
    [
        (f"commit/{'1' * 40}", f"git/commits/{'1' * 40}.diff"),
        ("compare/main...topic", "compare/main...topic"),
        ("pulls/1/files", "pulls/1.diff"),
    ],
)
async def test_changes_of_white_space_are_hidden_on_demand(pages, forge, page, path):
    spaced = f"diff --git a/spaced b/spaced\n{CHANGED}"
    forge.answers |= {f"{HOME}/git/commits/{'1' * 40}": DROPPED, f"{HOME}/compare/main...topic": COMPARED}
    diff = f"{HOME}/{path}{'?output=diff' if 'compare' in path else ''}"
    forge.answers[diff] = spaced.encode()
    query, target = ("style=split&", f"&{OF_SHOWN}") if "pulls" in page else ("", "")
    shown = (await pages.get(f"/ann/demo/{page}?{query}file=7", ANN)).text
    assert "whitespace" not in forge.queries[diff]
    link = re.search(r'href="([^"]*)">Hide white space changes<', shown)[1].replace("&amp;", "&")
    assert link == f"?{query}w=1&file=7{target}"
    hidden = (await pages.get(f"/ann/demo/{page}{link}", ANN)).text
    assert "&whitespace=ignore-all" in forge.queries[diff]
    assert ("Only white space changed." in hidden, "Only white space" in shown) == (True, False)
    assert f'href="?{query}w=1{target}">All changed files<'.replace("&", "&amp;") in hidden
    assert f'href="?{query}file=7{target}">Show white space changes<'.replace("&", "&amp;") in hidden


async def test_a_comment_leads_back_to_changes_without_those_of_white_space(pages, forge):
    page = "/ann/demo/pulls/1/files?style=unified&w=1"
    assert 'href="?style=split&amp;w=1"' in (await pages.get(page, ANN)).text
    answer = await pages.submit(f"{page}&at=1R4", "Comment now", to="/pulls/1/comments", body="so")
    assert answer.headers["location"] == page


async def test_changes_have_the_colours_of_code_and_marks_on_what_differs(pages, forge):
    forge.answers[f"{PULL}.diff"] = CHANGED.replace("-old", "-x = 1").replace("+new", "+x = 2").encode()
    for style in ("unified", "split"):
        shown = (await pages.get(f"/ann/demo/pulls/1/files?style={style}")).text
        assert 'x = <mark><span class="m">1</span></mark></td>' in shown
        assert 'x = <mark><span class="m">2</span></mark></td>' in shown


async def test_a_review_is_sent_with_its_words(pages, forge):
    await pages.submit(
        "/ann/demo/pulls/1/files",
        "Submit review",
        to="/pulls/1/reviews",
        body="Good",
        event="APPROVED",
        caller=BOB,
    )

    body = {"event": "APPROVED", "body": "Good"} | SHOWN
    assert forge.sent == [("POST", f"{PULL}/reviews", body)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"head": {"ref": "topic", "repo": None, "sha": "2" * 40}},
            "The head was 1111111111 and is now 2222222222",
        ),
        ({"base": {"ref": "production"}}, "It went into main and goes now into production"),
        ({"merge_base": "3" * 40}, "other changes are left"),
    ],
)
async def test_a_review_of_other_changes_than_the_present_ones_is_asked_about(pages, forge, change, words):
    shown = (await pages.get("/ann/demo/pulls/1/files", BOB)).text
    forge.answers[PULL].update(change)
    send = {"to": "/pulls/1/reviews", "caller": BOB}
    text = {"body": "Good & safe", "event": "APPROVED"}
    answer = await pages.submit(shown, "Submit review", **send, **text)
    assert (forge.sent, words in answer.text, "Good &amp; safe" in answer.text) == ([], True, True)
    assert 'href="/ann/demo/pulls/1/files"' in answer.text
    await pages.submit(answer.text, "Submit review", **send)
    [(_, _, body)] = forge.sent
    assert (body["event"], body["body"]) == ("APPROVED", "Good & safe")
    present = forge.answers[PULL]
    assert (body["commit_id"], body["base_branch"]) == (present["head"]["sha"], present["base"]["ref"])
    assert body["merge_base"] == present["merge_base"]


async def test_a_review_in_place_is_sent_again_for_what_it_was_asked_about(pages, forge):
    forge.answers[PULL].update(merge_base="3" * 40)
    form = {"token": pages.form_token(BOB, at=time.time()), "body": "Good", "event": "APPROVED"} | SHOWN
    answer = await pages.post("/ann/demo/pulls/1/reviews", form, BOB, **IN_PLACE)
    assert (answer.status_code, is_part(answer), forge.sent) == (409, True, [])
    assert f'<input type="hidden" name="merge_base" value="{"3" * 40}">' in answer.text


async def test_a_review_that_names_no_commit_is_asked_about(pages, forge):
    form = {"token": pages.form_token(BOB, at=time.time()), "body": "Good", "event": "APPROVED"}
    answer = await pages.post("/ann/demo/pulls/1/reviews", form, BOB)
    assert (forge.sent, "does not say of which commit" in answer.text) == ([], True)


async def test_a_comment_on_a_line_is_of_the_commit_that_was_shown(pages, forge):
    shown = (await pages.get("/ann/demo/pulls/1/files?at=1R4", ANN)).text
    forge.answers[PULL].update(head={"ref": "topic", "repo": None, "sha": "2" * 40})
    await pages.submit(shown, "Comment now", to="/pulls/1/comments", body="so")
    assert forge.sent[0][2] == forge.sent[0][2] | SHOWN


async def test_a_review_with_words_says_its_verdict_at_its_place(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [_review(7, "APPROVED", comments=0)]
    event = {
        "id": 3,
        "type": "review",
        "review_id": 7,
        "user": ANN_USER,
        "body": "Good",
        "created_at": MOMENT,
    }
    forge.answers[f"{HOME}/issues/1/timeline"] = [event]

    page = (await pages.get("/ann/demo/pulls/1")).text
    assert '<span id="pullrequestreview-7">approved the changes</span> <time' in page


async def test_the_preview_of_a_comment_does_not_send_the_review_that_is_being_written(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [_review(7, "PENDING", comments=0)]
    page = "/ann/demo/pulls/1/files?at=1R4"
    shown = await pages.submit(page, "Preview", to="/pulls/1/comments", body="Why?", caller=BOB)

    assert "Comment now" not in shown.text
    await pages.submit(shown.text, "Add to review", to="/pulls/1/comments", caller=BOB)
    comment = {"path": "src/a.py", "body": "Why?", "new_position": 4}
    assert forge.sent == [("POST", f"{PULL}/reviews", {"event": "PENDING", "comments": [comment]} | SHOWN)]

    forge.answers[f"{PULL}/reviews"] = []
    shown = await pages.submit(page, "Preview", to="/pulls/1/comments", body="Why?", caller=BOB)
    assert "now" in form_of(shown.text, "/pulls/1/comments", "Comment now").buttons["Comment now"]


async def test_a_suggestion_of_the_line_comes_below_what_was_written(pages, forge):
    page, to = "/ann/demo/pulls/1/files?at=", "/pulls/1/comments"
    assert 'id="write"' not in (await pages.get(f"{page}1R4")).text
    draft = "```suggestion\nnew\n```"
    shown = await pages.submit(f"{page}1R4", "Suggest a change", to=to, body="So:\r\n")
    form = form_of(shown.text, to, "Comment now")
    assert form.values["body"] == [f"So:\n\n{draft}".replace("\n", "\r\n")]
    part = await send_in_place(pages, f"/ann/demo{to}", preview="suggest", draft=draft, body="")
    assert (is_part(part), part.headers["hx-retarget"]) == (True, "#body")
    assert f">\n{draft}</textarea>" in part.text
    assert forge.sent == []


async def test_no_suggestion_is_offered_for_a_line_that_cannot_be_written(pages, forge):
    for diff, at in ((CHANGED.encode().replace(b"new", b"n\xe4w"), "1R4"), (CHANGED.encode(), "1L4")):
        forge.answers[f"{PULL}.diff"] = diff
        shown = (await pages.get(f"/ann/demo/pulls/1/files?at={at}", ANN)).text
        form = shown.partition('id="write"')[2].partition("</form>")[0]
        assert ("Comment on line 4" in form, "uggest" in form) == (True, False)


@pytest.mark.parametrize("button", ["Comment now", "Start review"])
async def test_a_comment_leads_back_to_itself(pages, forge, button):
    forge.answers[f"{PULL}/reviews/7/comments"] = [_comment(5, 7), _comment(9, 7), _comment(8, 7)]
    page = "/ann/demo/pulls/1/files?style=unified"
    answer = await pages.submit(f"{page}&at=1R4", button, to="/pulls/1/comments", body="so")
    assert answer.headers["location"] == f"{page}#pullrequestreviewcomment-9"
    forge.failures[f"{PULL}/reviews/7/comments"] = 503
    answer = await pages.submit(f"{page}&at=1R4", button, to="/pulls/1/comments", body="again")
    assert answer.headers["location"] == page


async def test_what_is_said_to_lines_is_asked_for_once_and_said_to_be_cut(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [_review(number, "COMMENT") for number in range(1, 131)]
    forge.answers[f"{PULL}/comments"] = [_comment(number, number) for number in range(1, 61)]
    event = {"id": 3, "type": "review", "review_id": 3, "user": ANN_USER, "body": "",
             "created_at": MOMENT, "ref_commit_sha": ""}  # fmt: skip
    forge.answers[f"{HOME}/issues/1/timeline"] = [event]
    shown = await pages.get("/ann/demo/pulls/1/files")
    assert [path for path in forge.targets if "comments" in path] == []
    assert forge.targets.count(f"issues /internal{PULL}/reviews") == 1
    assert not [path for path in forge.read_paths if re.search(r"/reviews/\d+/comments", path)]
    assert shown.text.count('id="thread-') == 50
    assert "oldest comments on lines are not shown" in shown.text

    shown = await pages.get("/ann/demo/pulls/1")
    assert re.findall(r'id="thread-(\d+)', shown.text) == ["3"]


async def test_more_comments_than_are_rendered_at_once_are_shown(pages, forge):
    comments = [{**_comment(number, 1), "body": f"Why {number}?"} for number in range(MOST_TEXTS + 1)]
    forge.answers[f"{PULL}/comments"] = msgspec.json.encode(comments)
    shown = await pages.get("/ann/demo/pulls/1/files")
    assert shown.status_code == 200
    assert [int(number) for number in re.findall(r"<p>Why (\d+)\?</p>", shown.text)] == [
        *range(MOST_TEXTS + 1)
    ]


def _comment(number, review):
    return {"id": number, "path": "src/a.py", "position": 4, "original_position": 0, "diff_hunk": "@@",
            "user": ANN_USER,
            "pull_request_review_id": review, "resolver": None, "outdated": False, "body": "Why?",
            "created_at": MOMENT}  # fmt: skip


async def test_a_conversation_on_a_line_is_resolved_where_it_stands(pages, forge):
    forge.answers |= {f"{PULL}/reviews": [_review(7, "COMMENT")], f"{PULL}/comments": [_comment(5, 7)]}
    answer = await pages.submit("/ann/demo/pulls/1/files", "Resolve", to="/comments/5/resolve", caller=BOB)

    assert answer.headers["location"] == "/ann/demo/pulls/1/files?style=unified#thread-5"
    assert forge.sent == [("POST", f"{HOME}/pulls/comments/5/resolve", {})]


@pytest.mark.parametrize("page", ["/ann/demo/pulls/1", "/ann/demo/pulls/1/files"])
async def test_reviews_are_the_same_while_issues_runs_an_older_release(pages, forge, page):
    entry = timeline(1)[0] | {"type": "review", "review_id": 7, "body": ""}
    forge.answers |= ANSWERS | {
        f"{PULL}/reviews": [_review(7, "COMMENT")],
        f"{PULL}/comments": [_comment(5, 7)],
        f"{PULL}/merge/scheduled": {
            "user": ANN_USER, "do": "merge", "head_commit_id": "", "delete_branch_after_merge": True,
            "created_at": MOMENT,
        },
        f"{HOME}/issues/1/timeline": [entry],
    }  # fmt: skip
    present = (await pages.get(page)).text
    assert f"{HOME}/pulls/1/comments" not in forge.read_paths
    for part in ("issues/1/conversation", "pulls/1/reviews"):
        forge.failures[f"/internal{HOME}/{part}"] = 404
    assert (await pages.get(page)).text == present
    assert f"{HOME}/pulls/1/comments" in forge.read_paths
    assert 'id="pullrequestreviewcomment-5"' in present


async def test_a_conversation_on_a_later_page_of_a_timeline_is_resolved_there(pages, forge):
    forge.answers |= ANSWERS | {
        f"{PULL}/reviews": [_review(7, "COMMENT")],
        f"{PULL}/comments": [_comment(5, 7)],
    }
    entry = timeline(1)[0] | {"type": "review", "review_id": 7, "body": ""}
    forge.answers[f"{HOME}/issues/1/timeline"] = [*timeline(50), entry | {"id": 51}]
    answer = await pages.submit("/ann/demo/pulls/1?page=2", "Resolve", to="/comments/5/resolve", caller=BOB)

    assert answer.headers["location"] == "/ann/demo/pulls/1?page=2#thread-5"


async def test_a_reply_is_added_to_its_conversation(pages, forge):
    forge.answers |= ANSWERS | {f"{HOME}/pulls/1/reviews": [{"id": 7, "state": "COMMENT"}]}
    answer = await send_in_place(pages, "/ann/demo/pulls/1/comments/5/replies", back="files", style="split")
    assert (answer.status_code, is_part(answer)) == (200, True)
    assert (answer.headers["hx-retarget"], answer.headers["hx-reswap"]) == ("#thread-5", "outerHTML")
    assert '<details class="talking" id="thread-5" open>' in answer.text
    assert 'name="back" value="files"' in answer.text
    assert 'name="style" value="split"' in answer.text


def _with_file(pages, address, **fields):
    form = {"token": pages.form_token(ANN, at=time.time()), "body": "see", **fields}
    files = [("files", ("a.png", b"night", "image/png"))]
    return pages.client.post(address, data=form, files=files, headers=pages.callers.headers(ANN))


async def test_a_file_of_a_reply_is_linked_in_it(pages, forge):
    forge.answers[f"POST {HOME}/issues/1/assets"] = {"id": 7, "name": "a.png", "browser_download_url": "/a"}
    answer = await _with_file(pages, "/ann/demo/pulls/1/comments/5/replies", back="files")
    assert answer.status_code == 303
    replied = ("POST", f"{PULL}/comments/5/replies", {"body": "see\n\n![a.png](/a)"})
    assert forge.sent[1:] == [replied]


async def test_no_file_is_seen_before_the_review_is_sent(pages, forge):
    refused = await _with_file(pages, "/ann/demo/pulls/1/comments", path="a.py", line="1", do="add")
    assert (refused.status_code, forge.sent) == (422, [])
    assert "would be seen before the review is sent" in refused.text
    page = "/ann/demo/pulls/1/files?at=1R4"
    forge.answers |= {f"{PULL}/reviews": [_review(7, "COMMENT")], f"{PULL}/comments": [_comment(5, 7)]}
    assert (await pages.get(page, ANN)).text.count('name="files"') == 2
    forge.answers[f"{PULL}/reviews"] = [_review(7, "PENDING")]
    assert 'name="files"' not in (await pages.get(page, ANN)).text


@pytest.mark.parametrize(("caller", "offers"), [(ANN, 2), (BOB, 0)])
async def test_files_are_offered_to_who_may_add_them(pages, forge, caller, offers):
    """On the line, and below what is said there."""
    forge.answers[HOME] = forge.answers[HOME] | {"permissions": dict.fromkeys(("admin", "push"), False)}
    forge.answers |= {f"{PULL}/reviews": [_review(7, "COMMENT")], f"{PULL}/comments": [_comment(5, 7)]}
    shown = (await pages.get("/ann/demo/pulls/1/files?at=1R4", caller)).text
    assert form_of(shown, "/pulls/1/comments", "Comment now")
    assert shown.count('type="file"') == offers


@pytest.mark.parametrize("refused", [False, True])
async def test_a_file_of_a_comment_on_a_line_is_linked_in_it_or_is_not_left(pages, forge, refused):
    assets = f"{HOME}/issues/1/assets"
    forge.answers[f"POST {assets}"] = {"id": 7, "name": "a.png", "browser_download_url": "/a"}
    if refused:
        forge.refusals[f"{HOME}/pulls/1/reviews"] = 422, b'{"message": "no such line", "url": ""}'
    answer = await _with_file(pages, "/ann/demo/pulls/1/comments", path="a.py", line="1", do="now")
    assert answer.status_code == (422 if refused else 303)
    assert forge.sent[1][2]["comments"][0]["body"] == "see\n\n![a.png](/a)"
    assert forge.sent[2:] == ([("DELETE", f"{assets}/7", {})] if refused else [])


async def test_an_administrator_dismisses_a_review_and_lets_it_count_again(pages, forge):
    forge.answers[f"{PULL}/reviews"] = [
        _review(7, "REQUEST_CHANGES"),
        _review(8, "APPROVED") | {"dismissed": True},
    ]
    page = "/ann/demo/pulls/1"
    answer = await pages.submit(page, "Dismiss review", to="/reviews/7/dismissal", message="done")
    assert answer.headers["location"] == f"{page}#merge"
    await pages.submit(page, "Restore", to="/reviews/8/dismissal")
    assert forge.sent == [
        ("POST", f"{PULL}/reviews/7/dismissals", {"message": "done"}),
        ("POST", f"{PULL}/reviews/8/undismissals", {}),
    ]
    forge.answers[HOME]["permissions"]["admin"] = False
    shown = (await pages.get(page, ANN)).text
    assert ("Changes requested" in shown, "/dismissal" in shown, "dismissed" in shown) == (True, False, False)
