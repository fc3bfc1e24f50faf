"""The keys that sign principals: sealed in the database, replaced by age, published."""

import pytest
from cryptography.fernet import Fernet

from ingot_chassis.clock import now
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.settings import SettingsError
from ingot_identity.authentication import store
from ingot_identity.authentication.components import AuthenticationComponents

from ..templates import without_rows


async def test_keys_rotate_and_the_old_one_stays_published(world):
    keys = world.part(AuthenticationComponents).signing_keys
    first = (await keys.current()).kid
    keys._age *= 0
    await keys.rotate()
    published = [key["kid"] for key in (await world.http.get("/internal/jwks")).json()["keys"]]
    assert (await keys.current()).kid != first
    assert first in published


async def test_the_private_half_of_a_key_is_sealed_in_the_database(world):
    key = await world.part(AuthenticationComponents).signing_keys.current()
    table = world.database.metadata.tables["signing_key"]
    async with world.database.read() as db:
        sealed = (await db.execute(table.select())).one().sealed
    assert key.text().encode() not in sealed


@pytest.mark.parametrize("template", [without_rows])
async def test_a_key_that_an_earlier_release_sealed_with_fernet_is_opened(make_world):
    sealing_key, key = Fernet.generate_key(), SigningKey.generate()
    async with make_world(sealing_key=sealing_key.decode(), admin_password="") as world:
        async with world.database.transaction() as tx:
            sealed = Fernet(sealing_key).encrypt(key.text().encode())
            await store.add(tx, kid=key.kid, sealed=sealed, x=key.x, created_at=now(), version=1)
        assert (await world.part(AuthenticationComponents).signing_keys.current()).text() == key.text()


async def test_another_sealing_key_is_a_wrong_setting(make_world):
    async with make_world() as world:
        await world.part(AuthenticationComponents).signing_keys.current()
    with pytest.raises(SettingsError, match="INGOT_IDENTITY_SEALING_KEY is not the key"):
        async with make_world(sealing_key=Fernet.generate_key().decode()) as world:
            await world.part(AuthenticationComponents).signing_keys.current()
