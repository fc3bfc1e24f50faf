"""Signed principals and services: who is believed, and who is not."""

import asyncio
import base64
import json

import pytest

from ingot_chassis.errors import Unauthenticated, Unavailable
from ingot_chassis.security.keys import Jwks, SigningKey
from ingot_chassis.security.principal import (
    Membership,
    Principal,
    PrincipalVerifier,
    ServiceIdentity,
    ServiceVerifier,
    sign_principal,
)

ANN = Principal(
    id=7,
    name="ann",
    via="token",
    scopes=["read:user"],
    organizations={3: Membership(owner=True, teams={5: "owner"})},
)


class Published:
    """The keys that identity publishes at the moment."""

    def __init__(self, *keys: SigningKey) -> None:
        self.keys, self.fetches = list(keys), 0

    async def __call__(self) -> Jwks:
        self.fetches += 1
        return Jwks([key.jwk() for key in self.keys])


def verifier(published: Published, service: str = "counter") -> PrincipalVerifier:
    verifier = PrincipalVerifier(service, published)
    verifier.REFETCH_SECONDS = -1.0
    return verifier


async def test_a_principal_arrives_as_it_was_signed():
    key = SigningKey.generate()
    statement = sign_principal(ANN, key, audience=["counter"])
    assert await verifier(Published(key)).verify(statement) == ANN


async def test_keys_are_fetched_once_for_many_principals_and_again_after_a_rotation():
    old, new = SigningKey.generate(), SigningKey.generate()
    published = Published(old)
    checking = verifier(published)
    for _ in range(3):
        await checking.verify(sign_principal(ANN, old, audience=["counter"]))
    assert published.fetches == 1
    published.keys.append(new)
    await checking.verify(sign_principal(ANN, new, audience=["counter"]))
    assert published.fetches == 2


async def test_keys_are_fetched_once_for_all_who_come_meanwhile():
    key, answer = SigningKey.generate(), asyncio.Event()
    published = Published(key)

    async def fetch() -> Jwks:
        keys = await published()
        await answer.wait()
        return keys

    checking = PrincipalVerifier("counter", fetch)
    statement = sign_principal(ANN, key, audience=["counter"])
    waiting = [asyncio.create_task(checking.verify(statement)) for _ in range(5)]
    while not published.fetches:
        await asyncio.sleep(0)
    waiting.pop(0).cancel()  # who came first and has gone takes nothing from the others
    answer.set()
    assert await asyncio.gather(*waiting) == [ANN] * 4
    assert published.fetches == 1


async def test_who_waits_for_keys_together_fails_together_and_the_next_one_asks_again():
    key, failures = SigningKey.generate(), [Unavailable("identity is away")]
    published = Published(key)

    async def fetch() -> Jwks:
        keys = await published()
        if failures:
            raise failures.pop()
        return keys

    checking = PrincipalVerifier("counter", fetch)
    statement = sign_principal(ANN, key, audience=["counter"])
    answers = await asyncio.gather(*(checking.verify(statement) for _ in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Unavailable] * 3
    assert await checking.verify(statement) == ANN
    assert published.fetches == 2


def unsigned(claims: dict) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "."
    )


@pytest.mark.parametrize("case", ["foreign key", "wrong audience", "expired", "unsigned", "garbage", "cut"])
async def test_nobody_believes_a_false_principal(case):
    key = SigningKey.generate()
    good = sign_principal(ANN, key, audience=["counter"])
    false = {
        "foreign key": sign_principal(ANN, SigningKey.generate(), audience=["counter"]),
        "wrong audience": sign_principal(ANN, key, audience=["another"]),
        "expired": sign_principal(ANN, key, audience=["counter"], lifetime=-30),
        "unsigned": unsigned(
            {"aud": "counter", "iss": "identity", "exp": 9e9, "iat": 1, "principal": {"id": 1}}
        ),
        "garbage": "x.y.z",
        "cut": good[:-5],
    }[case]
    with pytest.raises(Unauthenticated):
        await verifier(Published(key)).verify(false)


@pytest.mark.parametrize(
    ("scopes", "scope", "may"),
    [
        (None, "write:admin", True),
        (["all"], "write:admin", True),
        (["read:user"], "read:user", True),
        (["write:user"], "read:user", True),
        (["read:user"], "write:user", False),
        (["read:user"], "read:issue", False),
        (["read:issue"], "read:notification", True),
        (["write:issue"], "read:notification", True),
        (["read:issue"], "write:notification", False),
        (["write:notification"], "read:notification", True),
        (["write:notification"], "read:issue", False),
        ([], "read:user", False),
        ([], "", True),
    ],
)
def test_a_scope_reaches_as_far_as_it_says(scopes, scope, may):
    assert Principal(id=1, scopes=scopes).may(scope) is may


def test_a_service_is_known_by_its_own_key_for_one_audience_only():
    key, other = SigningKey.generate(), SigningKey.generate()
    statement = ServiceIdentity("issues", key).token("repos")
    assert ServiceVerifier("repos", {"issues": key.x}).verify(statement) == "issues"
    with pytest.raises(Unauthenticated):
        ServiceVerifier("hooks", {"issues": key.x}).verify(statement)
    with pytest.raises(Unauthenticated):
        ServiceVerifier("repos", {"issues": other.x}).verify(statement)


def test_a_service_cannot_speak_as_another():
    key = SigningKey.generate()
    statement = ServiceIdentity("gateway", key).token("repos")
    with pytest.raises(Unauthenticated):
        ServiceVerifier("repos", {"issues": key.x}).verify(statement)


def test_a_token_that_is_restricted_to_some_things_makes_nobody_of_its_owner_for_others():
    confined = Principal(id=7, name="ann", via="token", scopes=["all"], restricted_to=[3])
    for public in (False, True):
        assert confined.towards(3, public=public) is confined
        assert not confined.towards(4, public=public).signed_in
        assert ANN.towards(4, public=public) is ANN


def test_a_token_for_what_is_public_is_of_nobody_elsewhere():
    token = Principal(id=1, name="ann", restricted_to=[], public_only=True)
    assert token.towards(3, public=True) is token
    assert not token.towards(3, public=False).signed_in


def test_a_token_for_some_things_lets_a_restricted_account_read_nothing_else():
    confined = Principal(id=7, name="ann", restricted_to=[3], granted_only=True)
    assert confined.towards(3, public=True) is confined
    outside = confined.towards(4, public=True)
    assert (outside.signed_in, outside.granted_only) == (False, True)
    public = Principal(id=7, name="ann", restricted_to=[], public_only=True, granted_only=True)
    assert public.towards(3, public=True) is public
    assert public.towards(3, public=False).granted_only


async def test_a_restricted_account_is_verified_as_such():
    key = SigningKey.generate()
    statement = sign_principal(Principal(id=7, granted_only=True), key, audience=["counter"])
    assert (await verifier(Published(key)).verify(statement)).granted_only
