"""Files as they are shown and changed on pages."""

import time
from base64 import b64encode

import pytest

from ingot_contracts.testing.forms import form_of

from ..forge import HOME
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN, BOB

FILE = f"{HOME}/contents-ext/a.txt"
EDIT = "/ann/demo/_edit/main/a.txt"


def _file(content=b"one\ntwo\n", **changed):
    file = {"name": "a.txt", "path": "a.txt", "type": "file", "sha": "1" * 40, "size": len(content or b"")}
    text = None if content is None else b64encode(content).decode()
    return {"file_contents": {**file, "content": text, **changed}}


async def test_a_file_is_changed_in_a_form_and_shown_afterwards(pages, forge):
    forge.answers |= {FILE: _file(), f"{HOME}/git/refs/heads/fix": [{"ref": "refs/heads/fix#1"}]}
    answer = await pages.submit("/ann/demo/_edit/fix%231/a.txt", "Commit", content="one\r\n")

    assert answer.headers["location"] == "/ann/demo/src/branch/fix%231/a.txt"
    (method, path, body) = forge.sent[0]
    assert (method, path, body["branch"]) == ("POST", f"{HOME}/contents", "fix#1")
    assert body["files"][0]["content"] == b64encode(b"one\n").decode()
    await pages.submit("/ann/demo/_delete/fix%231/a.txt", "Delete file")
    assert forge.sent[1][2]["files"] == [{"operation": "delete", "path": "a.txt", "sha": "1" * 40}]


async def test_a_change_for_a_new_branch_without_a_name_goes_to_no_branch(pages, forge):
    forge.answers[FILE] = _file()
    form = form_of((await pages.get(EDIT, ANN)).text, "", "Commit")
    refused = await pages.post(EDIT, form.press("Commit", to="new", new_branch=" "), ANN)

    assert (refused.status_code, "name the new branch" in refused.text, forge.sent) == (422, True, [])


async def test_where_a_rule_refuses_the_commit_a_new_branch_is_chosen(pages, forge):
    forge.answers[FILE] = _file()
    forge.refuses = 403
    refused = await pages.submit(EDIT, "Commit", content="one")
    assert (refused.status_code, form_of(refused.text, "", "Commit").values["to"]) == (403, ["new"])


BRANCH = f"{HOME}/branches/rel/1"


@pytest.mark.parametrize("act", ["new", "edit", "delete", "upload"])
async def test_where_a_rule_forbids_to_push_a_new_branch_is_chosen_from_the_start(pages, forge, act):
    forge.answers |= {FILE: _file(), f"{HOME}/git/refs/heads/rel": [{"ref": "refs/heads/rel/1"}]}
    page, button = f"/ann/demo/_{act}/rel/1/a.txt", "Delete file" if act == "delete" else "Commit"
    words = "A rule keeps you from pushing to rel/1: commit to a new branch."
    for may_push, to in ((True, "branch"), (False, "new")):
        forge.answers[BRANCH] = {"name": "rel/1", "protected": True, "user_can_push": may_push}
        shown = (await pages.get(page, ANN)).text
        assert (form_of(shown, "", button).values["to"], words in shown) == ([to], not may_push)
    assert forge.read_paths.count(BRANCH) == 2


async def test_a_look_at_a_change_leaves_the_branch_that_was_chosen(pages, forge):
    forge.answers |= {FILE: _file(), f"{HOME}/branches/main": {"name": "main", "user_can_push": False}}
    form = form_of((await pages.get(EDIT, ANN)).text, "", "Preview").press("Preview", to="branch")
    shown = (await pages.post(EDIT, form, ANN)).text
    assert form_of(shown, "", "Commit").values["to"] == ["branch"]


