"""A name is given once, however many ask for it at once."""

import asyncio

import pytest

from ..matrix import ssh_key

pytestmark = pytest.mark.both_databases


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/orgs", {"username": "one"}),
        ("/orgs/acme/teams", {"name": "one"}),
        ("/user/actions/variables/one", {"value": "v"}),
        ("/user/emails", {"emails": ["one@example.com"]}),
        ("/user/keys", {"title": "one", "key": f"ssh-ed25519 {ssh_key(1)}"}),
    ],
)
async def test_of_many_of_one_name_at_once_one_is_made(world, acme, path, body):
    answers = await asyncio.gather(*(world.call("POST", path, body, as_="ann") for _ in range(20)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] == 201
    assert {*statuses[1:]} <= {409, 422}
