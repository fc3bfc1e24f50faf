"""Requests to services and their responses, over sockets and in one process."""

import base64
import hashlib

import pytest

from ingot_contracts.identity.credentials import Authenticate, Authenticated
from ingot_contracts.web import APPEARANCE

from .world import LOOPBACK, TOKEN, open_client, send_raw

REPO = "/api/v1/repos/ann/app"


def headers_of(echo: dict) -> dict[str, str]:
    return dict(echo["headers"])


async def test_a_request_arrives_as_it_was_sent(client):
    url = REPO + "/contents/a%20b%2Fc?q=%C3%A4&page=2"
    async with client.request("PATCH", url, data=b'{"a": 1}', headers={"X-Custom": "yes"}) as answer:
        echo = await answer.json()

    assert echo["service"] == "repos"
    assert echo["method"] == "PATCH"
    assert echo["path"] == REPO + "/contents/a b/c"
    assert echo["query"] == "q=%C3%A4&page=2"
    assert echo["sha256"] == hashlib.sha256(b'{"a": 1}').hexdigest()
    assert headers_of(echo)["x-custom"] == "yes"
    assert headers_of(echo)["content-length"] == "8"


@pytest.mark.parametrize(
    "path", ["/a%2Fb", "/a%25b", "/%E2%82%AC", "/a+b", "/a;b", "/a:b@c", "/%2e%2ex", "/a%3Fb"]
)
async def test_the_path_stays_encoded_as_it_was(world, path):
    request = f"GET {REPO}/raw{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()

    assert f'"raw_path":"{REPO}/raw{path}"'.encode() in await send_raw(world.url, request)


async def test_an_answer_comes_back_as_it_was_sent(client):
    async with client.post(REPO + "?do=created") as answer:
        assert answer.status == 201
        assert await answer.read() == b"{}"
        assert answer.headers.getall("Link") == ['</a>; rel="next"', '</b>; rel="last"']


async def test_an_empty_answer_stays_empty(client):
    async with client.delete(REPO + "?do=nothing") as answer:
        assert (answer.status, await answer.read()) == (204, b"")


async def test_redirects_and_cookies_are_passed_on_not_followed(client):
    async with client.get(REPO + "?do=move", allow_redirects=False) as answer:
        assert answer.status == 302
        assert answer.headers["Location"] == "/target"
        assert answer.headers["Set-Cookie"] == "a=b"


async def test_a_compressed_answer_stays_compressed(client):
    async with client.get(REPO + "?do=packed") as answer:
        assert await answer.read() == b"\x1f\x8bpacked"
        assert answer.headers["Content-Encoding"] == "gzip"


async def test_a_request_without_credential_is_anonymous(world, client):
    async with client.get(REPO) as answer:
        echo = await answer.json()

    assert "ingot-principal" not in headers_of(echo)
    assert not world.identity.authentications


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        (f"?token={TOKEN}", {}),
        (f"?access_token={TOKEN}", {}),
        ("", {"Authorization": f"token {TOKEN}"}),
        ("", {"Authorization": f"Bearer {TOKEN}"}),
        ("", {"Authorization": "Basic " + base64.b64encode(b"ann:secret").decode()}),
    ],
)
async def test_a_credential_is_exchanged_for_a_principal(client, query, headers):
    async with client.get(REPO + query, headers=headers) as answer:
        echo = await answer.json()

    assert headers_of(echo)["ingot-principal"] == "principal of 7"
    assert "authorization" not in headers_of(echo)
    assert echo["query"] == ""


@pytest.mark.parametrize("value", ["Basic " + base64.b64encode(b"client:secret").decode(), f"Bearer {TOKEN}"])
async def test_the_provider_of_oauth2_gets_the_credential_and_cookies_and_no_principal(world, client, value):
    headers = {"Authorization": value, "Cookie": "ingot-session=1"}
    async with client.post(f"/login/oauth/access_token?token={TOKEN}", headers=headers) as answer:
        echo = await answer.json()

    assert (echo["service"], echo["query"]) == ("identity", f"token={TOKEN}")
    assert headers_of(echo)["authorization"] == value
    assert headers_of(echo)["cookie"] == "ingot-session=1"
    assert "ingot-principal" not in headers_of(echo)
    assert not world.identity.authentications


