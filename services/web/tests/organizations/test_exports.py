"""The archive of an organization on its page: begun, watched, downloaded, deleted."""

import pytest

from ..forge import MOMENT
from ..test_forms import ORGANIZATION
from ..world import ANN

PAGE = "/org/crew/settings/export"
API = "/orgs/crew/exports"
EXPORT = {
    "id": 7, "status": "running", "repositories": {"waiting": 1, "running": 1, "done": 3, "failed": 0},
    "size": 0, "error": "", "created_at": MOMENT, "finished_at": None, "expires_at": None,
}  # fmt: skip
DONE = EXPORT | {
    "id": 6, "status": "done", "size": 2048, "finished_at": MOMENT, "expires_at": MOMENT,
    "repositories": {"waiting": 0, "running": 0, "done": 4, "failed": 1},
}  # fmt: skip
PARTS = [
    {"id": 1, "name": "lamps", "status": "done", "size": 1024, "error": "", "left_out_files": [
        {"number": 4, "name": "<film>.mp4", "size": 50_000_000, "reason": "too-large"},
    ]},
    {"id": 2, "name": "oil", "status": "failed", "size": 0, "error": "it was <deleted>",
     "left_out_files": []},
]  # fmt: skip
AGAIN = '<meta http-equiv="refresh" content="5">'


@pytest.fixture(autouse=True)
def crew(forge):
    forge.answers["/orgs/crew"] = ORGANIZATION


async def test_an_organization_is_exported_by_a_button(pages, forge):
    forge.answers[API] = []
    shown = await pages.get(PAGE, ANN)
    assert (shown.status_code, AGAIN in shown.text, "/archive" in shown.text) == (200, False, False)
    assert f'href="{PAGE}" aria-current="page"' in shown.text
    forge.answers[f"POST {API}"] = EXPORT
    answer = await pages.submit(shown.text, "Export organization", to="/export")
    assert (answer.headers["location"], forge.sent) == (PAGE, [("POST", API, {})])


async def test_an_export_that_runs_is_watched_and_cancelled(pages, forge):
    forge.answers |= {API: [EXPORT, DONE], f"{API}/7/repositories": PARTS}
    shown = await pages.get(PAGE, ANN)
    for words in (
        AGAIN, "3 of 5 repositories exported", "2.0 KiB, finished", "1 repository is not in the archive",
        'href="/api/v1/orgs/crew/exports/6/archive"', "it was &lt;deleted&gt;", "&lt;film&gt;.mp4 of #4",
    ):  # fmt: skip
        assert words in shown.text, words
    assert "exports/7/archive" not in shown.text
    assert AGAIN not in (await pages.get(f"{PAGE}?refresh=no", ANN)).text
    answer = await pages.submit(shown.text, "Cancel export", to="/export")
    assert (answer.headers["location"], forge.sent) == (PAGE, [("DELETE", f"{API}/7", {})])


async def test_a_failed_export_says_why_and_is_deleted(pages, forge):
    failed = EXPORT | {"status": "failed", "error": "larger than <this> server takes"}
    forge.answers |= {API: [failed], f"{API}/7/repositories": []}
    shown = await pages.get(PAGE, ANN)
    assert "failed: larger than &lt;this&gt; server takes." in shown.text
    answer = await pages.submit(shown.text, "Delete export", to="/export")
    assert forge.sent == [("DELETE", f"{API}/7", {})]
    forge.refuses = 409
    answer = await pages.submit(shown.text, "Export again", to="/export")
    assert answer.status_code == 409


async def test_members_who_do_not_own_the_organization_see_no_export(pages, forge):
    rights = {"is_owner": False, "is_admin": False, "can_read": True}
    forge.answers["/users/ann/orgs/crew/permissions"] = rights
    shown = await pages.get("/org/crew/settings", ANN)
    assert PAGE not in shown.text
    forge.failures[API] = 403
    assert (await pages.get(PAGE, ANN)).status_code == 403
