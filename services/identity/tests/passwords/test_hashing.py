"""Passwords: how long new ones are, and what is checked where there is no account."""

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import update

from ingot_chassis.errors import Invalid
from ingot_identity.accounts.store.tables import account
from ingot_identity.passwords.rules.hashing import Passwords, unmatched_hash


@pytest.mark.parametrize(
    ("password", "message"),
    [
        ("", "is required"),
        ("x" * 7, "has fewer than 8 characters"),
        ("\U0001f40e" * 7, "has fewer than 8 characters"),
        ("x" * 256, "has more than 255 characters"),
    ],
)
async def test_a_new_password_has_so_many_characters(password, message):
    with pytest.raises(Invalid) as error:
        await Passwords(memory_kib=32, rounds=1).hash(password)
    assert [(e.field, e.message) for e in error.value.errors] == [("password", message)]


async def test_a_new_password_of_the_least_length_will_do():
    passwords = Passwords(memory_kib=32, rounds=1, length=10)
    assert await passwords.matches("x" * 10, await passwords.hash("x" * 10))


async def test_who_has_a_shorter_password_still_signs_in(world):
    user_id = await world.add_user("ann")
    short = await Passwords(memory_kib=32, rounds=1, length=1).hash("pw")
    async with world.database.transaction() as tx:
        await tx.execute(update(account).where(account.c.id == user_id).values(password_hash=short))
    assert (await world.authenticate(name="ann", password="pw")).json()["user_id"] == user_id


def test_the_unmatched_hash_takes_the_effort_of_any_other():
    hasher = PasswordHasher(memory_cost=32, time_cost=2)
    unmatched = unmatched_hash(hasher)
    assert hasher.check_needs_rehash(unmatched) is False
    with pytest.raises(VerifyMismatchError):  # it was computed, and not refused as no hash
        hasher.verify(unmatched, "password")
