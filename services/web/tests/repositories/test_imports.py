"""The first page of a repository whose commits are fetched, or could not be."""

import pytest

from ingot_contracts.testing.forms import form_of

from ..forge import HOME, MOMENT
from ..previews.test_previews import IN_PLACE, is_part
from ..test_calls import ENTRY
from ..world import ANN, ROOT

MIGRATION = {
    "id": 7, "counts": {}, "rate": None, "remaining_seconds": None, "paused_until": None,
    "status": "running", "phase": "receiving", "percent": 42, "received": 2048, "error": "",
    "created_at": MOMENT, "original_url": "https://example.org/<name>.git", "finished_at": None,
    "repeat": 0, "conflicts": 0,
}  # fmt: skip


AGAIN = '<noscript><meta http-equiv="refresh" content="5"></noscript>'


def take_commits(forge, status, *, empty=True, admin=True, migration=MIGRATION):
    """All that needs the commits of ann's repository answers ``status``."""
    forge.answers[HOME] |= {"empty": empty, "permissions": {"admin": admin, "push": True, "pull": True}}
    forge.answers[f"{HOME}/migration"] = migration
    forge.failures |= {
        f"{HOME}/{name}": status for name in ("contents-ext", "commits", "branches", "languages")
    }


async def test_an_import_that_runs_is_shown_and_looked_at_again_until_somebody_stops_that(pages, forge):
    take_commits(forge, 503)
    shown = await pages.get("/ann/demo", ANN)
    assert (shown.status_code, AGAIN in shown.text) == (200, True)
    for words in ('value="42"', "Receiving, 42 %; 2.0 KiB received", "https://example.org/&lt;name&gt;.git"):
        assert words in shown.text
    assert '<a href="/ann/demo?refresh=no">Stop reloading</a>' in shown.text
    still = (await pages.get("/ann/demo?refresh=no", ANN)).text
    assert not [again for again in (AGAIN, "hx-get") if again in still.partition("<main")[2]]
    answer = await pages.submit(shown.text, "Cancel import", to="/migrate/cancel")
    assert (answer.headers["location"], forge.sent) == ("/", [("DELETE", "/repos/migrate/7", {})])


COUNTS = {"issues": {"done": 30, "total": 40}, "comments": {"done": 0, "total": None}}


async def test_the_progress_of_issues_has_a_bar_and_a_table(pages, forge):
    run = {"counts": COUNTS, "rate": 600, "remaining_seconds": 61, "phase": "issues"}
    forge.answers |= {f"{HOME}/migration": MIGRATION | run}
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    assert (shown.status_code, AGAIN in shown.text) == (200, True)
    for words in (
        '<progress max="40" value="30"',
        "30 of 40 objects; 600 a minute; about 2 min left",
        "<td>Comments</td><td>0</td><td>not known</td>",
        'hx-get="/ann/demo/settings/migrate"',
    ):
        assert words in shown.text, words
    answer = await pages.submit(shown.text, "Cancel import", to="/migrate/cancel")
    assert (answer.headers["location"], forge.sent) == ("/", [("DELETE", "/repos/migrate/7", {})])


async def test_a_pause_of_the_source_is_shown(pages, forge):
    pause = {"counts": COUNTS, "paused_until": MOMENT, "error": "the source limits requests"}
    forge.answers |= {f"{HOME}/migration": MIGRATION | pause}
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    assert "Paused until" in shown.text
    assert ": the source limits requests." in shown.text


DONE = {"status": "done", "finished_at": MOMENT, "counts": COUNTS, "repeat": 1, "conflicts": 1,
        "unmapped_rules": [{"kind": "tag", "pattern": "v*", "logins": ["cat"], "others": 1}]}  # fmt: skip
CONFLICTS = f"{HOME.rpartition('/')[0].rpartition('/')[0]}/migrate/7/conflicts"


