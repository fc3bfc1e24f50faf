"""The pages of imports of organizations for site administrators."""

import time

import pytest

from ..test_calls import IMPORTED
from ..test_forms import IMPORT
from ..world import ROOT

PATH = "/admin/imports"
FIELDS = {
    "address": "https://there.example.org",
    "source": "crew",
    "password": "t0ken",
    "repositories": "app-* lib",
    "people": "cat,ann\r\ndog,bob",
}


async def test_an_import_is_begun_with_the_fields_of_the_form(pages, forge):
    forge.changed = IMPORT
    sent = await pages.submit(PATH, "Import organization", caller=ROOT, **FIELDS)
    assert sent.headers["location"].endswith(f"{PATH}/1")
    method, target, body = forge.sent[-1][:3]
    assert (method, target, body["dry_run"]) == ("POST", PATH, False)
    assert (body["service"], body["address"], body["source"]) == (
        "gitea", "https://there.example.org", "crew"
    )  # fmt: skip
    assert (body["repositories"], body["auth_password"]) == (["app-*", "lib"], "t0ken")
    assert body["people_csv"].splitlines() == ["cat,ann", "dog,bob"]
    assert (body["issues"], body["wiki"], body["lfs"], body["private"]) == (True, True, False, False)
    assert body["teams"] is True


async def test_a_trial_shows_what_would_come_and_keeps_the_form(pages, forge):
    forge.changed = {"repositories": ["app-1"], "taken": ["lib"], "excluded": 4, "is_complete": True}
    shown = await pages.submit(PATH, "Preview import", caller=ROOT, **FIELDS)
    assert "1 repository would come. 4 are left out by the patterns, and 1" in shown.text
    assert 'value="app-* lib"' in shown.text
    assert "t0ken" not in shown.text
    assert forge.sent[-1][2]["dry_run"] is True


async def test_an_import_asks_an_old_session_for_a_proof(pages, forge):
    forge.answers["/user/proof"] |= {"needed": True, "password": True}
    page = await pages.submit(PATH, "Import organization", caller=ROOT, **FIELDS)
    assert (page.status_code, forge.sent) == (403, [])
    assert "Confirm that it is you" in page.text


@pytest.mark.parametrize("action", ["", "try", "other"])
async def test_no_other_action_than_the_one_with_a_proof_imports(pages, forge, action):
    forge.changed = {"repositories": [], "taken": [], "excluded": 0, "is_complete": True}
    form = {"token": pages.form_token(ROOT, at=time.time()), "do": action, **FIELDS}
    await pages.post(PATH, form, ROOT)
    assert [body["dry_run"] for _, _, body in forge.sent] == [True]


async def test_an_import_that_runs_shows_a_bar_and_each_repository(pages, forge):
    team = {"name": "<crew>", "id": 3, "status": "done", "members": 1, "error": ""}
    refused = {"name": "old", "id": None, "status": "failed", "members": 0, "error": "no team may have it"}
    forge.answers |= {
        f"{PATH}/1": IMPORT,
        f"{PATH}/1/repositories": [IMPORTED | {"id": 7, "name": "<app>"}],
        f"{PATH}/1/teams": [team, refused],
        f"{PATH}/1/absent_members": [{"login": "<cat>", "id": 70, "teams": 1}],
    }
    shown = (await pages.get(f"{PATH}/1", ROOT)).text
    assert '<progress max="4" value="3"' in shown
    assert "&lt;app&gt;" in shown
    assert "5 of 9 issues" in shown
    assert '&lt;crew&gt;</strong><p class="muted small">Done · 1 member</p>' in shown
    assert "no team may have it" in shown
    assert "1 at the source did not join their teams: &lt;cat&gt;." in shown
    assert 'http-equiv="refresh"' in shown
    assert "This page reloads every 5 seconds." in shown
    assert 'http-equiv="refresh"' not in (await pages.get(f"{PATH}/1?refresh=no", ROOT)).text
    await pages.submit(f"{PATH}/1", "Cancel import", caller=ROOT)
    assert forge.sent[-1][:2] == ("DELETE", f"{PATH}/1")


async def test_an_import_that_failed_shows_why_and_is_not_cancelled(pages, forge):
    failed = IMPORT | {"status": "failed", "error": "the remote refused the credentials"}
    forge.answers |= {f"{PATH}/1": failed, f"{PATH}/1/repositories": []}
    forge.answers |= {f"{PATH}/1/teams": [], f"{PATH}/1/absent_members": []}
    shown = (await pages.get(f"{PATH}/1", ROOT)).text
    assert "the remote refused the credentials" in shown
    assert "Cancel import" not in shown
    assert 'http-equiv="refresh"' not in shown


def ended(forge, **more):
    done = IMPORT | {"status": "done", "repeat": 2, **more}
    forge.answers |= {f"{PATH}/1": done, f"{PATH}/1/teams": [], f"{PATH}/1/absent_members": []}
    forge.answers[f"{PATH}/1/repositories"] = [IMPORTED | {"id": 7, "name": "app", "conflicts": 3}]


async def test_an_import_that_ended_is_repeated(pages, forge):
    ended(forge)
    shown = await pages.get(f"{PATH}/1", ROOT)
    assert "and repeated 2 times." in shown.text
    assert '/app/settings/migrate">3 changed on both sides</a>' in shown.text
    forge.changed = IMPORT
    fields = {"password": "t0ken", "people": "cat,ann", "map_logins": "1"}
    sent = await pages.submit(shown.text, "Import again", to="/again", caller=ROOT, **fields)
    assert (sent.status_code, sent.headers["location"].endswith(f"{PATH}/1")) == (303, True)
    body = {"auth_username": "", "auth_password": "t0ken", "people_csv": "cat,ann", "map_logins": True}
    assert forge.sent == [("POST", f"{PATH}/1/again", body)]


async def test_people_of_an_import_get_accounts(pages, forge):
    ended(forge)
    shown = await pages.get(f"{PATH}/1", ROOT)
    fields = {"accounts": "cat,ann\r\ndog,bob"}
    sent = await pages.submit(shown.text, "Assign to accounts", to="/people", caller=ROOT, **fields)
    assert sent.status_code == 303
    [(method, path, body)] = forge.sent
    assert (method, path, body["people_csv"].splitlines()) == (
        "POST",
        f"{PATH}/1/people",
        ["cat,ann", "dog,bob"],
    )


async def test_a_refused_repeat_keeps_the_form_without_its_secret(pages, forge):
    ended(forge)
    shown = await pages.get(f"{PATH}/1", ROOT)
    forge.refuses = 409
    fields = {"password": "t0ken", "people": "cat,ann"}
    refused = await pages.submit(shown.text, "Import again", to="/again", caller=ROOT, **fields)
    assert refused.status_code == 409
    assert "cat,ann" in refused.text
    assert "t0ken" not in refused.text
