"""The edge of every service: errors, bodies, policies, health."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

import asyncpg
import httpx
import msgspec
import pytest
from litestar import Litestar, Response, get, post, put, route
from sqlalchemy import MetaData
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from ingot_chassis.db import pool
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Conflict, InsufficientStorage, Invalid, NotAllowed, NotFound
from ingot_chassis.events.bus import Bus
from ingot_chassis.http import openapi
from ingot_chassis.http.app import service_app
from ingot_chassis.http.database_errors import DATABASE_ERRORS
from ingot_chassis.http.policy import Policy, admin, anyone, basic, resource, services, signed_in
from ingot_chassis.http.request import ApiRequest
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_chassis.security.keys import Jwks, SigningKey
from ingot_chassis.security.principal import (
    Principal,
    PrincipalVerifier,
    ServiceIdentity,
    ServiceVerifier,
    sign_principal,
)
from ingot_chassis.service import ServiceParts
from ingot_chassis.settings import ServiceSettings


async def sweep() -> None:
    """A periodic task."""


KEY, SERVICE_KEY, GATEWAY_KEY, WEB_KEY = (SigningKey.generate() for _ in range(4))


MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nann\r\n'
    b'--b\r\nContent-Disposition: form-data; name="number"\r\n\r\n2\r\n--b--\r\n'
)


class Kind(StrEnum):
    LARGE = "large"
    SMALL = "small"


class KindOfThing(msgspec.Struct):
    """Fields with fixed values, and one that may be empty."""

    kind: Kind | None = None
    color: Literal["red", "blue"] | msgspec.UnsetType = msgspec.UNSET
    name: str = "nameless"


@post("/kinds", policy=anyone("write:thing"))
async def make_kind(data: KindOfThing) -> KindOfThing:
    return data


@get("/kinds", policy=anyone())
async def list_kinds(kind: Kind = Kind.LARGE, name: str = "nameless") -> list[str]:
    return [kind, name]


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


@get("/checks/{name:str}", policy=anyone(), status_code=204)
async def check(name: str) -> None:
    if name != "there":
        raise NotFound


@post("/merges/{name:str}", policy=anyone(), bodiless=(405,), error_statuses={422: 400})
async def merge(name: str, data: Thing) -> None:
    raise NotAllowed(f"{name} blocks it,\n100 % sure")


class DiskFull(Exception):
    """As a layer below the handlers would raise it."""


@get("/full", policy=anyone())
async def full() -> None:
    raise DiskFull


DATABASE = {
    "full": asyncpg.DiskFullError('could not extend file "base/16384/2619"'),
    "clash": asyncpg.UniqueViolationError("Key (name)=(database or disk is full) already exists."),
}


@get("/database/{how:str}", policy=anyone())
async def database(how: str) -> None:
    raise OperationalError("INSERT", {}, DATABASE[how])


AWAY = {
    "ends": asyncpg.AdminShutdownError("terminating connection due to administrator command"),
    "starts": asyncpg.CannotConnectNowError("the database system is starting up"),
    "cut": asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
}


@get("/away/{how:str}", policy=anyone())
async def away(how: str) -> None:
    if how == "refused":
        database = Database("postgresql+asyncpg://nobody@127.0.0.1:1/nothing", MetaData())
        async with database.read():
            pass
    raise OperationalError("SELECT", {}, AWAY[how])


@get("/crash", policy=anyone())
async def crash() -> None:
    raise ZeroDivisionError("secret detail")


@route("/owners/{owner:str}/{rest:path}", http_method=["GET", "PUT"], policy=anyone())
async def moved_route(request: ApiRequest) -> None:
    raise request.moved(owner="new one")


@get("/things/{thing_id:int}", policy=anyone())
async def one(thing_id: int) -> int:
    return thing_id


class MovedThing(msgspec.Struct):
    thing_id: int


@put("/things/{thing_id:int}", policy=anyone())
async def replace(thing_id: int, data: MovedThing) -> int:
    return thing_id + data.thing_id


@get("/mine", policy=signed_in("read:thing"))
async def mine(request: ApiRequest) -> str:
    return request.principal.name


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


@get("/undecided", policy=Policy("resource", "read:room", "read"))
async def undecided() -> str:
    return "a resource policy that nobody decides"


async def decide_room(connection, level):
    number = connection.path_params["number"]
    if number != 7:
        raise NotFound
    return f"room {number} at {level} for {connection.scope['principal'].name}"


@get("/rooms/{number:int}", policy=resource("write", "write:room", decide_room))
async def room(request: ApiRequest) -> str:
    return request.resource


async def keys() -> Jwks:
    return Jwks([KEY.jwk()])


def app(public_url: str = "http://ingot.test/", before_send: Sequence[Any] = ()) -> Litestar:
    parts = ServiceParts(
        name="counter",
        settings=ServiceSettings(public_url=public_url, metrics_public=True),
        bus=Bus("nats://127.0.0.1:1", name="counter"),
        principal_verifier=PrincipalVerifier("counter", keys),
        service_verifier=ServiceVerifier(
            "counter", {"friend": SERVICE_KEY.x, "gateway": GATEWAY_KEY.x, "web": WEB_KEY.x}
        ),
    )
    parts.tasks.append(PeriodicTask("counter_sweep", timedelta(hours=1), sweep))
    routes = [
        make,
        make_for,
        make_kind,
        list_kinds,
        deep,
        listed,
        check,
        clash,
        merge,
        wrong,
        crash,
        moved_route,
        full,
        database,
        away,
        one,
        replace,
        mine,
        secrets,
        rule,
        change,
        inside,
        forgotten,
        room,
        undecided,
    ]
    translations = {**DATABASE_ERRORS, DiskFull: lambda _error: InsufficientStorage()}
    return service_app(
        parts, routes=routes, max_body=1000, translations=translations, before_send=before_send
    )


def client(public_url: str = "http://ingot.test/") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app(public_url)), base_url="http://counter")


def as_(principal: Principal) -> dict[str, str]:
    return {"ingot-principal": sign_principal(principal, KEY, audience=["counter"])}


@pytest.mark.parametrize("how", ["refused", *AWAY])
async def test_a_database_that_is_away_is_503_and_one_line_in_the_log(how, monkeypatch):
    monkeypatch.setattr(pool, "AWAY_SECONDS", 0.0)
    with capture_logs() as lines:
        async with client() as http:
            answer = await http.get(f"/away/{how}")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["message"] == "the database does not answer"
    assert [line["event"] for line in lines] == ["database away", "request"]


@pytest.mark.parametrize("path", ["/full", "/database/full"])
async def test_a_disk_that_is_full_is_one_line_in_the_log(path):
    with capture_logs() as lines:
        async with client() as http:
            await http.get(path)
    assert [line["event"] for line in lines] == ["request failed", "request"]
    assert (lines[0]["log_level"], "exc_info" in lines[0]) == ("error", False)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/clash", 409),
        ("/wrong", 422),
        ("/crash", 500),
        ("/full", 507),
        ("/database/full", 507),
        ("/database/clash", 500),
        ("/nowhere", 404),
        ("/things", 405),
        ("/forgotten", 404),
        ("/undecided", 404),
    ],
)
async def test_every_error_is_the_error_object(path, status):
    async with client() as http:
        answer = await http.get(path)
    assert answer.status_code == status
    assert {"message", "url"} <= answer.json().keys()
    assert "secret detail" not in answer.text


async def test_a_function_is_called_before_an_answer_is_sent_also_of_an_error():
    calls = []

    async def note(message, scope):
        calls.append((scope["path"], message["type"]))

    transport = httpx.ASGITransport(app("http://ingot.test/", [note]))
    async with httpx.AsyncClient(transport=transport, base_url="http://counter") as http:
        for path in ("/livez", "/clash", "/nowhere"):
            await http.get(path)
    starts = [path for path, kind in calls if kind == "http.response.start"]
    assert starts == ["/livez", "/clash", "/nowhere"]


async def test_a_wrong_field_is_named():
    async with client() as http:
        answer = await http.get("/wrong")
    assert answer.json()["errors"] == [{"field": "name", "code": "taken", "message": "is taken"}]


async def test_an_empty_string_is_absent_where_values_are_fixed_and_kept_where_they_are_free():
    async with client() as http:
        answer = await http.post("/kinds", json={"kind": "", "Color": "", "name": ""})
        refused = await http.post("/kinds", json={"kind": "huge"})
        long = await http.post("/kinds", json={"kind": "x" * 500})
    assert answer.json() == {"kind": None, "name": ""}
    assert (refused.status_code, long.status_code) == (422, 422)
    assert len(long.content) < 1000


@pytest.mark.parametrize("query", ["", "kind=", "kind=&name=", "x=&kind=&y=1", "name=&kind=large"])
async def test_an_empty_parameter_of_the_query_is_absent(query):
    async with client() as http:
        answer = await http.get(f"/kinds?{query}")
    assert answer.json() == ["large", "nameless"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 422, "name"),
        (b"{}", 422, "name"),
        (b"[]", 422, "body"),
        (b'"x"', 422, "body"),
        (b"{nonsense", 422, None),
        (b"\xff\xfe", 422, None),
        (b"[" * 900, 422, None),
        (b'{"name": 5}', 422, "name"),
        (b'{"name": "longer"}', 422, "name"),
        (b'{"name": "x", "tags": [1]}', 422, "tags[0]"),
        (b'{"name": "a\\u0000"}', 422, "name"),
        (b'{"name": "x", "number": 9223372036854775808}', 422, "number"),
        (b'{"name": "x", "number": "9223372036854775808"}', 422, "number"),
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
    statement = ServiceIdentity("gateway", GATEWAY_KEY).token("counter")
    async with client() as http:
        before = await http.post("/owners/ann/things", json={})
        described = await http.get("/internal/openapi.json", headers={"ingot-service": statement})
        after = await http.post("/owners/ann/things", json={})
    assert "/owners/{owner}/things" in described.json()["paths"]
    assert (before.status_code, before.json()) == (after.status_code, after.json())
    assert after.json()["errors"] == [{"field": "name", "code": "required", "message": "is required"}]


async def test_the_app_is_described_once(monkeypatch):
    """The gateway asks again when an answer came too late, and would make the next one late, too."""
    described = []
    monkeypatch.setattr(openapi, "openapi_description", lambda app: described.append(app) or {"paths": {}})
    statement = ServiceIdentity("gateway", GATEWAY_KEY).token("counter")
    async with client() as http:
        answers = [
            await http.get("/internal/openapi.json", headers={"ingot-service": statement}) for _ in range(2)
        ]
    assert [answer.json() for answer in answers] == [{"paths": {}}] * 2
    assert len(described) == 1


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
            assert answer.status_code == 422, depth


async def test_an_unknown_content_type_is_refused():
    async with client() as http:
        answer = await http.post("/things", content=b"<a/>", headers={"content-type": "application/xml"})
    assert answer.status_code == 415


async def test_a_body_over_the_limit_is_refused():
    async with client() as http:
        answer = await http.post("/things", content=b"x" * 1001, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["message"]) == (413, "The body is too large.")


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
        ("/change", Principal(id=1, name="ann", via="token", restricted_to=[1]), 403),
        ("/mine", Principal(id=1, name="ann", via="token", restricted_to=[1]), 200),
        ("/rule", Principal(id=1, name="ann", admin=True, via="token", restricted_to=[1]), 403),
        ("/internal/x", Principal(id=1, name="ann", admin=True, via="basic"), 404),
    ],
)
async def test_a_policy_lets_in_whom_it_names(path, who, status):
    async with client() as http:
        assert (await http.get(path, headers=as_(who) if who else {})).status_code == status


async def test_internal_routes_open_to_the_named_services_only():
    async with client() as http:
        for name, status in (("friend", 200), ("stranger", 401)):
            statement = ServiceIdentity(name, SERVICE_KEY).token("counter")
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
        text = (await http.get("/metrics")).text
    assert (
        'ingot_requests_total{method="GET",route="/things/{thing_id}",service="counter",status="200"}' in text
    )


async def test_a_check_that_answers_no_has_no_body():
    async with client() as http:
        yes, no = await http.get("/checks/there"), await http.get("/checks/none")
    assert (yes.status_code, yes.content) == (204, b"")
    assert (no.status_code, no.content) == (404, b"")


async def test_an_error_without_a_body_has_its_reason_in_a_header():
    async with client() as http:
        answer = await http.post("/merges/Jörg", json={"name": "x"})
    assert (answer.status_code, answer.content) == (405, b"")
    assert answer.headers["x-error-message"] == "J%C3%B6rg blocks it,%0A100 %25 sure"


async def test_a_route_may_answer_errors_with_another_status():
    async with client() as http:
        for content in (b"{", b'{"name": 5}', b"{}"):
            answer = await http.post(
                "/merges/x", content=content, headers={"content-type": "application/json"}
            )
            assert (answer.status_code, "message" in answer.json()) == (400, True)


async def test_a_field_of_the_body_is_not_taken_for_the_parameter_of_that_name():
    async with client() as http:
        answer = await http.put("/things/1", json={"thing_id": []})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "thing_id")
        for path in ("/things/x", "/things/x?thing_id=y"):
            assert (await http.put(path, json={"thing_id": 1})).status_code == 404


async def test_what_a_resource_policy_found_is_there_for_the_handler():
    async with client() as http:
        answer = await http.get("/rooms/7", headers=as_(Principal(id=1, name="ann", via="token")))
    assert answer.text == "room 7 at write for ann"


async def test_what_a_resource_policy_refuses_is_refused_before_the_handler():
    async with client() as http:
        answer = await http.get("/rooms/8", headers=as_(Principal(id=1, name="ann", via="token")))
    assert answer.status_code == 404


async def test_a_parameter_in_the_path_of_the_wrong_type_is_not_found():
    async with client() as http:
        answer = await http.get("/things/x?number=y")
    assert (answer.status_code, answer.json()["message"]) == (404, "Not found.")


@pytest.mark.parametrize(("name", "key"), [("gateway", GATEWAY_KEY), ("web", WEB_KEY)])
async def test_the_gateway_and_web_list_and_run_periodic_tasks_and_nobody_else_does(name, key):
    gateway = {"ingot-service": ServiceIdentity(name, key).token("counter")}
    async with client() as http:
        assert (await http.post("/internal/tasks/counter_sweep", headers=gateway)).status_code == 204
        [task] = (await http.get("/internal/tasks", headers=gateway)).json()
        assert (task["name"], task["seconds"], task["runs"]) == ("counter_sweep", 3600, 1)
        assert (await http.post("/internal/tasks/missing", headers=gateway)).status_code == 404
        friend = {"ingot-service": ServiceIdentity("friend", SERVICE_KEY).token("counter")}
        for headers in ({}, friend, as_(Principal(id=1, name="root", admin=True))):
            assert (await http.get("/internal/tasks", headers=headers)).status_code == 404
            answer = await http.post("/internal/tasks/counter_sweep", headers=headers)
            assert answer.status_code == 404