async def test_deploy_keys_of_an_archive_are_added_one_by_one_and_only_read(pages, forge):
    """Although the archive, which a stranger may have written, lets this key write."""
    key = {"title": "<ci>", "key": "ssh-ed25519 AAAA ci", "fingerprint": "SHA256:x", "read_only": False}
    forge.answers[f"{HOME}/migration"] = MIGRATION | DONE | {"repeat": 0, "deploy_keys": [key]}
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    assert "<strong>&lt;ci&gt;</strong>" in shown.text
    assert "Write at the source" in shown.text
    await pages.submit(shown.text, "Add key", to="/settings/keys")
    body = {"title": "<ci>", "key": "ssh-ed25519 AAAA ci", "read_only": True}
    assert forge.sent == [("POST", f"{HOME}/keys", body)]


async def test_the_page_of_a_finished_import_lists_conflicts_and_imports_again(pages, forge):
    forge.answers |= {
        f"{HOME}/migration": MIGRATION | DONE,
        CONFLICTS: [
            {"kind": "pull", "number": 4, "name": "<fix>", "fields": ["title", "body"]},
            {"kind": "release", "number": 0, "name": "v1", "fields": ["gone"]},
        ],
    }
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    for words in (
        "https://example.org/&lt;name&gt;.git",
        "after 1 repeat.",
        "<td>Issues</td><td>30</td>",
        'Pull <a href="/ann/demo/pulls/4">#4</a>',
        "<td>&lt;fix&gt;</td><td>title, body</td>",
        "<td>v1</td><td>deleted at the source</td>",
        "Tag rule <code>v*</code>: without cat and 1 other<",
    ):
        assert words in shown.text, words
    sent = await pages.submit(
        shown.text, "Import again", to="/migrate/again", password="t0ken", people="cat,ann"
    )
    body = {"auth_password": "t0ken", "people_csv": "cat,ann"}
    assert sent.headers["location"] == "/ann/demo/settings/migrate"
    assert forge.sent == [("POST", "/repos/migrate/7/again", body)]


async def test_people_who_have_accounts_now_are_named_on_the_page(pages, forge):
    forge.answers |= {f"{HOME}/migration": MIGRATION | DONE, CONFLICTS: []}
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    sent = await pages.submit(
        shown.text, "Assign to accounts", to="/migrate/people", accounts="cat,ann\r\ndog,bob"
    )
    assert sent.headers["location"].startswith("/ann/demo/settings/migrate")
    ((method, path, body),) = forge.sent
    assert (method, path) == ("POST", "/repos/migrate/7/people")
    assert body["people_csv"].splitlines() == ["cat,ann", "dog,bob"]


async def test_an_import_that_cannot_be_repeated_says_why(pages, forge):
    forge.answers |= {f"{HOME}/migration": MIGRATION | DONE, CONFLICTS: []}
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    assert "Nothing changed on both sides." in shown.text
    forge.refuses = 409
    refused = await pages.submit(shown.text, "Import again", to="/migrate/again", password="t0ken")
    assert refused.status_code == 409
    assert "t0ken" not in refused.text


async def test_a_repeat_that_is_cancelled_keeps_the_repository(pages, forge):
    forge.answers |= {f"{HOME}/migration": MIGRATION | {"repeat": 1, "counts": COUNTS}}
    shown = await pages.get("/ann/demo/settings/migrate", ANN)
    assert "The repository stays" in shown.text
    answer = await pages.submit(shown.text, "Cancel import", to="/migrate/cancel")
    assert answer.headers["location"] == "/ann/demo/settings/migrate"
    assert forge.sent == [("DELETE", f"{HOME}/migration", {})]
    forge.answers[f"{HOME}/migration"]["status"] = "failed"
    assert "Delete imported data" not in (await pages.get("/ann/demo/settings/migrate", ANN)).text


async def test_the_settings_lead_to_the_import(pages, forge):
    forge.answers |= {f"{HOME}/hooks": [], f"{HOME}/migration": MIGRATION | DONE}
    assert 'href="/ann/demo/settings/migrate"' in (await pages.get("/ann/demo/settings", ANN)).text
    forge.failures[f"{HOME}/migration"] = 404
    assert "settings/migrate" not in (await pages.get("/ann/demo/settings", ANN)).text


