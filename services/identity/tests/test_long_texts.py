"""No text and no list of a request is without a limit: a far too long value is sent for each in the
description."""

from itertools import groupby

import msgspec

from ingot_chassis.http.openapi import openapi_description
from ingot_contracts.identity.events import OrganizationEdited, UserCreated, UserEdited
from ingot_contracts.limits import EVENT_BYTES
from ingot_testing.long_texts import request_fields

from .matrix import BODIES, MATRIX, NAMES, ROLES, Things, shape


async def test_whatever_is_too_long_is_refused_by_its_field(world):
    for name in ("sam", "mia", "ann"):
        await world.add_user(name)
    routes = {shape(route): route for route in MATRIX}
    fields, things, complaints = list(request_fields(openapi_description(world.app))), Things(world), {}
    for (method, path), group in groupby(fields, lambda field: (field.method, field.path)):
        route = routes[shape(f"{method} {path.removeprefix('/api/v1')}")]
        roles = [role for role, status in zip(ROLES, MATRIX[route], strict=True) if status < 300]
        if not roles:  # a code for a second factor, which no user of the matrix has
            continue
        caller = NAMES[roles[0]]
        target = await things.filled(route.split(" ")[1], caller)
        before = await world.emitted_types()
        for field in group:
            if field.keys[-2:] == ("config", "anything"):  # its keys are those of the kind alone
                continue
            good = BODIES.get(route, lambda _n, _who: {})(next(things.numbers), caller)
            answer = await world.call(method, target, field.within(good, field.excess()), as_=caller)
            complaints[route, field.keys] = field.complaint(answer)
        assert await world.emitted_types() == before
    assert len(complaints) > 50
    assert {field: text for field, text in complaints.items() if text} == {}


async def test_an_account_with_the_longest_texts_fits_into_its_events(world):
    widest = "\u0001"  # which JSON writes as six bytes
    email = "e" * 242 + "@example.com"
    user = {"username": "u" * 35, "email": email, "password": "p" * 255, "full_name": widest * 100}
    assert (await world.call("POST", "/admin/users", user, as_="root")).status_code == 201
    renamed = {"new_username": "v" * 35}
    path = f"/admin/users/{user['username']}/rename"
    assert (await world.call("POST", path, renamed, as_="root")).status_code == 204
    await world.call("POST", "/orgs", {"username": "o" * 35}, as_="root")
    changes = {
        "full_name": widest * 100,
        "description": widest * 255,
        "website": f"https://{'w' * 247}",
        "location": widest * 50,
    }
    assert (await world.call("PATCH", f"/orgs/{'o' * 35}", changes, as_="root")).status_code == 200
    for happened in (UserCreated, UserEdited, OrganizationEdited):
        event = (await world.emitted(happened))[-1]
        assert event.account.full_name == widest * 100
        assert len(msgspec.json.encode(event)) < EVENT_BYTES // 100
