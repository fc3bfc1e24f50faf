"""Settings of a repository as pages show them."""

import time

import pytest

from ingot_contracts.testing.forms import form_of

from ..forge import ANN_USER, HOME
from ..world import ANN


@pytest.mark.parametrize(
    ("permission", "badge"),
    [({"permission": "write"}, ">Read and write<"), ({"permission": "new"}, ">new<"), ({}, "")],
)
async def test_a_collaborator_is_shown_whatever_repos_says_of_the_permission(pages, forge, permission, badge):
    forge.answers[f"{HOME}/collaborators"] = [ANN_USER | permission]
    shown = await pages.get("/ann/demo/settings/collaboration", ANN)
    assert (shown.status_code, "Remove ann" in shown.text) == (200, True)
    assert badge in shown.text
    assert ('class="badge"' in shown.text) is bool(badge)


async def test_the_name_that_is_typed_to_delete_has_a_label_of_its_own(pages, forge):
    shown = (await pages.get("/ann/demo/settings", ANN)).text
    assert '<label for="typed">Type ann/demo to delete it</label>' in shown
    assert [shown.count(f' id="{name}"') for name in ("name", "typed")] == [1, 1]


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("/ann/demo/settings/collaboration", {"permission": "read"}),
        ("/ann/demo/branches/delete", {}),
    ],
)
async def test_a_form_without_a_name_is_its_page_with_what_is_wrong(pages, forge, page, form):
    answer = await pages.post(page, form | {"token": pages.form_token(ANN, at=time.time())}, ANN)
    assert (answer.status_code, "name: is empty" in answer.text) == (
        422,
        True,
    )
    assert "<form" in answer.text
    assert not forge.sent


async def test_deploy_keys_come_with_the_address_that_they_open(pages, forge):
    page, address = "/ann/demo/settings/keys", "ssh://git@forge/ann/demo.git"
    assert "address for git" not in (await pages.get(page, ANN)).text
    forge.answers[HOME]["ssh_url"] = address
    assert f"address for git is then <code>{address}</code>" in (await pages.get(page, ANN)).text


async def test_the_picture_of_a_repository_is_sent_shown_and_removed(pages, forge):
    page, url = "/ann/demo/settings", "http://forge/avatars/repositories/1/0a"
    assert "Remove picture" not in (await pages.get(page, ANN)).text
    form = {"token": pages.form_token(ANN, at=time.time())}
    file, headers = {"files": ("a.png", b"png")}, pages.callers.headers(ANN)
    sent = await pages.client.post(f"{page}/avatar", data=form, files=file, headers=headers)
    assert sent.headers["location"].endswith(page)
    forge.answers[HOME]["avatar_url"] = url
    assert (await pages.get(page, ANN)).text.count(f'<img class="avatar" src="{url}"') == 2
    await pages.submit(page, "Remove picture", to="/avatar")
    assert forge.sent == [("POST", f"{HOME}/avatar", {"image": "cG5n"}), ("DELETE", f"{HOME}/avatar", {})]
    refused = await pages.submit(page, "Upload picture", to="/avatar")
    assert (refused.status_code, "choose a picture" in refused.text) == (422, True)


SETTINGS = "/ann/demo/settings"
UNTOUCHED = {
    "name": "demo", "description": "", "website": "", "default_branch": "main", "private": False,
    "template": False,
    **dict.fromkeys(("has_issues", "has_pull_requests", "has_releases", "autodetect_manual_merge"), True),
    **dict.fromkeys(("allow_manual_merge", "ignore_whitespace_conflicts",
                     "default_delete_branch_after_merge"), False),
    "has_wiki": False,
    **dict.fromkeys((
        "allow_merge_commits", "allow_rebase", "allow_rebase_explicit", "allow_squash_merge",
        "allow_fast_forward_only_merge", "allow_merge_update", "allow_rebase_update",
    ), True),
    "internal_tracker": dict.fromkeys(
        ("enable_time_tracker", "allow_only_contributors_to_track_time", "enable_issue_dependencies"), True
    ),
}  # fmt: skip
"""The fields of the form without any change."""
CHANGES = {
    "name": "other", "default_merge_style": "squash", "default_update_style": "rebase",
    "allow_manual_merge": "1", "autodetect_manual_merge": [], "ignore_whitespace_conflicts": "1",
    "default_delete_branch_after_merge": "1", "enable_time_tracker": [], "allow_rebase_update": [],
    "template": "1", "topics": "one, two",
}  # fmt: skip


async def test_the_form_of_settings_changes_what_was_changed_in_it_and_nothing_else(pages, forge):
    forge.changed = {"full_name": "ann/other"}
    await pages.submit(SETTINGS, "Save", to=SETTINGS)
    assert forge.sent == [("PUT", f"{HOME}/topics", {"topics": []}), ("PATCH", HOME, UNTOUCHED)]
    answer = await pages.submit(SETTINGS, "Save", to=SETTINGS, **CHANGES)
    assert answer.headers["location"].startswith("/ann/other/settings?outcome=saved&proof=")
    changed = {name: bool(value) for name, value in CHANGES.items() if name in UNTOUCHED}
    tracker = UNTOUCHED["internal_tracker"] | {"enable_time_tracker": False}
    texts = {"name": "other", "default_merge_style": "squash", "default_update_style": "rebase"}
    assert forge.sent[2:] == [
        ("PUT", f"{HOME}/topics", {"topics": ["one", "two"]}),
        ("PATCH", HOME, UNTOUCHED | changed | texts | {"internal_tracker": tracker}),
    ]


async def test_a_form_of_an_older_release_leaves_what_it_has_no_boxes_for(pages, forge):
    forge.changed = {"full_name": "ann/other"}
    fields = {
        "name": "other",
        "switches": "1",
        "has_issues": "1",
        "token": pages.form_token(ANN, at=time.time()),
    }
    await pages.post(SETTINGS, fields, ANN)
    (_, _, body) = forge.sent[0]
    assert (body["has_issues"], body["allow_rebase"]) == (True, False)
    assert not body.keys() & {
        "allow_manual_merge",
        "autodetect_manual_merge",
        "allow_merge_update",
        "internal_tracker",
    }


async def test_settings_that_are_refused_are_still_in_the_form(pages, forge):
    forge.refusals[HOME] = (422, b'{"message": "refused", "url": ""}')
    refused = await pages.submit(SETTINGS, "Save", to=SETTINGS, **CHANGES)
    assert (refused.status_code, 'value="other"' in refused.text, 'value="one two"' in refused.text) == (
        422,
        True,
        True,
    )
    form = form_of(refused.text, SETTINGS, "Save").values
    boxes = ("allow_manual_merge", "autodetect_manual_merge", "enable_time_tracker", "template")
    assert [form[name] for name in boxes] == [["1"], [], [], ["1"]]
    assert form["default_merge_style"] == ["squash"]


async def test_archiving_a_repository_changes_nothing_else(pages, forge):
    forge.changed = {"full_name": "ann/demo"}
    await pages.submit(SETTINGS, "Archive repository", to=SETTINGS)
    assert forge.sent == [("PATCH", HOME, {"archived": True})]
