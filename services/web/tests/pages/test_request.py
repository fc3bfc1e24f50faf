"""Forms: which are taken, and what every page says to browsers."""

import time

import pytest

from ingot_web.forms.rules.fields import Form, whole_number

from ..forge import HOME
from ..previews.test_previews import COMMENTS, send_in_place
from ..test_forms import ANSWERS, CHANGED_ANSWER, SUGGESTION
from ..world import ANN, BOB, World

FORM = "/notifications/read"


async def test_a_form_of_ones_own_page_is_taken(world):
    world.repos.unavailable = True
    answer = await world.post(
        FORM, {"token": world.form_token(ANN, at=time.time())}, ANN, origin="http://forge"
    )

    assert answer.status_code == 503, "it went on to the service, which is away"
    assert [call.path for call in world.repos.calls] == ["/api/v1/notifications"]


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        ({}, {}),
        ({"token": ""}, {}),
        ({"token": "1.0"}, {}),
        ({"token": "of another"}, {}),
        ({"token": "old"}, {}),
        ({"token": "own"}, {"origin": "http://evil"}),
        ({"token": "own"}, {"origin": "null"}),
        ({"token": "own"}, {"origin": "https://forge"}),
        ({"token": "own"}, {"sec-fetch-site": "cross-site"}),
        ({"token": "own"}, {"sec-fetch-site": "same-site"}),
    ],
)
async def test_a_form_that_is_forged_old_or_of_another_is_refused(world, form, headers):
    tokens = {
        "own": world.form_token(ANN, at=time.time()),
        "of another": world.form_token(BOB, at=time.time()),
        "old": world.form_token(ANN, at=time.time() - 13 * 3600),
    }
    sent = {name: tokens.get(value, value) for name, value in form.items()}
    answer = await world.post(FORM, sent, ANN, **headers)

    assert answer.status_code == 403
    assert "You may not do that" in answer.text
    assert not world.repos.calls


async def test_a_form_of_nobody_is_refused(world):
    answer = await world.post(FORM, {"token": world.form_token(ANN, at=time.time())})

    assert answer.status_code == 401
    assert not world.repos.calls


async def test_a_form_with_too_many_fields_is_refused(world):
    fields = {f"f{n}": "1" for n in range(500)} | {"token": world.form_token(ANN, at=time.time())}

    assert (await world.post(FORM, fields, ANN)).status_code == 400


@pytest.mark.parametrize(
    "path", ["/", "/ann", "/ann/demo", "/nothing/at/all", "/user/settings", "/robots.txt/x"]
)
@pytest.mark.parametrize("caller", [None, ANN])
async def test_every_page_forbids_what_it_does_not_need(world, path, caller):
    answer = await world.get(path, caller)
    policy = answer.headers["content-security-policy"]

    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; ")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("page", ["0", "-1", "x", "٣", "9" * 30, ""])
async def test_a_page_number_that_is_none_is_the_first(world, page):
    await world.get(f"/explore/repos?page={page}")

    assert "page=1&" in world.repos.calls[-1].query + "&"


async def test_a_site_below_a_path_links_below_it():
    world = World(public_url="http://forge/git/")
    page = (await world.get("/user/settings")).text

    assert 'href="/git/-/assets/style.css?' in page
    assert 'href="/git/login?to=/user/settings"' in page


async def test_a_form_with_files_is_read_and_needs_its_token_too(world):
    sent = {"token": world.form_token(ANN, at=time.time()), "body": "x"}
    headers = world.callers.headers(ANN)
    for fields, status in ((sent, 404), ({"body": "x"}, 403)):
        files = {"files": ("a.txt", b"text", "text/plain")}
        answer = await world.client.post(
            "/ann/demo/issues/1/comments", data=fields, files=files, headers=headers
        )
        assert answer.status_code == status
    broken = headers | {"content-type": "multipart/form-data; boundary=x"}
    for body in (b"", b"--x\r\nnonsense", b"--x--"):
        answer = await world.client.post("/ann/demo/issues/1/comments", content=body, headers=broken)
        assert answer.status_code in (403, 422), answer.text
    nothing = headers | {"content-type": "multipart/form-data"}
    answer = await world.client.post("/ann/demo/issues/1/comments", content=b"x", headers=nothing)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("head", "content"), [("", b"\xff"), ("; charset=nothing", b"x"), ("; charset=hex", b"x")]
)
async def test_a_form_whose_text_cannot_be_read_is_refused(world, head, content):
    part = f'--x\r\nContent-Disposition: form-data; name="body"\r\nContent-Type: text/plain{head}\r\n\r\n'
    headers = world.callers.headers(ANN) | {"content-type": "multipart/form-data; boundary=x"}
    answer = await world.client.post(
        "/ann/demo/issues/1/comments", content=part.encode() + content + b"\r\n--x--\r\n", headers=headers
    )

    assert answer.status_code == 400


@pytest.mark.parametrize("text", ["", "²", "٣", "-1", "1.0", "x", "9" * 5000])
def test_what_is_no_whole_number_is_none(text):
    assert whole_number(text) is None
    assert Form([("labels", "7"), ("labels", text)]).ids("labels") == [7]


async def test_who_would_be_sent_on_is_sent_on_by_htmx(pages, forge):
    replies = "/ann/demo/pulls/1/comments/5/replies"
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    closed = await send_in_place(pages, COMMENTS, body="", state="closed", shown="/ann/demo/issues/1")
    assert (closed.status_code, closed.content) == (204, b"")
    assert closed.headers["hx-redirect"] == "/ann/demo/issues/1"
    assert "hx-refresh" not in closed.headers

    page = "/ann/demo/pulls/1/files?style=unified"
    forge.answers[f"{HOME}/pulls/1/comments"] = [
        SUGGESTION | {"id": 6}
    ]  # the answered one is not shown any more
    here = await send_in_place(pages, replies, back="files", shown=page)
    assert here.headers["hx-redirect"] == f"{page}#thread-5"
    assert here.headers["hx-refresh"] == "true", "another fragment alone would load nothing"
    assert "hx-refresh" not in (await send_in_place(pages, replies, back="", shown=page)).headers
