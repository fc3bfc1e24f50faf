"""What passes through the gateway and what does not; the same over sockets and in one process."""

import asyncio
import base64
import hashlib

import aiohttp
import pytest
from gateway_world import World, client_of_world, raw, world

TOKEN = "t" * 40
REPO = "/api/v1/repos/ann/app"


def headers_of(told: dict) -> dict[str, str]:
    return dict(told["headers"])


async def test_a_request_arrives_as_it_was_sent(client):
    url = REPO + "/contents/a%20b%2Fc?q=%C3%A4&page=2"
    async with client.request("PATCH", url, data=b'{"a": 1}', headers={"X-Custom": "yes"}) as answer:
        told = await answer.json()

    assert told["service"] == "repos"
    assert told["method"] == "PATCH"
    assert told["path"] == REPO + "/contents/a b/c"
    assert told["query"] == "q=%C3%A4&page=2"
    assert told["sha256"] == hashlib.sha256(b'{"a": 1}').hexdigest()
    assert headers_of(told)["x-custom"] == "yes"
    assert headers_of(told)["content-length"] == "8"


@pytest.mark.parametrize(
    "path", ["/a%2Fb", "/a%25b", "/%E2%82%AC", "/a+b", "/a;b", "/a:b@c", "/%2e%2ex", "/a%3Fb"]
)
async def test_the_path_stays_encoded_as_it_was(forge, path):
    request = f"GET {REPO}/raw{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()

    assert f'"raw_path": "{REPO}/raw{path}"'.encode() in await raw(forge.url, request)


async def test_an_answer_comes_back_as_it_was_given(client):
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
        assert answer.headers["Location"] == "/elsewhere"
        assert answer.headers["Set-Cookie"] == "a=b"


async def test_a_packed_answer_stays_packed(client):
    async with client.get(REPO + "?do=packed") as answer:
        assert await answer.read() == b"\x1f\x8bpacked"
        assert answer.headers["Content-Encoding"] == "gzip"


async def test_a_request_without_credential_is_anonymous(forge, client):
    async with client.get(REPO) as answer:
        told = await answer.json()

    assert "ingot-principal" not in headers_of(told)
    assert not forge.identity.questions


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
async def test_a_credential_is_swapped_for_a_principal(client, query, headers):
    async with client.get(REPO + query, headers=headers) as answer:
        told = await answer.json()

    assert headers_of(told)["ingot-principal"] == "statement of 7"
    assert "authorization" not in headers_of(told)
    assert told["query"] == ""


async def test_a_credential_of_nobody_is_anonymous(client):
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


async def test_an_account_that_may_not_sign_in_is_told(forge, client):
    forge.identity.forbidden.add("banned")
    async with client.get(REPO, headers={"Authorization": "token banned"}) as answer:
        assert answer.status == 403
        assert (await answer.json())["message"] == "this account may not sign in"


async def test_without_identity_the_signed_in_wait_and_the_anonymous_go_on(forge, client):
    forge.identity.down = True
    async with client.get(REPO, headers={"Authorization": f"token {TOKEN}"}) as answer:
        assert answer.status == 503
        assert (await answer.json())["url"] == "http://ingot.test/api/v1/swagger"
        assert answer.headers["Retry-After"]
        assert answer.headers["X-Request-Id"]
    async with client.get(REPO) as answer:
        assert answer.status == 200


async def test_sudo_is_asked_of_identity_and_goes_no_further(forge, client):
    headers = {"Authorization": f"token {TOKEN}", "Sudo": "bob"}
    async with client.get(REPO, headers=headers) as answer:
        told = await answer.json()

    assert forge.identity.questions[0]["sudo"] == "bob"
    assert "sudo" not in headers_of(told)


@pytest.mark.parametrize(
    "name",
    [
        "Ingot-Principal",
        "Ingot-Service",
        "Ingot-Anything",
        "Authorization",
        "Sudo",
        "Cookie",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "Forwarded",
        "X-Real-IP",
        "Proxy-Authorization",
        "Keep-Alive",
        "TE",
        "Expect",
    ],
)
async def test_what_only_the_gateway_says_is_taken_off(client, name):
    async with client.get(REPO, headers={name: "forged"}) as answer:
        assert answer.status == 200
        assert "forged" not in str(await answer.json())


async def test_the_address_is_that_of_the_peer_alone(client):
    async with client.get(REPO, headers={"X-Forwarded-For": "203.0.113.9, 10.0.0.1"}) as answer:
        told = await answer.json()

    assert [value for name, value in told["headers"] if name == "x-forwarded-for"] == ["127.0.0.1"]


async def test_headers_of_one_connection_stay_on_it(forge):
    request = f"GET {REPO} HTTP/1.1\r\nHost: x\r\nConnection: close, X-Hop\r\nX-Hop: secret\r\n\r\n".encode()

    assert b"secret" not in await raw(forge.url, request)


@pytest.mark.parametrize("sent", ["abc-DEF_1.2", "0" * 64])
async def test_a_sound_request_id_is_kept_all_the_way(client, sent):
    async with client.get(REPO, headers={"X-Request-Id": sent}) as answer:
        assert headers_of(await answer.json())["x-request-id"] == sent
        assert answer.headers.getall("X-Request-Id") == [sent]


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, "ä", "{}", '"'])
async def test_any_other_request_id_is_replaced(client, sent):
    async with client.get(REPO, headers={"X-Request-Id": sent}) as answer:
        given = headers_of(await answer.json())["x-request-id"]

    assert len(given) == 32
    assert answer.headers.getall("X-Request-Id") == [given]


async def test_a_trace_goes_on(client):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with client.get(REPO, headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}) as answer:
        assert headers_of(await answer.json())["traceparent"].split("-")[1] == trace


