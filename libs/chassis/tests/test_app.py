"""The edge of every service: errors, bodies, policies, health."""

from typing import Annotated

import httpx
import msgspec
import pytest
from litestar import Litestar, Response, get, post, put, route
from sqlalchemy.exc import OperationalError

from ingot_chassis.app import Parts, service_app
from ingot_chassis.body import ApiRequest
from ingot_chassis.errors import Conflict, InsufficientStorage, Invalid
from ingot_chassis.keys import Jwks, SigningKey
from ingot_chassis.policy import admin, anyone, basic, services, signed_in
from ingot_chassis.principal import (
    Principal,
    PrincipalVerifier,
    ServiceIdentity,
    ServiceVerifier,
    sign_principal,
)
from ingot_chassis.settings import ServiceSettings

KEY, SERVICE_KEY, GATEWAY_KEY = SigningKey.generate(), SigningKey.generate(), SigningKey.generate()


MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nann\r\n'
    b'--b\r\nContent-Disposition: form-data; name="number"\r\n\r\n2\r\n--b--\r\n'
)


class Thing(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=5)]
    number: int = 0
    tags: list[str] = []


@post("/things", policy=anyone("write:thing"))
async def make(data: Thing) -> Thing:
    return data


@post("/owners/{owner:str}/things", policy=anyone("write:thing"), operation_id="makeFor")
async def make_for(data: Thing) -> Thing:
    return data


@post("/deep", policy=anyone("write:thing"), request_max_body_size=10_000_000)
async def deep(data: Thing) -> Thing:
    return data


@get("/lists/{name:str}", policy=anyone())
async def listed(request: ApiRequest, name: str) -> Response[str]:
    return Response(name, headers=request.page_headers(request.page(), 100))


@get("/clash", policy=anyone())
async def clash() -> None:
    raise Conflict("there is one already")


@get("/wrong", policy=anyone())
async def wrong() -> None:
    raise Invalid.field("name", "taken", "is taken")


class DiskFull(Exception):
    """As a room of a service would raise it."""


@get("/full", policy=anyone())
async def full() -> None:
    raise DiskFull


@get("/database/{words:str}", policy=anyone())
async def database(words: str) -> None:
    raise OperationalError("INSERT", {}, Exception(words))


@get("/crash", policy=anyone())
async def crash() -> None:
    raise ZeroDivisionError("secret detail")


@route("/owners/{owner:str}/{rest:path}", http_method=["GET", "PUT"], policy=anyone())
async def elsewhere(request: ApiRequest) -> None:
    raise request.moved(owner="new one")


@get("/things/{thing_id:int}", policy=anyone())
async def one(thing_id: int) -> int:
    return thing_id


class Moving(msgspec.Struct):
    thing_id: int


@put("/things/{thing_id:int}", policy=anyone())
async def replace(thing_id: int, data: Moving) -> int:
    return thing_id + data.thing_id


@get("/mine", policy=signed_in("read:thing"))
async def mine(request: ApiRequest) -> str:
    return request.who.name


@get("/secrets", policy=basic())
async def secrets() -> str:
    return "yes"


@get("/rule", policy=admin())
async def rule() -> str:
    return "yes"


@get("/change", policy=signed_in("write:thing"))
async def change() -> str:
    return "yes"


@get("/internal/x", policy=services("friend"))
async def inside() -> str:
    return "yes"


@get("/forgotten")
async def forgotten() -> str:
    return "no policy, no answer"


async def keys() -> Jwks:
    return Jwks([KEY.jwk()])


def app(public_url: str = "http://ingot.test/") -> Litestar:
    parts = Parts(
        name="counter",
        settings=ServiceSettings(public_url=public_url),
        principal_verifier=PrincipalVerifier("counter", keys),
        service_verifier=ServiceVerifier("counter", {"friend": SERVICE_KEY.x, "gateway": GATEWAY_KEY.x}),
    )
    routes = [
        make,
        make_for,
        deep,
        listed,
        clash,
        wrong,
        crash,
        elsewhere,
        full,
        database,
        one,
        replace,
        mine,
        secrets,
        rule,
        change,
        inside,
        forgotten,
    ]
    full_disk = {DiskFull: lambda _error: InsufficientStorage()}
    return service_app(parts, routes=routes, max_body=1000, translations=full_disk)


