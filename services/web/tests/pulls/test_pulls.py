"""Pull requests as they are merged on pages."""

import re
import time
from typing import get_args

import pytest

from ingot_contracts.issues.merges import RefusalKind
from ingot_contracts.testing.forms import form_of
from ingot_web.pulls.rules import REMEDIES

from ..forge import ANN_USER, HOME, MOMENT, issue
from ..history.test_commits import COMPARED
from ..previews.test_previews import IN_PLACE, is_part
from ..test_forms import HEAD
from ..world import ANN, BOB

PAGE = "/ann/demo/pulls/1"
PULL = f"{HOME}/pulls/1"
RULE = {"reason": "the rule 'main' protects the branch: changes are requested", "overridable": True}


@pytest.fixture
def forge(forge):
    forge.answers[f"{HOME}/pulls/1"] = issue(
        pull_request={"merged": False, "draft": False}, base={"ref": "main"}, head=HEAD, merged=False,
        mergeable=True, draft=True, merge_refusals=[],
    )  # fmt: skip
    return forge


async def test_each_reason_against_a_merge_stands_beside_a_button_that_does_nothing(pages, forge):
    reasons = {
        "the title says that it is work in progress": "draft",
        "it is blocked by 1 open issue": "blocked",
    }
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = [
        RULE, *({"reason": reason, "kind": kind, "overridable": False} for reason, kind in reasons.items())
    ]  # fmt: skip
    shown = (await pages.get(PAGE, ANN)).text

    for reason in reasons:
        assert f"{reason[:1].upper()}{reason[1:]}." in shown
    rule = "The rule &#39;main&#39; protects the branch: changes are requested"
    assert rule in shown
    assert '<span class="muted">You may override that.</span></li>' in shown
    assert '<a href="#draft">Mark it as ready for review</a>' in shown
    assert re.search(r"<button[^>]* disabled[^>]*>Merge</button>", shown)
    assert "/pulls/1/merge" not in shown


async def test_who_may_override_the_rule_is_told_what_it_says_and_merges(pages, forge):
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = [RULE]
    await pages.submit(PAGE, "Merge", to="/pulls/1/merge", override="1")
    assert forge.sent[0][2]["force_merge"] is True


async def test_what_nothing_refuses_is_merged_without_overriding(pages, forge):
    shown = (await pages.get(PAGE, ANN)).text
    assert "Ready to merge" in shown
    assert 'name="override"' not in shown
    await pages.submit(shown, "Merge", to="/pulls/1/merge")
    assert forge.sent[0][2]["force_merge"] is False
    assert (forge.sent[0][2]["head_commit_id"], forge.sent[0][2]["base_branch"]) == ("1" * 40, "main")
    assert form_of(shown, "/pulls/1/merge", "Merge").action == "/ann/demo/pulls/1/merge"


async def test_what_a_merge_looks_at_anew_leaves_the_button_on(pages, forge):
    reason = {
        "reason": "the branches are still being compared", "kind": "comparing", "overridable": False,
        "recorded": True,
    }  # fmt: skip
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = [reason]
    shown = (await pages.get(PAGE, ANN)).text
    assert "Merging is blocked" in shown
    assert "Load the page again in a moment" in shown
    assert 'name="override"' not in shown
    await pages.submit(shown, "Merge", to="/pulls/1/merge")


async def test_branches_that_conflict_have_the_commands_that_solve_it(pages, forge):
    pull = forge.answers[PULL]
    assert "If the branches conflict" not in (await pages.get(PAGE, ANN)).text
    forge.answers[PULL]["merge_refusals"] = [
        {"reason": "the branches conflict", "overridable": False, "recorded": True}
    ]
    fork = HEAD["repo"] | {"full_name": "bob/demo", "clone_url": "http://forge/bob/demo.git"}
    for ref, quoted in (("topic", "HEAD:topic"), ("x;echo$IFS", "&#39;HEAD:x;echo$IFS&#39;")):
        forge.answers[PULL] = pull | {"mergeable": False, "head": HEAD | {"ref": ref, "repo": fork}}
        shown = (await pages.get(PAGE, ANN)).text
        assert "git pull --no-rebase http://forge/ann/demo.git main<" in shown
        assert f"git push http://forge/bob/demo.git {quoted}<" in shown, (
            "what is copied is one word of a shell"
        )
    forge.answers[PULL] = pull | {"mergeable": False, "head": HEAD | {"repo": None}}
    assert "git push" not in (await pages.get(PAGE, ANN)).text


