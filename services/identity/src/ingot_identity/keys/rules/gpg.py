"""OpenPGP keys, parsed by Sequoia. It checks the signatures that bind addresses and subkeys to a key."""

import base64
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from pysequoia import Cert
from pysequoia.packet import Packet, PacketPile, SignatureType, Tag

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_identity.accounts.rules.locks import lock_for_share
from ingot_identity.keys.rules.gpg_proofs import ProofTokens
from ingot_identity.keys.store import gpg as store
from ingot_identity.keys.store.tables import GpgKeyRow

FIELD = "armored_public_key"
PROOF_FIELD = "armored_signature"
LONGEST_PROOF = 16_384
LONGEST = 200_000
MOST_SUBKEYS = 50
LONGEST_CERTIFICATE = 64 * 1024
"""Maximum bytes of a certificate. Signatures of a longer key are not verified."""
SECRET = (Tag.SecretKey, Tag.SecretSubkey)


class Key(NamedTuple):
    """A primary key, or a subkey of ``primary_key_id``. Its fields are the columns of the store."""

    primary_key_id: str
    key_id: str
    content: str
    certificate: bytes | None
    addresses: str
    can_sign: bool
    can_encrypt_comms: bool
    can_encrypt_storage: bool
    can_certify: bool
    created_at: datetime
    expires_at: datetime | None


def read(armored: str) -> list[Key]:
    """Return the primary key and its subkeys. Raises Invalid.

    Checks signatures, so run it in a thread.
    """
    if not armored.strip():
        raise Invalid.field(FIELD, "required", "is required")
    if len(armored) > LONGEST:
        raise Invalid.field(FIELD, "length", f"has more than {LONGEST} characters")
    text = armored.strip().encode()
    try:
        # Before PacketPile, which unpacks compressed packets of any size: Cert refuses what is no packet of a
        # key.
        cert = Cert.from_bytes(text)
        secret = any(packet.tag in SECRET for packet in PacketPile.from_bytes(text))
        # Serialized again, the key has only the signatures that are valid.
        packets = list(PacketPile.from_bytes(bytes(cert)))
        addresses = _addresses(cert, packets)
    except (RuntimeError, ValueError) as error:
        raise Invalid.field(FIELD, "format", "is no OpenPGP public key") from error
    if secret:
        raise Invalid.field(FIELD, "secret", "is a private key; send the public key")
    if cert.is_revoked:
        raise Invalid.field(FIELD, "revoked", "is revoked")
    keys = list(_keys(cert, packets, addresses))
    if len(keys) > MOST_SUBKEYS + 1:
        raise Invalid.field(FIELD, "length", f"has more than {MOST_SUBKEYS} subkeys")
    return keys


def read_proof(keys: Sequence[Key], tokens: ProofTokens, armored: str) -> bool:
    """True if a signature proves that the user owns the key; False without a signature. Raises Invalid.

    Checks signatures, so run it in a thread.
    """
    if not armored.strip():
        return False
    if not tokens.are_signed(keys[0].certificate or b"", armored):
        raise not_signed(tokens)
    return True


def not_signed(tokens: ProofTokens) -> Invalid:
    text = f"is no signature of the token {tokens.current} by this key, or the token is too old"
    return Invalid.field(PROOF_FIELD, "signature", text)


async def add(
    tx: Tx, account_id: int, keys: Sequence[Key], tokens: ProofTokens, *, verified: bool
) -> GpgKeyRow:
    """Add a key. Return the row of the primary key. Raises Invalid, NotFound.

    The key must name an address of the user, unless the user has proved ownership of it (``verified``).
    """
    await lock_for_share(tx, account_id)
    named = {(account_id, address) for address in keys[0].addresses.split()}
    if not verified and named.isdisjoint(await store.addresses_of(tx, [account_id], account_id)):
        text = f"names no address of yours; it needs {PROOF_FIELD}, a signature of the token {tokens.current}"
        raise Invalid.field(FIELD, "email", text)
    rows = [key._asdict() | {"verified": verified} for key in keys]
    if await store.add(tx, account_id, rows) != len(keys):
        raise Invalid.field(FIELD, "taken", "is in use")
    row = await store.get_by_key_id(tx, keys[0].key_id)
    if row is None:
        raise NotFound
    return row


async def own_key(db: Executor, account_id: int, key_id: str) -> GpgKeyRow | None:
    """Return the account's primary key with this id, or with a subkey with this id. None if not found."""
    row = await store.get_by_key_id(db, key_id.strip().upper()[-16:])
    if row is not None and row.primary_key_id:
        row = await store.get_by_key_id(db, row.primary_key_id)
    return row if row is not None and row.account_id == account_id else None


def _addresses(cert: Cert, packets: Sequence[Packet]) -> str:
    """Return the addresses in the user ids that the key itself has signed."""
    verified = {str(user_id) for user_id in cert.user_ids}
    addresses = [packet.user_id_email for packet in packets if packet.user_id in verified and packet.user_id]
    return " ".join(sorted({address.lower() for address in addresses if address and " " not in address}))


def _keys(cert: Cert, packets: Sequence[Packet], addresses: str) -> Iterator[Key]:
    primary = packets[0]
    primary_id = _key_id(primary)
    own = [signature for signature in _signatures(packets, 0) if _issuer(signature) == primary_id]
    yield _key(primary, own, "", addresses, cert.expiration, bytes(cert))
    for position, packet in enumerate(packets):
        if packet.tag != Tag.PublicSubkey:
            continue
        binding = [
            signature
            for signature in _signatures(packets, position)
            if signature.signature_type == SignatureType.SubkeyBinding and _issuer(signature) == primary_id
        ]
        if binding:
            created, validity = packet.key_created, binding[0].key_validity_period
            yield _key(packet, binding, primary_id, "", created + validity if created and validity else None)


def _signatures(packets: Sequence[Packet], position: int) -> list[Packet]:
    """Return the signatures of the key at ``position``.

    For a primary key, include signatures of its user ids.
    """
    signatures = []
    for packet in packets[position + 1 :]:
        if packet.tag in (Tag.PublicSubkey, Tag.PublicKey) or (position and packet.tag != Tag.Signature):
            break
        if packet.tag == Tag.Signature:
            signatures.append(packet)
    return signatures


def _key(
    packet: Packet,
    signatures: Sequence[Packet],
    primary_id: str,
    addresses: str,
    expires: datetime | None,
    certificate: bytes = b"",
) -> Key:
    flags = next((signature.key_flags for signature in signatures if signature.key_flags), None)
    created = packet.key_created
    if created is None:
        raise Invalid.field(FIELD, "format", "has a key without a time of creation")
    return Key(
        primary_key_id=primary_id,
        key_id=_key_id(packet),
        content=base64.b64encode(bytes(packet)).decode(),
        certificate=certificate if 0 < len(certificate) <= LONGEST_CERTIFICATE else None,
        addresses=addresses,
        # A key that does not say what it is for may do anything.
        can_sign=flags is None or flags.signing,
        can_encrypt_comms=flags is None or flags.transport_encryption,
        can_encrypt_storage=flags is None or flags.storage_encryption,
        can_certify=flags is None or flags.certification,
        created_at=created,
        expires_at=expires,
    )


def _issuer(signature: Packet) -> str:
    return (signature.issuer_key_id or "").upper()


def _key_id(packet: Packet) -> str:
    if packet.key_id is None:
        raise Invalid.field(FIELD, "format", "has a key of an unknown kind")
    return packet.key_id.upper()