IMPORT = {
    "service": "github",
    "clone_addr": "https://github.com/ann/demo.git",
    "name": "lamps",
    "password": "t0ken",
    "people": "cat,ann",
}


async def test_an_import_brings_what_its_form_says(pages, forge):
    forge.changed = {"full_name": "ann/lamps"}
    sent = await pages.submit("/repo/migrate", "Import repository", **IMPORT)
    ((method, path, body),) = forge.sent
    assert (sent.headers["location"], method, path) == ("/ann/lamps", "POST", "/repos/migrate")
    assert (body["service"], body["clone_addr"], body["repo_owner"], body["repo_name"]) == (
        "github", "https://github.com/ann/demo.git", "ann", "lamps",
    )  # fmt: skip
    assert (body["auth_password"], body["people_csv"], body["dry_run"]) == ("t0ken", "cat,ann", False)
    assert (body["issues"], body["wiki"], body["lfs"], body["map_logins"]) == (True, True, False, False)


async def test_a_preview_shows_what_would_come_and_keeps_the_form(pages, forge):
    forge.changed = {
        "counts": {"issues": 12, "comments": None}, "requests": 30, "seconds": 61, "people": 3,
        "unmapped": ["<cat>"], "unmapped_authors": [{"login": "<cat>", "id": 7, "objects": 9}],
        "unmapped_rules": [
            {"kind": "branch", "pattern": "v*", "logins": ["<cat>", "eve"], "teams": ["<crew>"],
             "others": 12,
             "is_left_out": False},
            {"kind": "tag", "pattern": "/v.*/", "logins": [], "is_left_out": True},
            {"kind": "tag", "pattern": "w*", "logins": [], "teams": ["crew", "staff"]},
            {"kind": "branch", "pattern": "x", "logins": [], "missing": ["a linear history", "<b>"]},
        ],
    }  # fmt: skip
    shown = await pages.submit("/repo/migrate", "Preview import", **IMPORT)
    for words in (
        "About 30 requests and 2 min",
        "Issues: 12",
        "Comments: not known",
        "&lt;cat&gt; (9)",
        "1 of 3 people have no account",
        "Branch rule <code>v*</code>: without &lt;cat&gt;, eve, team &lt;crew&gt; and 12 others",
        "Tag rule <code>w*</code>: without team crew, team staff<",
        "Branch rule <code>x</code>: does not require a linear history, &lt;b&gt;<",
        "Tag rule <code>/v.*/</code>: not imported: its pattern is not valid here",
    ):
        assert words in shown.text, words
    assert 'value="lamps"' in shown.text
    assert "t0ken" not in shown.text
    assert forge.sent[-1][2]["dry_run"] is True


@pytest.mark.parametrize("page", ["/repo/migrate", "/repo/migrate_archive"])
async def test_only_administrators_see_the_box_for_user_names(pages, forge, page):
    assert "map_logins" not in (await pages.get(page, ANN)).text
    assert "map_logins" in (await pages.get(f"{page}?org=crew", ROOT)).text


async def send_archive(pages, files, **fields):
    """Send the form for an archive as a browser does."""
    form = form_of((await pages.get("/repo/migrate_archive", ANN)).text, "", "Import archive")
    data = form.press("Import archive", **fields)
    headers = pages.callers.headers(ANN)
    return await pages.client.post("/repo/migrate_archive", data=data, files=files, headers=headers)


async def test_an_archive_is_sent_on_with_what_the_form_says(pages, forge):
    forge.changed = {"full_name": "ann/lamps"}
    files = {"files": ("lamps.zip", b"PK")}
    answer = await send_archive(pages, files, name="lamps", private="1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ann/lamps")
    assert forge.sent == [("POST", "/repos/migrate/archive", b"PK")]
    assert forge.changes == ["name=lamps&owner=ann&private=true"]