@pytest.mark.parametrize("writes", [True, False])
async def test_issues_that_knows_no_reasons_leaves_the_form_to_who_may_push(pages, forge, writes):
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = None
    forge.answers[HOME]["permissions"]["push"] = writes
    shown = (await pages.get(PAGE, ANN)).text
    assert "Ready to merge" not in shown
    assert ("/pulls/1/merge" in shown) is writes


WAITS_FOR = {"reason": "it is blocked by 1 open issue", "overridable": False, "may_pass": True}


async def test_a_merge_that_something_refuses_for_now_is_scheduled_with_its_message(pages, forge):
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = [WAITS_FOR]
    text = {"merge_title": "One", "merge_message": "a\r\nb"}
    await pages.submit(PAGE, "Merge when possible", to="/pulls/1/merge", **text)
    sent = forge.sent[0][2]
    assert sent["merge_when_checks_succeed"] is True
    assert (sent["MergeTitleField"], sent["MergeMessageField"]) == ("One", "a\nb")


async def test_what_never_passes_is_not_waited_for(pages, forge):
    never = {"reason": "the title says that it is work in progress", "overridable": False, "may_pass": False}
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = [WAITS_FOR, never]
    assert "Merge when possible" not in (await pages.get(PAGE, ANN)).text


async def test_who_scheduled_a_merge_cancels_it_and_others_see_that_it_waits(pages, forge):
    forge.answers[f"{HOME}/pulls/1"]["merge_refusals"] = [WAITS_FOR]
    forge.answers[f"{HOME}/pulls/1/merge/scheduled"] = {
        "user": ANN_USER, "do": "merge", "head_commit_id": "", "delete_branch_after_merge": True,
        "created_at": MOMENT,
    }  # fmt: skip
    shown = (await pages.get(PAGE, ANN)).text
    assert "as soon as nothing blocks it, and then the branch <code>topic</code> is deleted" in shown
    assert "Merge when possible" not in shown
    await pages.submit(shown, "Cancel scheduled merge", to="/pulls/1/merge")
    assert forge.sent[0][:2] == ("DELETE", f"{HOME}/pulls/1/merge")
    assert "Cancel scheduled merge" not in (await pages.get(PAGE)).text


async def test_a_merge_that_is_refused_keeps_what_was_written(pages, forge):
    forge.refuses = 409
    refused = await pages.submit(PAGE, "Merge", to="/pulls/1/merge", merge_title="One", merge_message="two")
    assert (refused.status_code, 'value="One"' in refused.text, "two</textarea>" in refused.text) == (
        409,
        True,
        True,
    )


async def test_a_merge_that_is_refused_without_words_says_the_reasons_and_how_to_solve_a_conflict(
    pages, forge
):
    repo = HEAD["repo"] | {"clone_url": "http://forge/ann/demo.git"}
    forge.answers[PULL] |= {"mergeable": False, "head": HEAD | {"repo": repo}}
    forge.refusals[f"{PULL}/merge"] = (405, b"")
    shown = (await pages.get(PAGE, ANN)).text
    for reasons, words in (
        (["the branches conflict"], "It cannot be merged: the branches conflict."),
        (
            ["the title", "the branches conflict"],
            "It cannot be merged: the title, and the branches conflict.",
        ),
        ([], "It was not merged: the branches conflict, or one of them has just changed."),
    ):
        forge.answers[PULL]["merge_refusals"] = [
            {"reason": reason, "overridable": False, "recorded": True} for reason in reasons
        ]
        refused = await pages.submit(shown, "Merge", to="/pulls/1/merge")
        assert refused.status_code == 405
        assert f'role="alert"><p>{words}</p>' in refused.text
        assert ('<details id="conflicts" open><summary>If the branches conflict' in refused.text) is bool(
            reasons
        )
        assert "issues refused" not in refused.text


@pytest.mark.parametrize("reasons", [[], ["the branches are still being compared"]])
async def test_the_button_of_a_merge_stands_out_only_where_nothing_refuses_it(pages, forge, reasons):
    forge.answers[PULL]["merge_refusals"] = [
        {"reason": reason, "overridable": False, "recorded": True} for reason in reasons
    ]
    shown = (await pages.get(PAGE, ANN)).text
    assert ('<button class="primary">Merge</button>' in shown) is (not reasons)
    assert ("<button>Merge</button>" in shown) is bool(reasons)


