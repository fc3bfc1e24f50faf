"""SSH public keys as users paste them: parsed strictly, stored in one form, found by their fingerprint."""

import base64
import binascii
import hashlib
import re
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

from ingot_chassis.errors import Invalid

LONGEST = 16_384
RSA_BITS = range(2048, 16_385)
EXPONENT_BITS = 64

_FIELDS = {
    "ssh-ed25519": 2,
    "ssh-rsa": 3,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
}
"""Accepted types of keys, and the number of fields of each type, including the type itself."""

_ON_HARDWARE = {
    "sk-ssh-ed25519@openssh.com": "ssh-ed25519",
    "sk-ecdsa-sha2-nistp256@openssh.com": "ecdsa-sha2-nistp256",
}
"""Types of keys on a hardware token. Such a key has one more field: its application, such as ``ssh:``."""

_MISWRITTEN = "holds a number that is not written as it must be"
_SSH2 = re.compile(r"---- BEGIN SSH2 PUBLIC KEY ----\r?\n(.*?)\r?\n---- END SSH2 PUBLIC KEY ----", re.DOTALL)


class PublicKey(NamedTuple):
    """A public key. ``content`` is ``type base64 comment``."""

    content: str
    fingerprint: str


class _Refused(Exception):
    """The text contains no acceptable key."""


def read(text: str) -> PublicKey:
    """Parse the key in one OpenSSH line, with or without its type, or in an SSH2 block. Raises Invalid."""
    text = text.strip()
    if not text:
        raise Invalid.field("key", "required", "is required")
    if len(text) > LONGEST:
        raise Invalid.field("key", "length", f"has more than {LONGEST} characters")
    try:
        declared, encoded, comment = _block(text) if text.startswith("----") else _line(text)
        blob = base64.b64decode(encoded, validate=True)
        key_type = _checked(blob, declared)
        words = _words(comment)
    except (_Refused, binascii.Error, ValueError, NotImplementedError) as error:
        reason = str(error) if isinstance(error, _Refused) else "is no public key"
        raise Invalid.field("key", "format", reason) from error
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    content = " ".join([key_type, base64.b64encode(blob).decode(), *words])
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
    """Parse an SSH2 block (RFC 4716): headers, which a backslash continues, then base64 in lines."""
    block = _SSH2.fullmatch(text)
    if block is None:
        raise _Refused("is no public key")
    lines = re.sub(r"\\\r?\n", "", block.group(1)).splitlines()
    comment, encoded = "", []
    for line in lines:
        header, colon, value = line.partition(":")
        if not colon:
            encoded.append(line.strip())
        elif header.lower() == "comment":
            comment = value.strip().strip('"')
    return "", "".join(encoded), comment


def _words(comment: str) -> list[str]:
    """Return the words of a comment. Raises _Refused for unprintable characters.

    A database cannot store some of these characters.
    """
    words = comment.split()
    if not "".join(words).isprintable():
        raise _Refused("has a comment with characters that cannot be shown")
    return words


def _checked(blob: bytes, declared: str) -> str:
    """Return the type of the key in ``blob``. Raises _Refused if it is not an accepted key."""
    key_type = _fields(blob, 1)[0].decode("ascii", "replace")
    plain_type = _ON_HARDWARE.get(key_type, key_type)
    if plain_type not in _FIELDS:
        raise _Refused("is of a type that is not accepted")
    fields = _fields(blob, _FIELDS[plain_type] + (key_type in _ON_HARDWARE))
    if sum(4 + len(field) for field in fields) != len(blob):
        raise _Refused("has more bytes than the key")
    if key_type in _ON_HARDWARE and not fields.pop():
        raise _Refused("names no application")
    _check_key(plain_type, fields[1:])
    if declared not in ("", key_type):
        raise _Refused(f"says {declared} and is {key_type}")
    return key_type


def _check_key(key_type: str, fields: list[bytes]) -> None:
    """Parse the key and encode it again, because another encoding would have another fingerprint.

    Raises _Refused, and ValueError for a text that is no key.
    """
    if key_type.startswith("ecdsa") and key_type.rpartition("-")[2].encode() != fields[0]:
        raise _Refused("names another curve than its type")
    written = b"".join(len(field).to_bytes(4) + field for field in [key_type.encode(), *fields])
    line = f"{key_type} ".encode() + base64.b64encode(written)
    try:
        key = load_ssh_public_key(line)
    except UnsupportedAlgorithm as error:
        raise _Refused("has a point that is not on its curve") from error
    except ValueError as error:
        if key_type != "ssh-rsa":
            raise
        positive = all(int.from_bytes(field, signed=True) > 0 for field in fields)
        raise _Refused("is no RSA key" if positive else _MISWRITTEN) from error
    if key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) != line:
        raise _Refused(_MISWRITTEN)
    if isinstance(key, RSAPublicKey):
        numbers = key.public_numbers()
        if numbers.e.bit_length() > EXPONENT_BITS or numbers.n % 2 == 0:
            raise _Refused("is no RSA key")
        if key.key_size not in RSA_BITS:
            raise _Refused(f"has {key.key_size} bits; {RSA_BITS[0]} to {RSA_BITS[-1]} are accepted")


def _fields(blob: bytes, count: int) -> list[bytes]:
    """Return the first ``count`` strings (RFC 4251, section 5). Numbers are encoded in the same form."""
    fields, start = [], 0
    for _ in range(count):
        content = start + 4
        end = content + int.from_bytes(blob[start:content])
        if content > len(blob) or end > len(blob):
            raise _Refused("is cut short")
        fields.append(blob[content:end])
        start = end
    return fields