async def test_a_form_without_an_archive_says_so_and_keeps_its_fields(pages, forge):
    answer = await send_archive(pages, {"files": ("", b"")}, name="lamps")
    assert (answer.status_code, "choose a file" in answer.text) == (422, True)
    assert 'value="lamps"' in answer.text
    assert forge.sent == []


async def test_a_refused_archive_says_why(pages, forge):
    forge.refuses = 422
    answer = await send_archive(pages, {"files": ("lamps.zip", b"PK")})
    assert (answer.status_code, "efused" in answer.text) == (422, True)


async def test_an_import_that_is_refused_says_which_field_is_wrong(pages, forge):
    form, forge.refuses = (await pages.get("/repo/migrate", ANN)).text, 422
    refused = await pages.submit(form, "Import repository", **IMPORT)
    assert (refused.status_code, "t0ken" in refused.text) == (422, False)


@pytest.mark.parametrize(("admin", "status"), [(True, "running"), (True, "done"), (False, "running")])
async def test_code_says_to_administrators_that_issues_are_still_missing(pages, forge, admin, status):
    forge.answers |= {
        f"{HOME}/contents-ext": {"dir_contents": []}, f"{HOME}/languages": {},
        f"{HOME}/migration": MIGRATION | {"status": status},
    }  # fmt: skip
    forge.answers[HOME] |= {"has_issues": False, "has_pull_requests": False}
    forge.answers[HOME]["permissions"]["admin"] = admin
    text = (await pages.get("/ann/demo", ANN)).text
    assert ('href="/ann/demo/settings/migrate"' in text) == (admin and status == "running")


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            {"status": "failed", "error": "the remote cannot be reached"},
            "failed: the remote cannot be reached.",
        ),
        ({"status": "cancelled", "error": "was cancelled"}, ".git was cancelled."),
    ],
)
async def test_an_import_that_failed_says_why_and_is_started_again(pages, forge, end, words):
    take_commits(forge, 404, migration=MIGRATION | end)
    shown = await pages.get("/ann/demo", ANN)
    assert (shown.status_code, AGAIN in shown.text, words in shown.text) == (200, False, True)
    again = await pages.submit(shown.text, "Retry import", to="/migrate/retry", password="t0ken")
    body = {"auth_password": "t0ken"}
    assert (again.headers["location"], forge.sent) == ("/ann/demo", [("POST", f"{HOME}/migration", body)])
    forge.sent.clear()
    answer = await pages.submit(shown.text, "Delete imported data", to="/migrate/cancel")
    assert (answer.headers["location"], forge.sent) == ("/", [("DELETE", "/repos/migrate/7", {})])


@pytest.mark.parametrize(
    ("status", "shown_status", "is_watched", "words"),
    [(503, 503, True, "they are being fetched"), (404, 200, False, "could not be fetched")],
)
async def test_readers_see_that_there_are_no_commits_and_nothing_of_the_import(
    pages, forge, status, shown_status, is_watched, words
):
    take_commits(forge, status, admin=False)
    shown = await pages.get("/ann/demo", ANN)
    assert (shown.status_code, AGAIN in shown.text) == (shown_status, is_watched)
    assert words in shown.text
    assert f"{HOME}/migration" not in forge.read_paths
    assert "migrate" not in shown.text


@pytest.mark.parametrize(
    ("mirror", "words", "to_do"),
    [
        (
            False,
            "The import is incomplete: there is no room",
            "git lfs push --all http://forge/ann/demo.git",
        ),
        (True, "This mirror could not be updated: there is no room", 'href="/ann/demo/settings/mirrors"'),
    ],
)
async def test_what_an_import_left_out_is_said_to_administrators(pages, forge, mirror, words, to_do):
    entry = ENTRY | {"id": 1, "name": ".gitattributes", "path": ".gitattributes"}
    forge.answers |= {
        f"{HOME}/contents-ext": {"dir_contents": [entry]}, f"{HOME}/languages": {},
        f"{HOME}/migration": MIGRATION | {"status": "done", "error": "there is no room"},
    }  # fmt: skip
    forge.answers[HOME] |= {"mirror": mirror, "mirror_interval": "8h0m0s", "updated_at": MOMENT}
    for admin in (True, False):
        forge.answers[HOME]["permissions"]["admin"] = admin
        text = (await pages.get("/ann/demo", ANN)).text
        assert (words in text, to_do in text) == (admin, admin)