def _decision(login, state, **changed):
    return {"id": 7, "user": ANN_USER | {"login": login}, "state": state, "body": "", "dismissed": False,
            "stale": False, "official": True, "submitted_at": MOMENT,
            "comments_count": 0} | changed  # fmt: skip


@pytest.mark.parametrize("change", [{"official": False}, {"dismissed": True}])
async def test_an_objection_that_does_not_count_is_not_told(pages, forge, change):
    forge.answers[f"{PULL}/reviews"] = [
        _decision("bob", "REQUEST_CHANGES"),
        _decision("bob", "REQUEST_CHANGES", **change),
    ]
    shown = (await pages.get(PAGE, ANN)).text
    assert ("asked for changes" in shown, "Ready to merge" in shown) == (False, True)


@pytest.mark.parametrize(("decisions", "objectors"), [
    ([("bob", "REQUEST_CHANGES"), ("carl", "APPROVED")], "bob"),
    ([("bob", "REQUEST_CHANGES"), ("carl", "REQUEST_CHANGES"), ("bob", "COMMENT")], "bob, carl"),
    ([("bob", "REQUEST_CHANGES"), ("bob", "APPROVED")], ""),
])  # fmt: skip
async def test_what_can_be_merged_although_changes_are_asked_for_says_by_whom(
    pages, forge, decisions, objectors
):
    forge.answers[f"{PULL}/reviews"] = [_decision(*decision) for decision in decisions]
    shown = (await pages.get(PAGE, ANN)).text
    assert (f"It can be merged, although {objectors} asked for changes." in shown) is bool(objectors)
    assert ("Ready to merge" in shown) is (not objectors)


@pytest.mark.parametrize(("caller", "more"), [(BOB, []), (None, []), (BOB, ["the title says that"])])
async def test_who_may_not_write_reads_that_others_merge_and_no_refusals_but_those_of_all(
    pages, forge, caller, more
):
    forge.answers[HOME]["permissions"] = {"admin": False, "push": False, "pull": True}
    forge.answers[PULL]["merge_refusals"] = [
        {"reason": reason, "overridable": False} for reason in ["write access is needed", *more]
    ]
    shown = (await pages.get(PAGE, caller)).text
    assert ("Users with write access can merge it." in shown) is (not more)
    assert ("Merging is blocked" in shown) is bool(more)
    assert ("disabled" in shown) is bool(more)


@pytest.mark.parametrize(("owner", "offers"), [("ann", True), ("bob", False)])
async def test_only_a_branch_that_the_viewer_may_write_is_offered_to_be_deleted(pages, forge, owner, offers):
    fork = HEAD["repo"] | {"full_name": f"{owner}/fork", "owner": {"login": owner}}
    forge.answers[PULL] |= {"head": HEAD | {"repo": fork}}
    forge.answers[HOME]["default_delete_branch_after_merge"] = True
    shown = (await pages.get(PAGE, ANN)).text
    assert ('name="delete_branch"' in shown) is offers
    await pages.submit(shown, "Merge", to="/pulls/1/merge")
    assert forge.sent[0][2]["delete_branch_after_merge"] is offers


async def test_files_of_a_new_pull_request_are_linked_in_its_text(pages, forge):
    forge.answers |= {
        f"POST {HOME}/pulls": {"number": 1, "body": "why"},
        f"POST {HOME}/issues/1/assets": {"name": "a.png", "browser_download_url": "/a"},
    }
    form = {"token": pages.form_token(ANN, at=time.time()), "title": "T", "body": "why"}
    answer = await pages.client.post(
        "/ann/demo/compare/main...topic",
        data=form,
        files=[("files", ("a.png", b"night", "image/png"))],
        headers=pages.callers.headers(ANN),
    )
    assert answer.headers["location"] == "/ann/demo/pulls/1"
    assert forge.sent[-1] == ("PATCH", f"{HOME}/issues/1", {"body": "why\n\n![a.png](/a)"})


