"""Ed25519 keys, and tokens signed with them (JWT, RFC 7519, with EdDSA, RFC 8037)."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


class KeyUnreadable(Exception):
    """The text is not a valid Ed25519 key."""


class Jwk(msgspec.Struct, frozen=True):
    """A public key in the format of RFC 8037: ``x`` is the base64url of 32 bytes."""

    kid: str
    x: str
    kty: str = "OKP"
    crv: str = "Ed25519"
    alg: str = "EdDSA"
    use: str = "sig"


class Jwks(msgspec.Struct, frozen=True):
    """A set of public keys (RFC 7517)."""

    keys: list[Jwk]


class SigningKey:
    """A private key with a name that is derived from its public key."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.x = _b64(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
        self.kid = key_id(self.x)

    @classmethod
    def generate(cls) -> "SigningKey":
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, text: str) -> "SigningKey":
        """Return the key in a text: the base64url of 32 bytes. Raises KeyUnreadable."""
        try:
            return cls(Ed25519PrivateKey.from_private_bytes(_unb64(text)))
        except ValueError as error:
            raise KeyUnreadable(f"not an Ed25519 private key: {error}") from error

    def text(self) -> str:
        """Return the private key in the form that ``read`` takes."""
        return _b64(self._private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))

    def jwk(self) -> Jwk:
        return Jwk(kid=self.kid, x=self.x)

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a compact JWT of ``claims``."""
        return jwt.encode(dict(claims), self._private, algorithm="EdDSA", headers={"kid": self.kid})


def key_id(x: str) -> str:
    """Return the name of a public key: the start of its SHA-256."""
    return hashlib.sha256(x.encode()).hexdigest()[:16]


def public_key(x: str) -> Ed25519PublicKey:
    """Return the public key in the base64url of 32 bytes. Raises KeyUnreadable."""
    try:
        return Ed25519PublicKey.from_public_bytes(_unb64(x))
    except ValueError as error:
        raise KeyUnreadable(f"not an Ed25519 public key: {error}") from error


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