async def test_files_of_a_mirror_are_changed_elsewhere(pages, forge):
    forge.answers |= {FILE: _file(), HOME: forge.answers[HOME] | {"mirror": True}}
    refused = await pages.get(EDIT, ANN)
    assert (refused.status_code, "change files where it comes from" in refused.text) == (403, True)


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"lfs_oid": "0" * 64, "lfs_size": 9}, 422), ({"content": None, "size": 2**40}, 413),
     ({"type": "dir"}, 422),
     ({"content": b"a" * 500_001}, 413), ({"content": b"\xff"}, 422)],
)  # fmt: skip
async def test_what_a_form_cannot_hold_is_not_changed_in_one(pages, forge, changed, status):
    forge.answers[FILE] = _file(**changed)

    assert (await pages.get(EDIT, ANN)).status_code == status


async def test_a_file_is_read_for_nobody_who_may_not_change_it(pages, forge):
    forge.answers[FILE] = _file()
    forge.answers[HOME]["permissions"]["push"] = False

    for page in (EDIT, "/ann/demo/_delete/main/a.txt"):
        assert (await pages.get(page, BOB)).status_code == 403
    assert not [path for path in forge.read_paths if "contents" in path or "raw" in path]


async def test_a_file_that_lfs_keeps_does_not_come_through_the_pages(pages, forge):
    forge.answers[FILE] = _file(lfs_oid="0" * 64, lfs_size=2 * 2**30)
    shown = await pages.get("/ann/demo/src/branch/main/a.txt")
    raw = await pages.get("/ann/demo/raw/branch/main/a.txt")

    assert "Stored with Git LFS: 2.0 GiB" in shown.text
    assert raw.headers["location"] == f"/api/v1{HOME}/raw/a.txt?ref=refs/heads/main"
    assert not [path for path in forge.read_paths if "/raw/" in path]


async def test_a_raw_file_has_one_charset(pages, forge):
    forge.answers |= {FILE: _file(), f"{HOME}/raw/a.txt": b"text"}
    forge.content_types[f"{HOME}/raw/a.txt"] = "text/plain; charset=utf-8"
    raw = await pages.get("/ann/demo/raw/branch/main/a.txt")

    assert (raw.text, raw.headers["content-type"]) == ("text", "text/plain; charset=utf-8")


async def test_a_branch_is_shown_when_it_was_made_whatever_its_name(pages):
    answer = await pages.submit("/ann/demo/branches", "Create branch", **{"name": "fix#1", "from": "main"})

    assert answer.headers["location"] == "/ann/demo/src/branch/fix%231"


@pytest.mark.parametrize(
    ("path", "content", "shown"),
    [
        ("a.md", "*words*", "<p>*words*</p>"),
        ("a.py", "def f(): pass", '<span class="k">def</span>'),
        ("a.md", "", ""),
    ],
)
@pytest.mark.parametrize("act", ["edit", "new"])
async def test_a_file_is_looked_at_before_it_is_committed(pages, forge, act, path, content, shown):
    forge.answers[FILE] = _file()
    form = {
        "token": pages.form_token(ANN, at=time.time()),
        "path": path,
        "content": content,
        "preview": "1",
        "message": "why",
    }
    page = (await pages.post(EDIT.replace("_edit", f"_{act}"), form, ANN)).text
    assert (shown in page, "why</textarea>" in page, f"{content}</textarea>" in page) == (True, True, True)
    part = await pages.post(EDIT, form, ANN, **IN_PLACE)
    assert (shown in part.text, is_part(part), "<form" in part.text) == (True, True, False)
    assert not forge.sent
    forge.answers[HOME]["permissions"]["push"] = False
    assert (await pages.post(EDIT, form, ANN)).status_code == 403


async def test_what_is_too_large_is_not_looked_at(pages):
    form = {
        "token": pages.form_token(ANN, at=time.time()),
        "path": "a.md",
        "content": "a" * 500_001,
        "preview": "1",
    }
    assert (await pages.post(EDIT, form, ANN)).status_code == 413


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("edit", "“Update a.txt”"),
        ("delete", "“Delete a.txt”"),
        ("new", "“Add” and the path"),
        ("upload", "“Add” and the paths"),
    ],
)
async def test_a_form_says_which_message_a_commit_has_without_one(pages, forge, act, words):
    forge.answers[FILE] = _file()
    assert f"Left empty, it says {words}." in (await pages.get(EDIT.replace("_edit", f"_{act}"), ANN)).text