async def test_checks_that_run_are_asked_for_again_in_place_until_none_does(pages, forge):
    status = {"context": "ci", "target_url": "", "description": ""}
    path = f"{HOME}/commits/refs%2Fpull%2F1%2Fhead/status"
    path = path.replace("%2F", "/")
    poll = f'hx-get="{PAGE}/checks" hx-trigger="every 15s"'
    for state in ("pending", "success"):
        forge.answers[path] = {"state": state, "total_count": 1, "statuses": [status | {"status": state}]}
        page = (await pages.get(PAGE, ANN)).text
        part = await pages.client.get(f"{PAGE}/checks", headers=pages.callers.headers(ANN) | IN_PLACE)
        assert is_part(part)
        assert (poll in page, poll in part.text) == (state == "pending", state == "pending")
        assert ("No check runs any more" in part.text) is (state == "success")
    assert (await pages.get(f"{PAGE}/checks", ANN)).headers["location"] == f"{PAGE}#merge"


async def test_a_head_that_lacks_commits_of_the_base_is_updated(pages, forge):
    pull = forge.answers[f"{HOME}/pulls/1"]
    pull["base"] = {"ref": "main", "sha": "2" * 40}
    assert "Update branch" not in (await pages.get(PAGE, ANN)).text
    pull["merge_base"] = "3" * 40
    answer = await pages.submit(PAGE, "Update branch", to="/pulls/1/update")
    assert (answer.headers["location"], forge.sent[0][:2]) == (
        f"{PAGE}#merge",
        ("POST", f"{HOME}/pulls/1/update"),
    )


async def test_the_author_lets_maintainers_push_to_the_head_in_a_fork(pages, forge):
    head = forge.answers[HOME] | {"full_name": "ann/fork", "archived": False}
    forge.answers[f"{HOME}/pulls/1"] |= {"head": HEAD | {"repo": head}, "allow_maintainer_edit": False}
    await pages.submit(PAGE, "Save", to="/issues/1/edit", maintainers="1")
    forge.answers[f"{HOME}/pulls/1"]["allow_maintainer_edit"] = True
    await pages.submit(PAGE, "Save", to="/issues/1/edit")
    changes = [body for _, path, body in forge.sent if path == f"{HOME}/pulls/1"]
    assert changes == [{"allow_maintainer_edit": True}]
    assert "may push to <code>topic</code> of ann/fork" in (await pages.get(PAGE, ANN)).text
    assert 'name="maintainers"' not in (await pages.get(PAGE, BOB)).text


async def test_a_maintainer_is_offered_to_update_a_head_that_is_open_to_them(pages, forge):
    pull = forge.answers[f"{HOME}/pulls/1"]
    head = forge.answers[HOME] | {"full_name": "bob/fork", "owner": ANN_USER | {"login": "bob"}}
    pull |= {"base": {"ref": "main", "sha": "2" * 40}, "merge_base": "3" * 40, "head": HEAD | {"repo": head}}
    for allow in (False, True):
        pull["allow_maintainer_edit"] = allow
        assert ("Update branch" in (await pages.get(PAGE, ANN)).text) is allow


@pytest.mark.parametrize(("style", "deletes"), [("squash", True), ("merge", False)])
async def test_the_merge_form_begins_with_what_the_settings_propose(pages, forge, style, deletes):
    forge.answers[HOME] |= {"default_merge_style": style, "default_delete_branch_after_merge": deletes}
    await pages.submit(PAGE, "Merge", to="/pulls/1/merge")
    sent = forge.sent[0][2]
    assert (sent["do"], sent["delete_branch_after_merge"]) == (style, deletes)


@pytest.mark.parametrize(("state", "fields", "moves"), [
    ("open", {"into": "next"}, [("PATCH", PULL, {"base": "next"})]), ("open", {}, []), ("closed", {}, []),
])  # fmt: skip
async def test_an_open_pull_request_is_moved_to_another_branch_if_the_form_says_so(
    pages, forge, state, fields, moves
):
    """The text goes to the issue, where it may be empty."""
    forge.answers[PULL] |= {"state": state}
    await pages.submit(PAGE, "Save", to="/issues/1/edit", title="New", body="", **fields)
    assert forge.sent == [
        *moves,
        ("PATCH", f"{HOME}/issues/1", {"title": "New", "body": "", "content_version": 0}),
    ]


async def test_a_branch_that_is_refused_can_be_changed_without_a_script(pages, forge):
    forge.refusals[PULL] = (422, b'{"message": "no such branch", "url": ""}')
    refused = await pages.submit(PAGE, "Save", to="/issues/1/edit", into="nixt")
    assert form_of(refused.text, "/issues/1/edit", "Save").values["into"] == ["nixt"]


