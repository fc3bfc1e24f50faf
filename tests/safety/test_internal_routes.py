"""Routes between services: each serves only the services that ``internal_routes.txt`` names."""

import re
from functools import partial
from pathlib import Path

import httpx
import pytest

from ingot_chassis.errors import NO_OPERATION
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import (
    PRINCIPAL_HEADER,
    SERVICE_HEADER,
    Principal,
    ServiceIdentity,
    sign_principal,
)
from ingot_contracts.topology import SERVICES

from .apps import app_of, policies_of
from .rules import CALLERS
from .test_matrix import AT_ONCE, WHOLE, comparable, in_turn

PUBLIC = "GET /internal/jwks"
"""Public keys: without them no service could verify who is calling."""
DESCRIBED = "/internal/described"
"""Litestar's own pages of its description: routes without a policy, which reject every caller."""
VALUES = {
    "command": "git-upload-pack",
    "branch": "main",
    "owner": "ann",
    "repo": "open",
    "login": "ann",
    "key": "00",
}


def _table() -> dict[str, dict[str, set[str]]]:
    """Service -> ``METHOD path`` -> whom it answers."""
    table: dict[str, dict[str, set[str]]] = {service: {} for service in SERVICES}
    owners, callers = [""], {""}
    for line in Path(__file__).with_name("internal_routes.txt").read_text().splitlines():
        if line.startswith("["):
            sides = line.strip("[]").split(" < ")
            owners, callers = (side.split(", ") for side in sides)  # type: ignore[assignment]
        elif line and not line.startswith("#"):
            method, path = line.split()
            for owner in owners:
                route = f"{method} /internal{path}"
                assert route not in table[owner], f"{route} of {owner} is there twice"
                table[owner][route] = {*callers}
    return table


TABLE = _table()
KEYS = {service: SigningKey.generate() for service in SERVICES}
STRANGE_KEY = SigningKey.generate()
UNREADABLE = ("no token", "a token by a strange key", "a token for another service")
"""Tokens that no service can have signed for this one."""


def filled(path: str) -> str:
    return re.sub(r"{(\w+)}", lambda match: VALUES.get(match[1], "1"), path)


def impostors(service: str, named: set[str]) -> dict[str, dict[str, str]]:
    """Return the headers of callers that are not named services, and of named services with invalid
    credentials."""
    one = min(named)
    person = Principal(id=1, name="root", admin=True)
    others = {
        other: {SERVICE_HEADER: ServiceIdentity(other, KEYS[other]).token(service)}
        for other in SERVICES
        if other not in named
    }
    other_service = next(other for other in SERVICES if other != service)
    tokens = (
        one,
        ServiceIdentity(one, STRANGE_KEY).token(service),
        ServiceIdentity(one, KEYS[one]).token(other_service),
    )
    others |= {how: {SERVICE_HEADER: token} for how, token in zip(UNREADABLE, tokens, strict=True)}
    root = sign_principal(person, KEYS["identity"], audience=[service], lifetime=60)
    return others | {"nobody": {}, "an administrator": {PRINCIPAL_HEADER: root}}


@pytest.mark.parametrize("service", SERVICES)
async def test_a_route_between_services_answers_those_that_are_named_and_nobody_else(service, tmp_path):
    app = app_of(service, tmp_path, public_keys={name: key.x for name, key in KEYS.items()})
    policies = policies_of(app, lambda path: path.startswith("/internal") and not path.startswith(DESCRIBED))
    own = {name: {*policy.services} for name, policy in policies.items() if name != PUBLIC}
    assert own == TABLE[service]
    assert {policy.caller for name, policy in policies.items() if name != PUBLIC} == {"service"}
    wrong = []
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        for name, named in {**own, f"GET {DESCRIBED}/openapi.json": {"gateway"}}.items():
            method, path = name.split()
            for who, headers in impostors(service, named).items():
                answer = await client.request(method, filled(path), headers=headers)
                is_read = (
                    service != "gateway" and DESCRIBED not in path
                )  # the gateway takes no such token from anybody
                status = 401 if who in UNREADABLE and is_read else 404
                if answer.status_code != status:
                    wrong.append(f"{name}, {who}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)


async def test_the_gateway_leads_to_no_route_between_services(world):
    """For no caller: the answer is the same as for any path that nothing has."""
    names = sorted({PUBLIC, *(name for routes in TABLE.values() for name in routes)})
    wrong = []
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:

        async def attempt(name, caller):
            method, path = name.split()
            answers = [
                comparable(await client.request(method, each, headers=world.headers(caller)), each)
                for each in (filled(path), "/internal/never")
            ]
            if answers[0] != answers[1] or answers[0][0] != 404 or NO_OPERATION not in answers[0][1]:
                wrong.append(f"{name} | {caller.name}: {answers[0]}, where nothing is: {answers[1]}")

        cells = [
            (name, caller)
            for row, name in enumerate(names)
            for column, caller in enumerate(CALLERS)
            if WHOLE or (row + column) % AT_ONCE == 0
        ]
        await in_turn([partial(attempt, *cell) for cell in cells])
    print(f"{len(cells)} cells of routes between services")
    assert not wrong, "\n".join(wrong)
