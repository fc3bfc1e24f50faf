"""The first page of a repository whose commits are fetched, or could not be."""

import pytest

from .forge import HOME, MOMENT
from .world import ANN

MIGRATION = {
    "status": "running", "phase": "receiving", "percent": 42, "received": 2048, "error": "", "created_at": MOMENT,
    "original_url": "https://example.org/<name>.git", "finished_at": None,
}  # fmt: skip


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
    assert (shown.status_code, shown.headers["refresh"]) == (200, "5")
    for words in ('value="42"', "Receiving, 42 %; 2.0 KiB received", "https://example.org/&lt;name&gt;.git"):
        assert words in shown.text
    assert 'href="/ann/demo?refresh=no"' in shown.text
    assert "refresh" not in (await pages.get("/ann/demo?refresh=no", ANN)).headers
    answer = await pages.submit(shown.text, "Cancel the import", to="/migrate/cancel")
    assert (answer.headers["location"], forge.sent) == ("/ann/demo", [("DELETE", f"{HOME}/migration", {})])


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
    assert (shown.status_code, "refresh" in shown.headers, words in shown.text) == (200, False, True)
    again = await pages.submit(shown.text, "Import it again", to="/migrate/retry")
    assert (again.headers["location"], forge.sent) == ("/ann/demo", [("POST", f"{HOME}/migration", {})])


@pytest.mark.parametrize(
    ("status", "shown_status", "refresh", "words"),
    [(503, 503, "5", "they are on their way"), (404, 200, None, "they could not be fetched")],
)
async def test_readers_see_that_there_are_no_commits_and_nothing_of_the_import(
    pages, forge, status, shown_status, refresh, words
):
    take_commits(forge, status, admin=False)
    shown = await pages.get("/ann/demo", ANN)
    assert (shown.status_code, shown.headers.get("refresh"), words in shown.text) == (
        shown_status,
        refresh,
        True,
    )
    assert f"{HOME}/migration" not in forge.read_paths
    assert "migrate" not in shown.text


async def test_a_repository_with_commits_whose_files_are_away_is_no_import(pages, forge):
    take_commits(forge, 503, empty=False)
    away = await pages.get("/ann/demo", ANN)
    assert (away.status_code, "refresh" in away.headers, away.headers["retry-after"]) == (503, False, "1")