async def test_what_was_merged_by_hand_is_said_with_its_commit_where_the_repository_allows_it(pages, forge):
    assert "manually-merged" not in (await pages.get(PAGE, ANN)).text
    forge.answers[HOME]["allow_manual_merge"] = True
    by_hand = {"style": "manually-merged", "merge_commit": "4" * 40}
    await pages.submit(PAGE, "Merge", to="/pulls/1/merge", **by_hand)
    sent = forge.sent[0][2]
    assert (sent["do"], sent["merge_commit_id"]) == ("manually-merged", "4" * 40)


@pytest.mark.parametrize(
    ("caller", "pushes", "declines"),
    [(ANN, True, False), (ANN, False, False), (BOB, False, True), (None, False, False)],
)
async def test_who_was_asked_for_a_review_stands_beside_and_may_decline(
    pages, forge, caller, pushes, declines
):
    """The author and who may push have a menu instead."""
    forge.answers[HOME]["permissions"] = {"admin": False, "push": pushes, "pull": True}
    forge.answers[f"{HOME}/pulls/1"] |= {
        "requested_reviewers": [ANN_USER | {"login": login} for login in ("bob", "carl")],
        "requested_reviewers_teams": [{"id": 4, "name": "crew"}],
    }
    shown = (await pages.get(PAGE, caller)).text
    beside = shown.partition("<h2>Reviewers</h2>")[2].partition("</section>")[0]
    assert [name in beside for name in ("bob", "carl", "crew")] == [True] * 3
    assert ("Decline" in beside) is declines
    assert ('hx-get="/ann/demo/issues/1/reviewers"' in shown) is (caller is ANN)


async def test_a_request_for_a_review_is_declined(pages, forge):
    forge.answers[HOME]["permissions"] = {"admin": False, "push": False, "pull": True}
    forge.answers[f"{HOME}/pulls/1"] |= {"requested_reviewers": [ANN_USER | {"login": "bob"}]}
    answer = await pages.submit(PAGE, "Decline", to="/issues/1/facts", caller=BOB)
    assert answer.headers["location"] == PAGE
    path = f"{HOME}/pulls/1/requested_reviewers"
    assert forge.sent == [("DELETE", path, {"reviewers": ["bob"]})]


async def test_tabs_and_the_head_of_a_pull_request_say_how_much_there_is(pages, forge):
    pull = forge.answers[f"{HOME}/pulls/1"]
    pull |= {"comments": 3, "review_comments": 4, "changed_files": 5, "additions": 60, "deletions": 7}
    forge.answers |= {f"{PULL}/commits": [], f"{PULL}.diff": b""}
    for page in (PAGE, f"{PAGE}/commits", f"{PAGE}/files"):
        shown = (await pages.get(page)).text
        for name, count in (("Conversation", 7), ("Files", 5)):
            assert f'>{name} <span class="count">{count}</span></a>' in shown
        assert '<span class="plus">+60</span> <span class="minus">\N{MINUS SIGN}7</span>' in shown
    assert "Draft</span>" in shown
    pull |= {"additions": None, "deletions": None, "changed_files": None}
    shown = (await pages.get(PAGE)).text
    assert (">Files</a>" in shown, 'class="plus"' in shown) == (True, False)


async def test_a_merged_pull_request_leads_who_may_push_to_how_it_is_reverted(pages, forge):
    forge.answers[PULL] |= {
        "merged": True,
        "merged_by": ANN_USER,
        "merged_at": MOMENT,
        "merge_commit_sha": "4" * 40,
    }
    link = f'href="/ann/demo/commit/{"4" * 40}#revert">Revert</a>'
    assert (link in (await pages.get(PAGE, ANN)).text, link in (await pages.get(PAGE)).text) == (True, False)


async def test_a_list_says_which_pull_requests_are_drafts(pages, forge):
    for draft in (True, False):
        forge.answers[f"{HOME}/issues"] = [issue(pull_request={"merged": False, "draft": draft})]
        shown = (await pages.get("/ann/demo/pulls")).text
        assert ('<span class="badge">Draft</span>' in shown) is draft


async def test_an_open_pull_request_says_how_to_try_it_in_a_clone(pages, forge):
    shown = (await pages.get("/ann/demo/pulls/1", ANN)).text
    assert "<summary>Check out in a clone</summary>" in shown
    assert "git fetch http://forge/ann/demo.git refs/pull/1/head" in shown
    assert 'href="/ann/demo/pulls/1.patch"' in shown


