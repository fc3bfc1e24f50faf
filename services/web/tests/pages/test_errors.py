"""Errors as pages."""

import pytest

from ..forge import HOME
from ..test_forms import FORMS
from ..world import ANN


@pytest.mark.parametrize("caller", [None, ANN])
async def test_what_is_not_there_is_a_page_with_the_id_of_the_request(world, caller):
    answer = await world.get("/ann/nothing", caller)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "There is no such page" in answer.text
    assert answer.headers["x-request-id"] in answer.text


async def test_a_path_without_a_route_is_the_same_page(world):
    answer = await world.get("/ann/demo/no/such/page")

    assert (answer.status_code, "There is no such page" in answer.text) == (404, True)


@pytest.mark.parametrize(("caller", "offers_sign_in"), [(None, True), (ANN, False)])
@pytest.mark.parametrize("path", ["/ann/nothing", "/ann/demo/no/such/page"])
async def test_who_is_signed_in_is_not_asked_to_sign_in(world, path, caller, offers_sign_in):
    answer = await world.get(path, caller)
    assert ("Sign in</a>" in answer.text, "sign in</a> to see" in answer.text) == (
        offers_sign_in,
        offers_sign_in,
    )


async def test_a_service_that_is_away_is_said_and_when_to_try_again(world):
    world.repos.unavailable = True
    answer = await world.get("/ann/demo")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "Wait 1 second, and load this page again." in answer.text


async def test_who_has_to_sign_in_is_told_where_and_comes_back(world):
    answer = await world.get("/user/settings?a=ä%22&b=2")

    assert answer.status_code == 401
    assert 'href="/login?to=/user/settings%3Fa%3D%25C3%25A4%2522%26b%3D2"' in answer.text
    refused = await world.post("/user/settings", {})
    assert (refused.status_code, 'href="/login"' in refused.text) == (401, True)


async def test_a_method_that_a_page_has_not_is_refused(world):
    for method, path, allowed in (
        ("DELETE", "/user/settings", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/ann/demo", "GET, HEAD, OPTIONS"),
        ("PUT", "/ann/demo/branches/delete", "OPTIONS, POST"),
    ):
        answer = await world.client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
        assert "<h1>This page cannot do that</h1>" in answer.text


async def test_the_address_of_a_form_leads_to_its_page(world):
    led = 0
    for path in FORMS:
        if "GET" in (await world.client.options(path)).headers["allow"]:
            continue
        for method in ("GET", "HEAD"):
            answer = await world.client.request(method, path)
            assert (answer.status_code, answer.text) == (303, ""), path
        page = answer.headers["location"].partition("#")[0]
        assert "GET" in (await world.client.options(page)).headers["allow"], page
        led += 1
    assert led > 30


@pytest.mark.parametrize("path", ["/internal/tasks/x", "/internal/nothing"])
async def test_what_is_for_services_alone_is_not_there_for_a_browser(world, path):
    answer = await world.get(path)
    assert (answer.status_code, "There is no such page" in answer.text) == (404, True)


@pytest.mark.parametrize(
    "path", ["/%00", "/ann/%00", "/ann/demo/issues/99999999999999999999", "/ann/demo/issues/0"]
)
async def test_what_nobody_can_have_named_is_not_there(world, path):
    assert (await world.get(path)).status_code == 404


@pytest.mark.parametrize(("status", "wait", "words"), [
    (429, "7", "Wait 7 seconds, and"), (429, "1", "Wait 1 second, and"), (429, "", "Wait a moment, and"),
    (408, "", "Wait a moment, and"),
])  # fmt: skip
async def test_who_asked_too_much_is_told_how_long_to_wait(pages, forge, status, wait, words):
    forge.failures[HOME] = status
    forge.headers[HOME] = {"retry-after": wait} if wait else {}
    answer = await pages.get("/ann/demo/labels", ANN)
    assert (answer.status_code, words in answer.text) == (status, True)
    assert answer.headers.get("retry-after", "") == wait