async def test_who_asks_for_userinfo_is_found_out_here(client):
    headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": "ingot-session=1"}
    async with client.get("/login/oauth/userinfo", headers=headers) as answer:
        echo = await answer.json()

    assert headers_of(echo)["ingot-principal"] == "principal of 7"
    assert not {"authorization", "cookie"} & set(headers_of(echo))


async def test_several_lines_of_cookies_arrive_as_one(world):
    lines = "Host: x\r\nCookie: a=1\r\nCookie: b=2\r\nConnection: close"
    assert b"a=1; b=2" in await send_raw(world.url, f"GET /login HTTP/1.1\r\n{lines}\r\n\r\n".encode())


async def test_an_unknown_credential_is_anonymous(client):
    async with client.get(REPO, headers={"Authorization": "token unknown"}) as answer:
        assert answer.status == 200
        assert "ingot-principal" not in headers_of(await answer.json())


@pytest.mark.parametrize(
    "value", ["Basic", "Basic !", "Basic YQ==", "Basic YQ", "nonsense", "token", "Basic Og=="]
)
async def test_a_broken_credential_is_anonymous(client, value):
    async with client.get(REPO, headers={"Authorization": value}) as answer:
        assert answer.status == 200
        assert "ingot-principal" not in headers_of(await answer.json())


async def test_an_account_that_may_not_sign_in_is_refused(world, client):
    world.identity.banned = True
    async with client.get(REPO, headers={"Authorization": f"token {TOKEN}"}) as answer:
        assert answer.status == 403
        assert (await answer.json())["message"] == "this account may not sign in"


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        (REPO, "application/json"),
        ("/ann/app/info/refs", "text/plain"),
        ("/ann/app.git/info/lfs/objects/batch", "application/vnd.git-lfs+json"),
    ],
)
async def test_a_password_that_needs_a_code_is_refused_with_words(world, client, path, content_type):
    credential = Authenticate(name="ann", password="secret", address=LOOPBACK)
    world.identity.internal.credentials[credential] = Authenticated(
        principal_token="", user_id=0, needs_code=True
    )
    authorization = {"Authorization": "Basic " + base64.b64encode(b"ann:secret").decode()}
    async with client.get(path, headers=authorization) as answer:
        assert (answer.status, answer.content_type) == (401, content_type)
        assert "use an access token instead of the password" in await answer.text()
        assert answer.headers["X-Gitea-OTP"] == "required; app"
    world.identity.add_credential(7, name="ann", password="secret", code="123456")
    async with client.get(path, headers={**authorization, "X-Gitea-OTP": "123456"}) as answer:
        echo = await answer.json()

    assert headers_of(echo)["ingot-principal"] == "principal of 7"
    assert "x-gitea-otp" not in headers_of(echo)


@pytest.mark.parametrize(
    ("path", "content_type", "start"),
    [
        ("/ann/app/info/refs?service=git-upload-pack", "text/plain", b""),
        ("/ann/app.git/git-receive-pack", "text/plain", b""),
        ("/ann/app.git/info/lfs/objects/batch", "application/vnd.git-lfs+json", b'{"message":"'),
    ],
)
async def test_git_and_git_lfs_are_refused_in_what_they_show(world, client, path, content_type, start):
    world.identity.internal.unavailable = True
    async with client.get(path, headers={"Authorization": "token unknown"}) as answer:
        assert (answer.status, answer.content_type) == (503, content_type)
        assert answer.headers["Retry-After"]
        assert (await answer.read()).startswith(start)


@pytest.mark.parametrize("path", [REPO, "/ann/app/info/refs", "/api/v1/user"])
async def test_the_session_of_a_browser_opens_no_api_and_no_git(world, client, path):
    world.identity.add_credential(7, session="5e" * 32)
    async with client.get(path, headers={"Cookie": "ingot-session=" + "5e" * 32}) as answer:
        echo = await answer.json()

    assert not {"ingot-principal", "cookie"} & headers_of(echo).keys()
    assert not world.identity.authentications