CONFLICT = {"reason": "the branches conflict", "kind": "conflict", "overridable": False, "recorded": True}


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("conflict", '<a href="#conflicts">Resolve the conflicts</a>'),
        ("approvals", '<a href="#reviews">Ask reviewers'),
        ("checks", '<a href="#checks">Open'),
        ("blocked", '<a href="#blocked">Close the issues'),
        ("outdated", '<a href="#update">Update the branch</a>.'),
    ],
)
async def test_each_reason_against_a_merge_says_what_to_do(pages, forge, kind, remedy):
    forge.answers[PULL]["merge_refusals"] = [{"reason": "x", "kind": kind, "overridable": False}]
    assert remedy in (await pages.get(PAGE, ANN)).text


async def test_a_reason_of_the_last_release_has_no_remedy(pages, forge):
    """Its answers have no kind."""
    forge.answers[PULL]["merge_refusals"] = [{"reason": "the branches conflict", "overridable": False}]
    shown = (await pages.get(PAGE, ANN)).text
    assert "<li>The branches conflict.</li>" in shown


def test_each_kind_of_a_reason_has_a_remedy_unless_nothing_helps():
    assert set(get_args(RefusalKind)) - REMEDIES.keys() == {"ended", "access", "archived"}


async def test_no_merge_is_offered_that_will_be_refused(pages, forge):
    forge.answers[PULL]["merge_refusals"] = [CONFLICT]
    assert "/pulls/1/merge" not in (await pages.get(PAGE, ANN)).text
    forge.answers[PULL] |= {"merge_refusals": [], "base": {"ref": "main", "sha": "2" * 40}}
    forge.answers[HOME]["allow_fast_forward_only_merge"] = True
    for merge_base, offers in (("2" * 40, True), ("3" * 40, False)):
        forge.answers[PULL]["merge_base"] = merge_base
        assert ("fast-forward-only" in (await pages.get(PAGE, ANN)).text) is offers


async def test_the_merge_box_names_who_has_not_reviewed_yet(pages, forge):
    forge.answers[PULL]["requested_reviewers"] = [ANN_USER | {"login": "carl"}]
    forge.answers[PULL]["requested_reviewers_teams"] = [{"name": "keepers"}]
    box = (await pages.get(PAGE, BOB)).text.partition('id="merge"')[2]
    assert re.findall(r'Review requested</span><div class="what">(?:<a href="/carl">)?(\w+)', box) == [
        "carl",
        "keepers",
    ]


@pytest.mark.parametrize(
    ("title", "button", "sent"),
    [
        ("Lamp", "Convert to draft", "WIP: Lamp"),
        ("[WIP] wip: Lamp", "Ready for review", "Lamp"),
        ("WIP:", "Ready for review", "WIP:"),
    ],
)
async def test_a_button_marks_a_draft_or_ends_it(pages, forge, title, button, sent):
    forge.answers[PULL] |= {"title": title, "draft": button == "Ready for review"}
    answer = await pages.submit(PAGE, button, to="/pulls/1/draft")
    assert answer.headers["location"] == f"{PAGE}#merge"
    assert forge.sent == [("PATCH", f"{HOME}/issues/1", {"title": sent})]
    assert "/pulls/1/draft" not in (await pages.get(PAGE, None)).text


async def test_reviewers_are_chosen_and_a_draft_is_marked_when_a_pull_request_is_opened(pages, forge):
    form = {
        "token": pages.form_token(ANN, at=time.time()),
        "title": "T",
        "draft": "1",
        "reviewers": ["bob", "carl"],
    }
    forge.answers[f"POST {HOME}/pulls"] = {"number": 1, "body": ""}
    await pages.post("/ann/demo/compare/main...topic", form, ANN)
    [(_, _, body)] = forge.sent
    assert (body["title"], body["reviewers"], "team_reviewers" in body) == ("WIP: T", ["bob", "carl"], False)


async def test_teams_are_chosen_as_reviewers_when_a_pull_request_is_opened(pages, forge):
    page = "/ann/demo/compare/main...topic"
    forge.answers |= {
        f"{HOME}/compare/main...topic": COMPARED,
        f"{HOME}/compare/main...topic?output=diff": b"",
        f"{HOME}/teams": [{"id": 4, "name": "crew"}],
        f"POST {HOME}/pulls": {"number": 1, "body": ""},
    }
    await pages.submit(page, "Create pull request", title="T", reviewers=["@crew"])
    [(_, _, body)] = forge.sent
    assert (body["team_reviewers"], "reviewers" in body) == (["crew"], False)