async def test_a_repository_with_commits_whose_files_are_away_is_no_import(pages, forge):
    take_commits(forge, 503, empty=False)
    away = await pages.get("/ann/demo", ANN)
    assert (away.status_code, AGAIN in away.text, away.headers["retry-after"]) == (503, False, "1")


async def test_an_import_is_watched_until_the_page_is_another_one(pages, forge):
    async def look():
        answer = await pages.client.get("/ann/demo", headers=pages.callers.headers(ANN) | IN_PLACE)
        return (
            answer.status_code,
            is_part(answer),
            'value="42"' in answer.text,
            answer.headers.get("hx-refresh"),
        )

    take_commits(forge, 503)
    assert 'hx-get="/ann/demo" hx-trigger="every 5s"' in (await pages.get("/ann/demo", ANN)).text
    assert await look() == (200, True, True, None)
    forge.answers[f"{HOME}/migration"] = MIGRATION | {"status": "failed"}
    assert await look() == (204, True, False, "true")
    forge.failures.clear()
    forge.answers |= {HOME: forge.answers[HOME] | {"empty": False}, f"{HOME}/languages": {}}
    forge.answers[f"{HOME}/contents-ext"] = {"dir_contents": []}
    assert await look() == (204, True, False, "true")


async def test_who_waits_for_a_fork_of_another_sees_the_reason_in_place(pages, forge):
    take_commits(forge, 503, admin=False)
    answer = await pages.client.get("/ann/demo", headers=pages.callers.headers(ANN) | IN_PLACE)
    assert (answer.status_code, is_part(answer), "being fetched" in answer.text) == (503, True, True)


@pytest.mark.parametrize("chosen", [(), ("lfs",), ("lfs", "mirror")])
async def test_an_import_fetches_what_its_form_says(pages, forge, chosen):
    forge.changed = {"full_name": "ann/lamps"}
    remote = "https://example.org/lamps.git"
    form = (await pages.get("/repo/create", ANN)).text
    values = {"owner": "ann", "name": "lamps", "clone_addr": remote, **dict.fromkeys(chosen, "1")}
    answer = await pages.submit(form, "Create repository", **values)
    ((method, path, body),) = forge.sent
    assert (answer.headers["location"], method, path) == ("/ann/lamps", "POST", "/repos/migrate")
    assert (body["clone_addr"], body["lfs"], body["mirror"]) == (remote, "lfs" in chosen, "mirror" in chosen)


async def test_an_import_signs_in_and_its_password_is_not_filled_in_again(pages, forge):
    form, forge.refuses = (await pages.get("/repo/create", ANN)).text, 422
    values = {
        "name": "lamps",
        "clone_addr": "https://example.org/lamps.git",
        "user": "ann",
        "password": " s3cret ",
    }
    refused = await pages.submit(form, "Create repository", **values)
    ((_, path, body),) = forge.sent
    assert (path, body["auth_username"], body["auth_password"]) == ("/repos/migrate", "ann", " s3cret ")
    again = form_of(refused.text, "/repo/create", "Create repository").values
    assert (again["user"], again["password"], "s3cret" in refused.text) == (["ann"], [""], False)


async def test_a_fork_says_whose_commits_are_being_copied(pages, forge):
    take_commits(forge, 503, migration=None)
    forge.failures[f"{HOME}/migration"] = 404
    for parent, words in (
        (
            {"full_name": "bob/demo", "default_branch": "main"},
            '<a href="/bob/demo">bob/demo</a> are being copied',
        ),
        (None, "The commits of its parent are being copied"),
    ):
        forge.answers[HOME] |= {"fork": True, "parent": parent}
        shown = await pages.get("/ann/demo", ANN)
        assert (shown.status_code, words in shown.text, "imported" in shown.text) == (503, True, False)
