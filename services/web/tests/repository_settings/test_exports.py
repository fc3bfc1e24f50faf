"""The archive of a repository on its page: begun, watched, downloaded, deleted."""

from ..forge import HOME, MOMENT
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN

PAGE = "/ann/demo/settings/export"
EXPORT = {
    "status": "running", "counts": {"issues": 30, "pulls": 1}, "size": 0, "error": "", "created_at": MOMENT,
    "finished_at": None, "expires_at": None, "layout": "archive", "left_out": [],
    "left_out_files": [],
}  # fmt: skip
ENDED = {"finished_at": MOMENT, "expires_at": MOMENT}
DOWNLOAD = 'href="/api/v1/repos/ann/demo/export/archive"'
AGAIN = '<noscript><meta http-equiv="refresh" content="5"></noscript>'


async def test_a_repository_is_exported_by_a_button(pages, forge):
    forge.failures[f"{HOME}/export"] = 404
    shown = await pages.get(PAGE, ANN)
    assert (shown.status_code, AGAIN in shown.text, DOWNLOAD in shown.text) == (200, False, False)
    assert f'href="{PAGE}" aria-current="page"' in shown.text
    del forge.failures[f"{HOME}/export"]
    forge.answers[f"POST {HOME}/export"] = EXPORT
    answer = await pages.submit(shown.text, "Export repository", to="/export")
    assert (answer.headers["location"], forge.sent) == (PAGE, [("POST", f"{HOME}/export", {})])


async def test_an_export_that_runs_is_watched_and_cancelled(pages, forge):
    forge.answers[f"{HOME}/export"] = EXPORT
    shown = await pages.get(PAGE, ANN)
    assert (AGAIN in shown.text, f'hx-get="{PAGE}"' in shown.text, DOWNLOAD in shown.text) == (
        True,
        True,
        False,
    )
    assert "31 objects written" in shown.text
    assert "<td>Issues</td><td>30</td>" in shown.text
    still = (await pages.get(f"{PAGE}?refresh=no", ANN)).text
    assert not [again for again in (AGAIN, "hx-get") if again in still.partition("<main")[2]]
    answer = await pages.submit(shown.text, "Cancel export", to="/export")
    assert (answer.headers["location"], forge.sent) == (PAGE, [("DELETE", f"{HOME}/export", {})])


async def test_the_progress_is_replaced_in_place_until_the_export_ends(pages, forge):
    forge.answers[f"{HOME}/export"] = EXPORT
    part = await pages.client.get(PAGE, headers=pages.callers.headers(ANN) | IN_PLACE)
    assert (is_part(part), "31 objects written" in part.text) == (True, True)
    forge.answers[f"{HOME}/export"] = EXPORT | ENDED | {"status": "done"}
    assert (await pages.client.get(PAGE, headers=pages.callers.headers(ANN) | IN_PLACE)).headers[
        "HX-Refresh"
    ] == "true"


async def test_an_archive_is_downloaded_and_deleted(pages, forge):
    forge.answers[f"{HOME}/export"] = EXPORT | ENDED | {"status": "done", "size": 2048}
    shown = await pages.get(PAGE, ANN)
    for words in (DOWNLOAD, "2.0 KiB, finished", "Export again"):
        assert words in shown.text, words
    answer = await pages.submit(shown.text, "Delete archive", to="/export")
    assert (answer.headers["location"], forge.sent) == (PAGE, [("DELETE", f"{HOME}/export", {})])


async def test_an_export_for_gitea_is_named_with_what_it_leaves_out(pages, forge):
    done = EXPORT | ENDED | {"status": "done", "size": 2048}
    words = ("layout of Gitea", "Ingot does not import it", "Download folder as ZIP", "are left out")
    forge.answers[f"{HOME}/export"] = done
    plain = (await pages.get(PAGE, ANN)).text
    assert [one for one in words if one in plain] == []
    forge.answers[f"{HOME}/export"] = done | {"layout": "gitea", "left_out": [3, 8]}
    shown = (await pages.get(PAGE, ANN)).text
    assert [one for one in words if one not in shown] == []
    for number in (3, 8):
        assert f'<a href="/ann/demo/pulls/{number}">#{number}</a>' in shown


async def test_files_that_an_archive_lacks_are_named(pages, forge):
    files = [
        {"number": 4, "name": "<film>.mp4", "size": 50_000_000, "reason": "too-large"},
        {"number": 5, "name": "b.log", "size": 1024, "reason": "lost"},
    ]
    forge.answers[f"{HOME}/export"] = EXPORT | ENDED | {"status": "done", "left_out_files": files}
    shown = (await pages.get(PAGE, ANN)).text
    for words in (
        '&lt;film&gt;.mp4 of <a href="/ann/demo/issues/4">#4</a>, 47.7 MiB: too large',
        'b.log of <a href="/ann/demo/issues/5">#5</a>, 1.0 KiB: not stored',
    ):
        assert words in shown, words


async def test_a_failed_export_says_why_and_is_begun_again(pages, forge):
    failed = {"status": "failed", "error": "larger than <this> server takes"}
    forge.answers[f"{HOME}/export"] = EXPORT | ENDED | failed
    shown = await pages.get(PAGE, ANN)
    assert "The export failed: larger than &lt;this&gt; server takes." in shown.text
    assert DOWNLOAD not in shown.text
    forge.refuses = 409
    answer = await pages.submit(shown.text, "Export again", to="/export")
    assert answer.status_code == 409