async def test_a_change_at_identity_is_seen_by_the_same_caller_at_once(forge, client):
    headers = {"Authorization": f"token {TOKEN}"}
    for method, path in [("GET", REPO), ("GET", REPO), ("PUT", "/api/v1/user/following/bob"), ("GET", REPO)]:
        async with client.request(method, path, headers=headers) as answer:
            assert answer.status == 200

    assert len(forge.identity.questions) == 2


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
        ("POST", "/"),
        ("POST", "/api/v1/version"),
        ("GET", "/livez/app/info/refs"),
    ],
)
async def test_what_is_not_in_the_table_is_not_found(forge, method, path):
    request = (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()
    )
    answer = await raw(forge.url, request)

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b'{"message":"Not found."' in answer
    assert b"x-request-id: " in answer
    assert all(service.calls == 0 for service in forge.services.values())


async def test_the_gateway_answers_for_its_own_health(forge, client):
    for path in ("/livez", "/readyz", "/metrics"):
        async with client.get(path, headers={"Ingot-Principal": "forged"}) as answer:
            assert answer.status == 200

    assert all(service.calls == 0 for service in forge.services.values())


async def test_metrics_name_routes_not_paths(client):
    async with client.get("/api/v1/repos/secretive/name") as answer:
        assert answer.status == 200
    async with client.get("/metrics") as answer:
        metrics = await answer.text()

    assert 'route="/api/v1/repos/*"' in metrics
    assert "secretive" not in metrics


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("".join(f"X-{n}: y\r\n" for n in range(200)), 431),
        (f"X-Long: {'y' * 40_000}\r\n", 431),
        ("", 414),
    ],
)
async def test_a_head_beyond_the_limits_is_refused(forge, head, status):
    query = "q" * 20_000 if status == 414 else ""
    request = f"GET {REPO}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n".encode()
    answer = await raw(forge.url, request)

    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b'"message":' in answer
    assert forge.services["repos"].calls == 0


async def chunks(count: int, size: int = 2**16):
    for _ in range(count):
        yield b"x" * size


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_beyond_the_limit_is_refused(transport, chunked):
    async with (
        client_of_world(transport, api_body_limit=200_000) as client,
        client.post(REPO, data=chunks(8) if chunked else b"x" * 200_001) as answer,
    ):
        assert answer.status == 413
        assert (await answer.json())["message"]
        assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_within_the_limit_arrives_whole(transport, chunked):
    async with (
        client_of_world(transport, api_body_limit=2**19) as client,
        client.post(REPO, data=chunks(8) if chunked else b"x" * 2**19) as answer,
    ):
        told = await answer.json()

    assert told["size"] == 2**19
    assert ("content-length" in headers_of(told)) != chunked


async def test_git_has_no_limit(transport):
    async with (
        client_of_world(transport, api_body_limit=1) as client,
        client.post("/ann/app.git/git-receive-pack", data=chunks(100)) as answer,
    ):
        assert (await answer.json())["size"] == 100 * 2**16


async def test_an_answer_before_the_body_is_read_comes_through(forge: World, client):
    """As git is asked to sign in."""
    url = "/ann/app.git/git-receive-pack?do=private"
    async with client.post(url, data=chunks(4)) as answer:
        assert (answer.status, await answer.read()) == (401, b"sign in")
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="Ingot"'


async def test_after_an_early_answer_the_next_request_is_served(client):
    url = "/ann/app.git/git-receive-pack"
    for _ in range(3):
        async with client.post(url + "?do=private", data=chunks(40)) as answer:
            assert answer.status == 401
        async with client.post(url, data=b"pack") as answer:
            assert (await answer.json())["size"] == 4


async def test_a_service_that_stays_silent_times_out(transport):
    async with client_of_world(transport, api_seconds=0.2) as client, client.get(REPO + "?do=hang") as answer:
        assert answer.status == 504
        assert (await answer.json())["message"]


async def test_a_client_that_stays_silent_times_out(transport):
    async with world(transport, api_seconds=0.2) as forge:
        request = (
            f"POST {REPO} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf".encode()
        )
        answer = await raw(forge.url, request)

    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_what_keeps_moving_does_not_time_out(transport):
    async def slowly():
        for _ in range(6):
            await asyncio.sleep(0.1)
            yield b"x"

    async with (
        client_of_world(transport, git_seconds=0.4) as client,
        client.post("/ann/app/git-receive-pack", data=slowly()) as answer,
    ):
        assert (await answer.json())["size"] == 6


@pytest.mark.parametrize("do", ["hang", "drip"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_client_that_leaves_ends_the_work(forge, do, method):
    host, port = forge.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{method} {REPO}?do={do} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    await forge.services["repos"].asked.wait()
    writer.close()

    await asyncio.wait_for(forge.services["repos"].left.wait(), 10)


async def test_a_client_that_leaves_while_sending_ends_the_work(forge):
    host, port = forge.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    url = "/ann/app.git/git-receive-pack?do=hang"
    writer.write(f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf".encode())
    await forge.services["repos"].asked.wait()
    writer.close()

    await asyncio.wait_for(forge.services["repos"].left.wait(), 10)


async def test_an_answer_that_breaks_off_is_seen_to_break_off(client):
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.get(REPO + "?do=cut") as answer:
            await answer.read()


async def test_pipelined_requests_are_answered_in_order(forge):
    first = f"POST {REPO}?n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    last = f"GET {REPO}?n=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answers = await raw(forge.url, (first + last).encode())

    assert answers.count(b"HTTP/1.1 200 ") == 2
    assert answers.index(b'"n=1"') < answers.index(b'"n=2"')