@pytest.mark.parametrize(
    "path",
    [
        "/ann/app/attachments/0",
        "/ann/app/archive/main.zip",
        "/ann/app/pulls/1.diff",
        "/ann/app/releases/assets/0",
        "/api/v1/repos/ann/app/raw/large.bin",
        "/api/v1/repos/ann/app/media/large.bin",
    ],
)
async def test_the_session_of_a_browser_opens_what_pages_link_to_for_reading(world, client, path):
    world.identity.add_credential(7, session="5e" * 32)
    headers = {"Cookie": "other=1; ingot-session=" + "5e" * 32}
    async with client.get(path, headers=headers) as answer:
        read = headers_of(await answer.json())
    async with client.get(path, headers={**headers, "Authorization": "token unknown"}) as answer:
        with_token = headers_of(await answer.json())
    async with client.post(path, headers=headers) as answer:
        changed = headers_of(await answer.json())

    assert read["ingot-principal"] == "principal of 7"
    assert "ingot-principal" not in with_token
    assert "ingot-principal" not in changed
    assert "cookie" not in read


async def test_pages_are_told_the_limits_and_nobody_else_is(client):
    forged = {"ingot-rate-limits": "{}"}
    async with client.get("/ann/app", headers=forged) as answer:
        page = headers_of(await answer.json())
    async with client.get(REPO, headers=forged) as answer:
        other = headers_of(await answer.json())

    assert page["ingot-rate-limits"] == '{"account":0,"token":0,"address":0,"refusals":{}}'
    assert "ingot-rate-limits" not in other


async def test_without_identity_only_anonymous_requests_are_served(world, client):
    world.identity.internal.unavailable = True
    async with client.get(REPO, headers={"Authorization": f"token {TOKEN}"}) as answer:
        assert answer.status == 503
        assert (await answer.json())["url"] == "http://ingot.test/api/v1/swagger"
        assert answer.headers["Retry-After"]
        assert answer.headers["X-Request-Id"]
    async with client.get(REPO) as answer:
        assert answer.status == 200


async def test_sudo_reaches_identity_and_no_service(world, client):
    world.identity.add_credential(8, token=TOKEN, sudo="bob")
    headers = {"Authorization": f"token {TOKEN}", "Sudo": "bob"}
    async with client.get(REPO, headers=headers) as answer:
        echo = await answer.json()

    assert headers_of(echo)["ingot-principal"] == "principal of 8"
    assert "sudo" not in headers_of(echo)


async def test_the_address_is_that_of_the_peer_alone(client):
    async with client.get(REPO, headers={"X-Forwarded-For": "203.0.113.9, 10.0.0.1"}) as answer:
        echo = await answer.json()

    assert [value for name, value in echo["headers"] if name == "x-forwarded-for"] == ["127.0.0.1"]


async def test_a_trace_is_continued(client):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with client.get(REPO, headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}) as answer:
        assert headers_of(await answer.json())["traceparent"].split("-")[1] == trace


async def test_after_a_change_at_identity_the_caller_is_authenticated_again(world, client):
    headers = {"Authorization": f"token {TOKEN}"}
    for method, path in [("GET", REPO), ("GET", REPO), ("PUT", "/api/v1/user/following/bob"), ("GET", REPO)]:
        async with client.request(method, path, headers=headers) as answer:
            assert answer.status == 200

    assert world.identity.authentications == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/internal/jwks"),
        ("POST", "/internal/authenticate"),
        ("GET", "//internal/jwks"),
        ("GET", "/internal/openapi.json"),
        ("GET", "/internal/described"),
        ("GET", "/api/v1/../../internal/jwks"),
        ("GET", "/api/v1/%2e%2e/%2e%2e/internal/jwks"),
        ("GET", "/%69nternal/jwks"),
        ("GET", "/api/v1/unknown"),
        ("GET", "/livez/app/info/refs"),
    ],
)
async def test_what_is_not_in_the_table_is_no_operation(world, method, path):
    request = (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()
    )
    answer = await send_raw(world.url, request)

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b'{"message":"no such operation","url":"http://ingot.test/api/v1/swagger"' in answer
    assert b"x-request-id: " in answer
    assert all(service.calls == 0 for service in world.services.values())


