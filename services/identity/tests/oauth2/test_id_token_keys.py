"""Keys of id tokens: replaced by age, published before and after they sign."""

from datetime import timedelta

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import update

from ingot_identity.oauth2.components import OAuth2Components
from ingot_identity.oauth2.rules.id_token_keys import LEAD, OVERLAP
from ingot_identity.oauth2.store.id_token_keys import id_token_key

from ..templates import without_rows

pytestmark = pytest.mark.both_databases


async def pass_time(world, time):
    """Let the keys be older, and read again."""
    async with world.database.transaction() as tx:
        rows = (await tx.execute(id_token_key.select())).all()
        for row in rows:
            own = update(id_token_key).where(id_token_key.c.kid == row.kid)
            await tx.execute(own.values(created_at=row.created_at - time))
    world.part(OAuth2Components).id_token_keys._read_at = float("-inf")


async def published(world):
    keys = (await world.http.get("/login/oauth/keys")).json()["keys"]
    return [key["kid"] for key in keys]


async def test_a_new_key_is_published_before_it_signs_and_the_old_one_afterwards(world):
    keys, age = world.part(OAuth2Components).id_token_keys, timedelta(days=30)
    first = (await keys.current()).kid
    await keys.rotate()
    assert await published(world) == [first]
    await pass_time(world, age)
    await keys.rotate()
    second, old = await published(world)
    assert (old, (await keys.current()).kid) == (first, first)
    token = jwt.encode({"alg": "RS256", "kid": first}, {"sub": "1"}, await keys.current())
    await pass_time(world, LEAD)
    await keys.rotate()
    assert (await keys.current()).kid == second
    key_set = KeySet.import_key_set((await world.http.get("/login/oauth/keys")).json())
    assert jwt.decode(token.decode() if isinstance(token, bytes) else token, key_set, ["RS256"]).claims["sub"]
    await pass_time(world, OVERLAP)
    await keys.rotate()
    await pass_time(world, timedelta())
    assert await published(world) == [second]
    assert (await keys.current()).kid == second


@pytest.mark.parametrize("template", [without_rows])
async def test_replicas_make_one_key_together(world, make_world):
    await world.part(OAuth2Components).id_token_keys.current()
    await pass_time(world, timedelta(days=31))
    async with make_world() as replica:
        for each in (world, replica):
            await each.part(OAuth2Components).id_token_keys.rotate()
        await pass_time(world, timedelta())
        assert await published(world) == await published(replica)
        assert len(await published(world)) == 2
