"""Errors of the gateway itself: a page for who looks at pages, the error object for programs."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from ingot_chassis.errors import Denied, NotFound, TooLarge, Unavailable
from ingot_contracts.web import PageFrame
from ingot_gateway.error_pages import error_page

from .world import open_client

SESSION = {"Cookie": "ingot-session=" + "5e" * 32}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "identity"}
API = "/api/v1/repos/ann/app"
SITE = PageFrame("", "Ingot")


@pytest.mark.parametrize("path", ["/ann/app/issues", "/ann/app/archive/main.zip"])
async def test_a_browser_is_told_what_to_do_while_a_service_is_away(world, client, path):
    world.identity.internal.unavailable = True
    async with client.get(path, headers=SESSION | BROWSER) as answer:
        page = await answer.text()

    assert (answer.status, answer.content_type) == (503, "text/html")
    seconds = answer.headers["Retry-After"]
    assert f"Wait {seconds} second{'s' if seconds != '1' else ''}, and load this page again." in page
    assert f"<code>{answer.headers['X-Request-Id']}</code>" in page
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("public_url", "root"), [("http://ingot.test/", ""), ("http://ingot.test/git/", "/git")]
)
async def test_while_web_is_away_the_page_below_a_path_looks_like_the_others(public_url, root):
    site = open_client("asgi", away="web", public_url=public_url, site_name="Ann & Co")
    async with site as client, client.get("/a/b/c", headers=BROWSER) as answer:
        page = await answer.text()

    assert answer.status == 503
    assert "Wait 1 second, and load this page again." in page
    plain = re.sub(r"<style>.*?</style>", "", page)
    title = re.search(r"<title>(.*) · Ann", page)[1]
    start, _, end = PageFrame(root, "Ann & Co").document(title, "|").partition("|")
    assert (plain.startswith(start), plain.endswith(end)) == (True, True), "the frame of all pages"


async def test_without_its_style_sheet_the_page_has_some_style_that_its_policy_allows(world, client):
    world.identity.internal.unavailable = True
    async with client.get("/ann/app", headers=SESSION | BROWSER) as answer:
        page, policy = await answer.text(), answer.headers["Content-Security-Policy"]

    style, _, rest = page.partition("<style>")[2].partition("</style>")
    assert "overflow-wrap:anywhere" in style
    assert "stylesheet" in rest, "what web says of the look goes over it"
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/ann/app/issues", {"Accept": "application/json"}), ("/ann/app/issues", {}), (API + "/hooks", BROWSER)],
)
async def test_a_program_gets_the_error_object(world, client, path, headers):
    world.identity.internal.unavailable = True
    credential = {"Authorization": "token unknown"} if path.startswith("/api") else SESSION
    async with client.get(path, headers=credential | headers) as answer:
        assert (answer.status, answer.content_type) == (503, "application/json")


LINKED = ("/ann/app/archive/main.zip", "/ann/app/releases/download/v1/app.zip", "/login/nothing")


@pytest.mark.parametrize("path", LINKED)
@pytest.mark.parametrize("headers", [BROWSER, BROWSER | SESSION])
async def test_what_a_service_without_pages_refuses_to_a_browser_is_a_page(world, client, path, headers):
    world.identity.add_credential(7, session="5e" * 32)
    async with client.get(f"{path}?do=missing", headers=headers) as answer:
        page = await answer.text()
    assert (answer.status, answer.content_type, answer.headers["Retry-After"]) == (404, "text/html", "9")
    assert "<p>No &lt;file&gt;.</p>" in page
    assert f"<code>{answer.headers['X-Request-Id']}</code>" in page
    assert answer.headers["Content-Length"] == str(len(page.encode()))
    may_sign_in = headers is BROWSER and not path.startswith("/login")
    assert (f'href="/login?to={path}%3Fdo%3Dmissing">sign in</a>' in page) is may_sign_in


@pytest.mark.parametrize(("path", "headers"), [
    (LINKED[0], {}), (LINKED[0], {"Accept": "application/json"}), (API, BROWSER),
    (f"{API}/raw/a.txt", BROWSER),
])  # fmt: skip
async def test_a_program_gets_the_error_object_of_the_service(client, path, headers):
    async with client.get(f"{path}?do=missing", headers=headers) as answer:
        assert (answer.status, await answer.json()) == (404, {"message": "no <file>", "url": ""})


async def test_a_browser_gets_what_no_service_refuses_as_it_is(client):
    async with client.get(LINKED[0], headers=BROWSER) as answer:
        assert (answer.status, (await answer.json())["path"]) == (200, LINKED[0])


@pytest.mark.parametrize(("error", "advice"), [
    (NotFound(), "another name"), (Denied(), "Ask somebody"), (TooLarge(), "another way"),
    (Unavailable("<b>away</b>", retry_after=30), "Wait 30 seconds, and"),
])  # fmt: skip
def test_a_page_says_what_to_do_and_shows_no_markup_of_others(error, advice):
    page = error_page(error, "<id>", SITE).decode()
    assert advice in page
    assert "<b>" not in page
    assert "<id>" not in page