async def test_metrics_name_routes_not_paths():
    async with open_client("asgi", metrics_public=True) as client:
        async with client.get("/api/v1/repos/secretive/name") as answer:
            assert answer.status == 200
        async with client.get("/metrics") as answer:
            metrics = await answer.text()

    assert 'route="/api/v1/repos/*"' in metrics
    assert "secretive" not in metrics


async def test_metrics_are_not_public_unless_settings_say_so(client):
    async with client.get("/metrics") as answer:
        assert (answer.status, (await answer.json())["message"]) == (404, "no such operation")


async def test_pipelined_requests_are_answered_in_order(world):
    first = f"POST {REPO}?n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    last = f"GET {REPO}?n=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answers = await send_raw(world.url, (first + last).encode())

    assert answers.count(b"HTTP/1.1 200 ") == 2
    assert answers.index(b'"n=1"') < answers.index(b'"n=2"')


@pytest.mark.parametrize("path", ["/api/v1/version", "/api/v1/swagger", "/api/v1/settings/api"])
async def test_the_own_paths_know_their_methods(client, path):
    async with client.post(path) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
        assert (await answer.json())["url"] == "http://ingot.test/api/v1/swagger"
    async with client.options(path) as answer:
        assert (answer.status, answer.headers["Allow"]) == (204, "GET, HEAD, OPTIONS")


async def test_head_passes_and_has_no_body(world, client):
    async with client.head(REPO) as answer:
        assert answer.status == 200
        assert int(answer.headers["Content-Length"]) > 0
        assert await answer.read() == b""
    async with client.head("/api/v1/version") as answer:
        assert (answer.status, await answer.read()) == (200, b"")
    async with client.get(REPO) as answer:  # the connection is still good
        assert (await answer.json())["method"] == "GET"


@pytest.mark.parametrize(
    ("path", "headers", "token"),
    [
        ("/ann/app.git/info/lfs/objects/x", {"Authorization": "Lfs abc"}, "abc"),
        ("/ann/app.git/info/lfs/objects/x", {"Authorization": "Lfs abc", "Lfs-Token": "abc"}, "abc"),
        ("/ann/app.git/info/lfs/objects/x", {"Authorization": "Basic abc"}, None),
        (REPO, {"Authorization": "Lfs abc"}, None),
    ],
)
async def test_a_token_of_lfs_reaches_repos_in_a_header_of_its_own(client, path, headers, token):
    async with client.get(path, headers=headers) as answer:
        arrived = headers_of(await answer.json())

    assert arrived.get("lfs-token") == token
    assert not {"authorization", "ingot-principal"} & arrived.keys()


async def test_pages_get_the_appearance_of_the_account_and_programs_do_not(world, client):
    world.identity.add_credential(7, session="5e" * 32, appearance="dark.compact.8")
    cookie = {"Cookie": f"{APPEARANCE}=light.compact.2; ingot-session=" + "5e" * 32}
    forged = {APPEARANCE: "contrast.compact.2"}
    async with client.get("/ann/app", headers=cookie | forged) as answer:
        signed_in = headers_of(await answer.json())
    async with client.get("/ann/app", headers=forged) as answer:
        visitor = headers_of(await answer.json())
    async with client.get(REPO, headers={"Authorization": f"Bearer {TOKEN}"} | forged) as answer:
        program = headers_of(await answer.json())
    assert (signed_in[APPEARANCE], signed_in["cookie"]) == ("dark.compact.8", f"{APPEARANCE}=light.compact.2")
    assert APPEARANCE not in visitor
    assert APPEARANCE not in program


async def test_the_page_after_a_form_shows_what_the_form_changed(world, client):
    world.identity.add_credential(7, session="5e" * 32, appearance="dark.compact.8")
    cookie = {"Cookie": "ingot-session=" + "5e" * 32}
    async with client.get("/ann/app", headers=cookie):
        world.identity.add_credential(7, session="5e" * 32, appearance="light.compact.2")
    async with client.post("/user/settings/appearance", headers=cookie) as answer:
        assert answer.status == 200
    async with client.get("/ann/app", headers=cookie) as answer:
        assert headers_of(await answer.json())[APPEARANCE] == "light.compact.2"