def client(public_url: str = "http://ingot.test/") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app(public_url)), base_url="http://counter")


def as_(principal: Principal) -> dict[str, str]:
    return {"ingot-principal": sign_principal(principal, KEY, audience=["counter"])}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/clash", 409),
        ("/wrong", 422),
        ("/crash", 500),
        ("/full", 507),
        ("/database/database or disk is full", 507),
        ("/database/no such table", 500),
        ("/nowhere", 404),
        ("/things", 404),
        ("/forgotten", 404),
    ],
)
async def test_every_error_is_the_error_object(path, status):
    async with client() as http:
        answer = await http.get(path)
    assert answer.status_code == status
    assert {"message", "url"} <= answer.json().keys()
    assert "secret detail" not in answer.text


async def test_a_wrong_field_is_named():
    async with client() as http:
        answer = await http.get("/wrong")
    assert answer.json()["errors"] == [{"field": "name", "code": "taken", "message": "is taken"}]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 422, "name"),
        (b"{}", 422, "name"),
        (b"[]", 400, "body"),
        (b'"x"', 400, "body"),
        (b"{nonsense", 400, None),
        (b"\xff\xfe", 400, None),
        (b"[" * 900, 400, None),
        (b'{"name": 5}', 400, "name"),
        (b'{"name": "longer"}', 422, "name"),
        (b'{"name": "x", "tags": [1]}', 400, "tags[0]"),
        (b'{"name": "a\\u0000"}', 422, "name"),
        (b'{"name": "x", "number": 9223372036854775808}', 422, "number"),
    ],
)
async def test_a_bad_body_is_refused_with_the_field(body, status, field):
    async with client() as http:
        answer = await http.post("/things", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert [error["field"] for error in answer.json().get("errors", [])] == ([field] if field else [])


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"NAME": "ann", "Number": 2, "unknown": 1, "tags": null}'),
        ("application/x-www-form-urlencoded", b"name=ann&number=2"),
        ("multipart/form-data; boundary=b", MULTIPART),
        ("", b'{"name": "ann", "number": 2}'),
    ],
)
async def test_a_body_is_read_in_every_form(content_type, body):
    headers = {"content-type": content_type} if content_type else {}
    async with client() as http:
        answer = await http.post("/things", content=body, headers=headers)
    assert answer.status_code == 201
    assert answer.json() == {"name": "ann", "number": 2, "tags": []}


async def test_describing_the_app_leaves_its_errors_as_they_were():
    statement = ServiceIdentity("gateway", GATEWAY_KEY).statement("counter")
    async with client() as http:
        before = await http.post("/owners/ann/things", json={})
        described = await http.get("/internal/openapi.json", headers={"ingot-service": statement})
        after = await http.post("/owners/ann/things", json={})
    assert "/owners/{owner}/things" in described.json()["paths"]
    assert (before.status_code, before.json()) == (after.status_code, after.json())
    assert after.json()["errors"] == [{"field": "name", "code": "required", "message": "is required"}]


@pytest.mark.parametrize("prefix", ["", "/forge"])
@pytest.mark.parametrize(("method", "status"), [("GET", 302), ("PUT", 307)])
async def test_what_has_moved_leads_to_its_present_path(prefix, method, status):
    async with client(f"http://ingot.test{prefix}/") as http:
        answer = await http.request(method, "/owners/old/a%20b/c?q=%26&page=2")
    assert answer.status_code == status
    assert answer.headers["location"] == f"{prefix}/owners/new%20one/a%20b/c?q=%26&page=2"


async def test_a_body_of_any_depth_is_refused_and_never_a_crash():
    headers = {"content-type": "application/json"}
    async with client() as http:
        # Which part of reading gives up depends on the depth, down to single steps.
        for depth in [*range(1, 100, 9), *range(880, 1010), 5_000, 100_000]:
            body = b'{"name":' + b"[" * depth + b'"x"' + b"]" * depth + b"}"
            answer = await http.post("/deep", content=body, headers=headers)
            assert answer.status_code in (400, 422), depth


async def test_an_unknown_content_type_is_refused():
    async with client() as http:
        answer = await http.post("/things", content=b"<a/>", headers={"content-type": "application/xml"})
    assert answer.status_code == 415


