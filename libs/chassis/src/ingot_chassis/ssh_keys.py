"""Public keys for SSH as people paste them: read strictly, kept in one form, told apart by fingerprint."""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ingot_chassis.errors import Invalid

LONGEST = 16_384
RSA_BITS = range(2048, 16_385)

_CURVES: dict[bytes, ec.EllipticCurve] = {
    b"nistp256": ec.SECP256R1(),
    b"nistp384": ec.SECP384R1(),
    b"nistp521": ec.SECP521R1(),
}
_SSH2 = re.compile(r"---- BEGIN SSH2 PUBLIC KEY ----\r?\n(.*?)\r?\n---- END SSH2 PUBLIC KEY ----", re.DOTALL)


class PublicKey(NamedTuple):
    """``content`` is ``type base64 comment``."""

    content: str
    fingerprint: str


class _Refused(Exception):
    """The text holds no acceptable key; says why."""


class _Wire:
    """Reads the encoding of RFC 4251, section 5."""

    def __init__(self, blob: bytes) -> None:
        self._blob, self._at = blob, 0

    def string(self) -> bytes:
        start = self._at + 4
        end = start + int.from_bytes(self._blob[self._at : start])
        if start > len(self._blob) or end > len(self._blob):
            raise _Refused("is cut short")
        self._at = end
        return self._blob[start:end]

    def number(self) -> int:
        """A positive one in its one spelling: another would be the same key with another fingerprint."""
        written = self.string()
        number = int.from_bytes(written, signed=True)
        if number <= 0 or len(written) != number.bit_length() // 8 + 1:
            raise _Refused("holds a number that is not written as it must be")
        return number

    def end(self) -> None:
        if self._at != len(self._blob):
            raise _Refused("has more bytes than the key")


def read(text: str) -> PublicKey:
    """The key in one OpenSSH line (its type may be left out) or an SSH2 block. Raises Invalid."""
    text = text.strip()
    if not text:
        raise Invalid.field("key", "required", "is required")
    if len(text) > LONGEST:
        raise Invalid.field("key", "length", f"has more than {LONGEST} characters")
    try:
        declared, encoded, comment = _block(text) if text.startswith("----") else _line(text)
        blob = base64.b64decode(encoded, validate=True)
        kind = _checked(blob, declared)
    except (_Refused, binascii.Error, ValueError) as error:
        reason = str(error) if isinstance(error, _Refused) else "is no public key"
        raise Invalid.field("key", "format", reason) from error
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    content = " ".join([kind, base64.b64encode(blob).decode(), *comment.split()])
    return PublicKey(content, f"SHA256:{digest}")


def _line(text: str) -> tuple[str, str, str]:
    if "\n" in text or "\r" in text:
        raise _Refused("has more than one line")
    first, _, rest = text.partition(" ")
    if first.startswith("AAAA"):
        return "", first, rest
    encoded, _, comment = rest.strip().partition(" ")
    return first, encoded, comment


def _block(text: str) -> tuple[str, str, str]:
    """RFC 4716: headers, which a backslash continues, then base64 in lines."""
    found = _SSH2.fullmatch(text)
    if found is None:
        raise _Refused("is no public key")
    lines = re.sub(r"\\\r?\n", "", found.group(1)).splitlines()
    comment, encoded = "", []
    for line in lines:
        header, colon, value = line.partition(":")
        if not colon:
            encoded.append(line.strip())
        elif header.lower() == "comment":
            comment = value.strip().strip('"')
    return "", "".join(encoded), comment


def _checked(blob: bytes, declared: str) -> str:
    """The type of the key in ``blob``, all of which has been read."""
    wire = _Wire(blob)
    kind = wire.string()
    check = _KINDS.get(kind)
    if check is None:
        raise _Refused("is of a type that is not accepted")
    check(wire, kind)
    wire.end()
    if declared not in ("", kind.decode("ascii")):
        raise _Refused(f"says {declared} and is {kind.decode('ascii')}")
    return kind.decode("ascii")


def _rsa(wire: _Wire, _kind: bytes) -> None:
    exponent, modulus = wire.number(), wire.number()
    if exponent < 3 or exponent.bit_length() > 64 or exponent % 2 == 0 or modulus % 2 == 0:
        raise _Refused("is no RSA key")
    if modulus.bit_length() not in RSA_BITS:
        raise _Refused(f"has {modulus.bit_length()} bits; {RSA_BITS[0]} to {RSA_BITS[-1]} are accepted")


def _ed25519(wire: _Wire, _kind: bytes) -> None:
    ed25519.Ed25519PublicKey.from_public_bytes(wire.string())


def _ecdsa(wire: _Wire, kind: bytes) -> None:
    curve = wire.string()
    if not kind.removesuffix(b"@openssh.com").endswith(b"-" + curve) or curve not in _CURVES:
        raise _Refused("names another curve than its type")
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVES[curve], wire.string())
    except UnsupportedAlgorithm as error:
        raise _Refused("has a point that is not on its curve") from error


def _with_application(check: Callable[[_Wire, bytes], None]) -> Callable[[_Wire, bytes], None]:
    """A key on a hardware token: it also names what it was made for, such as ``ssh:``."""

    def both(wire: _Wire, kind: bytes) -> None:
        check(wire, kind)
        if not wire.string():
            raise _Refused("names no application")

    return both


_KINDS: dict[bytes, Callable[[_Wire, bytes], None]] = {
    b"ssh-ed25519": _ed25519,
    b"ssh-rsa": _rsa,
    b"ecdsa-sha2-nistp256": _ecdsa,
    b"ecdsa-sha2-nistp384": _ecdsa,
    b"ecdsa-sha2-nistp521": _ecdsa,
    b"sk-ssh-ed25519@openssh.com": _with_application(_ed25519),
    b"sk-ecdsa-sha2-nistp256@openssh.com": _with_application(_ecdsa),
}
