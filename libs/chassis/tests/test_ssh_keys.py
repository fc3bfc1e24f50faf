"""Public keys for SSH: one form for each key, and a reason for each refusal."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ingot_chassis.errors import Invalid
from ingot_chassis.security.ssh_keys import read

SK = "sk-ssh-ed25519@openssh.com"
POINT = ec.derive_private_key(7, ec.SECP256R1()).public_key()


def wire(*fields):
    return b"".join(len(field).to_bytes(4) + field for field in fields)


def number(value):
    return value.to_bytes(value.bit_length() // 8 + 1)


def line(key_type, *fields):
    return f"{key_type} {base64.b64encode(wire(key_type.encode(), *fields)).decode()}"


def point(form):
    return POINT.public_bytes(Encoding.X962, form)


ED = line("ssh-ed25519", b"k" * 32)
MODULUS = number((1 << 2047) + 1)
REFUSED = {
    "cut short": (ED[:40], "is cut short"),
    "bytes after the key": (line("ssh-ed25519", b"k" * 32, b"x"), "has more bytes than the key"),
    "another type": (f"ssh-rsa {ED.split()[1]}", "says ssh-rsa and is ssh-ed25519"),
    "dsa": (line("ssh-dss", *[number(7)] * 4), "is of a type that is not accepted"),
    "no base64": ("ssh-ed25519 !!!!", "is no public key"),
    "31 bytes": (line("ssh-ed25519", b"k" * 31), "is no public key"),
    "another curve": (
        line("ecdsa-sha2-nistp256", b"nistp384", point(PublicFormat.UncompressedPoint)),
        "names another curve than its type",
    ),
    "a compressed point, which OpenSSH refuses": (
        line("ecdsa-sha2-nistp256", b"nistp256", point(PublicFormat.CompressedPoint)),
        "is no public key",
    ),
    "no application": (line(SK, b"k" * 32, b""), "names no application"),
    "an even exponent": (line("ssh-rsa", number(2), MODULUS), "is no RSA key"),
    "an even modulus": (line("ssh-rsa", number(3), number(1 << 2047)), "is no RSA key"),
    "an exponent of 65 bits": (line("ssh-rsa", number((1 << 64) + 1), MODULUS), "is no RSA key"),
    "2047 bits": (
        line("ssh-rsa", number(3), number((1 << 2046) + 1)),
        "has 2047 bits; 2048 to 16384 are accepted",
    ),
    "NUL in the comment": (f"{ED} a\0b", "has a comment with characters that cannot be shown"),
    "a number below zero": (
        line("ssh-rsa", number(3), b"\xff" * 256),
        "holds a number that is not written as it must be",
    ),
    "a number with a zero too many": (
        line("ssh-rsa", number(3), b"\0" + MODULUS),
        "holds a number that is not written as it must be",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_why(case):
    text, reason = REFUSED[case]
    with pytest.raises(Invalid) as refusal:
        read(text)
    (error,) = refusal.value.errors
    assert (error.field, error.code, error.message) == ("key", "format", reason)


@pytest.mark.parametrize(
    "key",
    [
        ed25519.Ed25519PrivateKey.generate().public_key(),
        ec.generate_private_key(ec.SECP384R1()).public_key(),
        rsa.generate_private_key(65537, 2048).public_key(),
    ],
    ids=["ed25519", "ecdsa", "rsa"],
)
def test_a_key_is_the_same_in_a_line_and_in_a_block(key):
    written = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    encoded = written.split()[1]
    digest = base64.b64encode(hashlib.sha256(base64.b64decode(encoded)).digest()).decode().rstrip("=")
    block = (
        f"---- BEGIN SSH2 PUBLIC KEY ----\nComment: me\n{encoded[:70]}\n{encoded[70:]}\n"
        "---- END SSH2 PUBLIC KEY ----"
    )
    assert read(written) == (written, f"SHA256:{digest}")
    assert read(f"{encoded} me") == read(block) == (f"{written} me", f"SHA256:{digest}")


def test_a_key_on_a_hardware_token_may_be_for_any_application():
    key = line(SK, b"k" * 32, b"web:forge")
    assert read(key).content == key
