"""Errors of the gateway itself: a page for who looks at pages, the error object for programs."""

import pytest

from ingot_chassis.errors import ApiError, NotFound, Unavailable
from ingot_gateway.error_pages import error_page

SESSION = {"Cookie": "ingot-session=" + "5e" * 32}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
API = "/api/v1/repos/ann/app"


@pytest.mark.parametrize("path", ["/ann/app/issues", "/ann/app/archive/main.zip"])
async def test_a_browser_is_told_what_to_do_while_a_service_is_away(world, client, path):
    world.identity.internal.unavailable = True
    async with client.get(path, headers=SESSION | BROWSER) as answer:
        page = await answer.text()

    assert (answer.status, answer.content_type) == (503, "text/html")
    assert "Load this page again in a moment." in page
    assert f"<code>{answer.headers['X-Request-Id']}</code>" in page
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/ann/app/issues", {"Accept": "application/json"}), ("/ann/app/issues", {}), (API + "/hooks", BROWSER)],
)
async def test_a_program_gets_the_error_object(world, client, path, headers):
    world.identity.internal.unavailable = True
    credential = {"Authorization": "token unknown"} if path.startswith("/api") else SESSION
    async with client.get(path, headers=credential | headers) as answer:
        assert (answer.status, answer.content_type) == (503, "application/json")


@pytest.mark.parametrize(
    ("error", "advice"), [(NotFound(), "another way"), (Unavailable("<b>away</b>"), "again in a moment")]
)
def test_a_page_says_what_to_do_and_shows_no_markup_of_others(error: ApiError, advice):
    page = error_page(error, "<id>").decode()
    assert advice in page
    assert "<b>" not in page
    assert "<id>" not in page