async def test_a_body_over_the_limit_is_refused():
    async with client() as http:
        answer = await http.post("/things", content=b"x" * 1001, headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize("name", ["main", "%E6%97%A5%E6%9C%AC", "a%20b%3E", "a%0D%0Ab"])
async def test_a_list_of_any_name_leads_to_its_next_page(name):
    async with client() as http:
        answer = await http.get(f"/lists/{name}?limit=9")
    assert answer.headers["link"].startswith(f"<http://ingot.test/lists/{name}?page=2&limit=9>")


async def test_a_body_that_breaks_off_is_no_failure_of_the_service():
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/things", "raw_path": b"/things",
        "query_string": b"", "root_path": "", "headers": [], "client": None, "server": None, "scheme": "http",
    }  # fmt: skip
    coming = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    answered = []

    async def receive():
        return next(coming)

    async def send(message):
        answered.append(message)

    await app()(scope, receive, send)
    assert answered[0]["status"] == 400


@pytest.mark.parametrize("thing_id", ["0", "-1", "x", "9223372036854775808", "1" * 40])
async def test_an_impossible_id_is_not_found(thing_id):
    async with client() as http:
        assert (await http.get(f"/things/{thing_id}")).status_code == 404


@pytest.mark.parametrize(
    ("path", "who", "status"),
    [
        ("/mine", None, 401),
        ("/mine", Principal(id=1, name="ann", via="basic"), 200),
        ("/mine", Principal(id=1, name="ann", via="token", scopes=["read:thing"]), 200),
        ("/mine", Principal(id=1, name="ann", via="token", scopes=["write:thing"]), 200),
        ("/mine", Principal(id=1, name="ann", via="token", scopes=["read:other"]), 403),
        ("/secrets", Principal(id=1, name="ann", via="basic"), 200),
        ("/secrets", Principal(id=1, name="ann", via="token"), 401),
        ("/rule", None, 403),
        ("/rule", Principal(id=1, name="ann", via="basic"), 403),
        ("/rule", Principal(id=1, name="ann", admin=True, via="basic"), 200),
        ("/rule", Principal(id=1, name="ann", admin=True, via="token", scopes=["read:user"]), 403),
        ("/change", Principal(id=1, name="ann", via="token"), 200),
        ("/change", Principal(id=1, name="ann", via="token", confined_to=[1]), 403),
        ("/mine", Principal(id=1, name="ann", via="token", confined_to=[1]), 200),
        ("/rule", Principal(id=1, name="ann", admin=True, via="token", confined_to=[1]), 403),
        ("/internal/x", Principal(id=1, name="ann", admin=True, via="basic"), 404),
    ],
)
async def test_a_policy_lets_in_whom_it_names(path, who, status):
    async with client() as http:
        assert (await http.get(path, headers=as_(who) if who else {})).status_code == status


async def test_internal_routes_open_to_the_named_services_only():
    async with client() as http:
        for name, status in (("friend", 200), ("stranger", 401)):
            statement = ServiceIdentity(name, SERVICE_KEY).statement("counter")
            assert (await http.get("/internal/x", headers={"ingot-service": statement})).status_code == status


async def test_a_false_principal_is_refused_and_not_taken_for_anonymous():
    forged = sign_principal(Principal(id=1, admin=True), SigningKey.generate(), audience=["counter"])
    async with client() as http:
        assert (await http.get("/things/1", headers={"ingot-principal": forged})).status_code == 401


async def test_the_request_id_comes_back():
    async with client() as http:
        assert (await http.get("/livez", headers={"x-request-id": "abc"})).headers["x-request-id"] == "abc"
        assert len((await http.get("/livez")).headers["x-request-id"]) == 32


async def test_the_process_tells_its_health_and_its_metrics():
    async with client() as http:
        assert (await http.get("/readyz")).text == "ready"
        await http.get("/things/1")
        told = (await http.get("/metrics")).text
    assert (
        'ingot_requests_total{method="GET",route="/things/{thing_id}",service="counter",status="200"}' in told
    )


async def test_a_field_of_the_body_is_not_taken_for_the_parameter_of_that_name():
    async with client() as http:
        answer = await http.put("/things/1", json={"thing_id": []})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "thing_id")
        for path in ("/things/x", "/things/x?thing_id=y"):
            assert (await http.put(path, json={"thing_id": 1})).status_code == 404
