"""Whether commits and tags are signed by whom they name: OpenPGP by Sequoia, SSH as ``ssh-keygen -Y verify`` does it.

A signature is verified when the key is somebody's who has the address of the committer or tagger; identity knows both.
"""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pysequoia import Cert, Sig, verify
from pysequoia.packet import PacketPile

from ingot_chassis.errors import ApiError, Unavailable
from ingot_contracts.identity import MOST_SIGNATURE_KEYS, FindSignatureKeys, SignatureKey
from ingot_contracts.repos import CommitAuthor, Verification
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.signatures import CommitSignature

UNSIGNED = Verification(reason="gpg.error.not_signed_commit")

_UNREADABLE, _NO_KEY = "gpg.error.extract_sign", "gpg.error.no_gpg_keys_found"
_NO_ANSWER, _BAD = "gpg.error.failed_retrieval_gpg_keys", "gpg.error.probable_bad_signature"
_LONGEST = 16 * 1024
"""Of a signature, in bytes; a longer one is not read."""
_SSH = b"-----BEGIN SSH SIGNATURE-----"
_SSH_END = b"-----END SSH SIGNATURE-----"
_NAMESPACE = b"git"
_HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}


class Signed(NamedTuple):
    """``email`` is that of the committer or tagger."""

    signature: CommitSignature
    email: str


class _OpenPgp(NamedTuple):
    key_id: str
    signature: Sig


class _Ssh(NamedTuple):
    """``signed`` is what the key has signed, ``blob`` the signature in the form of the SSH protocol."""

    fingerprint: str
    public_key: bytes
    signed: bytes
    blob: bytes


_Read = _OpenPgp | _Ssh | None


async def verify_all(
    identity: HttpIdentity, signed: Mapping[str, Signed], verdicts: SharedCache[bool]
) -> dict[str, Verification]:
    """What is to be said of each signature. One question to identity; ``verdicts`` remembers what was computed."""
    if not signed:
        return {}
    read = await asyncio.to_thread(_read_all, signed)
    try:
        keys = await _keys(identity, read.values())
    except ApiError as error:
        if not isinstance(error, Unavailable):
            raise
        return {id_: _verification(one.signature, _NO_ANSWER) for id_, one in signed.items()}
    return await asyncio.to_thread(
        lambda: {id_: _judge(one, read[id_], keys, verdicts) for id_, one in signed.items()}
    )


def _read_all(signed: Mapping[str, Signed]) -> dict[str, _Read]:
    return {id_: _read(one.signature) for id_, one in signed.items()}


async def _keys(identity: HttpIdentity, read: Iterable[_Read]) -> dict[str, SignatureKey]:
    """The keys that made these signatures, by id or fingerprint; of more than can be asked for at once, the first."""
    key_ids = dict.fromkeys(one.key_id for one in read if isinstance(one, _OpenPgp))
    fingerprints = dict.fromkeys(one.fingerprint for one in read if isinstance(one, _Ssh))
    if not key_ids and not fingerprints:
        return {}
    query = FindSignatureKeys(
        key_ids=list(key_ids)[:MOST_SIGNATURE_KEYS], fingerprints=list(fingerprints)[:MOST_SIGNATURE_KEYS]
    )
    return {key.id: key for key in await identity.signature_keys(query)}


def _judge(
    signed: Signed, read: _Read, keys: Mapping[str, SignatureKey], verdicts: SharedCache[bool]
) -> Verification:
    if read is None:
        return _verification(signed.signature, _UNREADABLE)
    key = keys.get(read.key_id if isinstance(read, _OpenPgp) else read.fingerprint)
    if key is None:
        return _verification(signed.signature, _NO_KEY)
    # The address is compared last: whoever has the key only may learn which addresses its owner has.
    if not _is_valid(signed.signature, read, key, verdicts):
        return _verification(signed.signature, _BAD)
    if signed.email.lower() not in key.addresses:
        return _verification(signed.signature, _NO_KEY)
    owner = key.owner
    signer = CommitAuthor(name=owner.full_name or owner.login, email=signed.email, username=owner.login)
    return _verification(signed.signature, f"{owner.login} / {key.id}", signer)


def _is_valid(
    signature: CommitSignature, read: _OpenPgp | _Ssh, key: SignatureKey, verdicts: SharedCache[bool]
) -> bool:
    """Whether the key made the signature. The answer for the same bytes never changes."""
    digest = hashlib.sha256()
    for part in (signature.signature, signature.payload, key.certificate):
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    verdict = verdicts.get(digest.digest())
    if verdict is None:
        if isinstance(read, _Ssh):
            verdict = _is_valid_ssh(read)
        else:
            verdict = _is_valid_openpgp(read, signature.payload, key.certificate)
        verdicts.put(digest.digest(), verdict)
    return verdict


def _is_valid_openpgp(read: _OpenPgp, payload: bytes, certificate: bytes) -> bool:
    try:
        cert = Cert.from_bytes(certificate)
        return bool(verify(bytes=payload, store=lambda _ids: [cert], signature=read.signature).valid_sigs)
    except (RuntimeError, ValueError):
        return False


def _is_valid_ssh(read: _Ssh) -> bool:
    if read.blob[4:].startswith(b"ssh-rsa") and read.blob[:4] == b"\0\0\0\x07":
        return False  # a signature with SHA-1
    import asyncssh  # takes a twentieth of the start of a process, of which few see such a signature

    try:
        return asyncssh.public_key.decode_ssh_public_key(read.public_key).verify(read.signed, read.blob)
    except (asyncssh.KeyImportError, ValueError):
        return False


def _read(signature: CommitSignature) -> _Read:
    if len(signature.signature) > _LONGEST:
        return None
    if signature.signature.lstrip().startswith(_SSH):
        return _read_ssh(signature)
    try:
        packet = _first_packet(_dearmored(signature.signature))
        sig = Sig.from_bytes(packet)
        issuer = next((one.issuer_key_id for one in PacketPile.from_bytes(bytes(sig))), None)
    except (RuntimeError, ValueError):
        return None
    return _OpenPgp(issuer.upper(), sig) if issuer else None


def _dearmored(text: bytes) -> bytes:
    """What the armor (RFC 9580, section 6.2) holds; its checksum is of no use. Raises ValueError."""
    lines = [line.strip() for line in text.strip().splitlines()]
    start = lines.index(b"") if b"" in lines else 0
    encoded = [line for line in lines[start + 1 :] if line and not line.startswith((b"-----", b"="))]
    return base64.b64decode(b"".join(encoded), validate=True)


def _first_packet(data: bytes) -> bytes:
    """A signature packet (RFC 9580, section 4.2), and nothing else that Sequoia would unpack. Raises ValueError."""
    head = data[:1]
    if head == b"\xc2":
        first = int.from_bytes(data[1:2])
        if first < 192:
            start, length = 2, first
        elif first < 224:
            start, length = 3, ((first - 192) << 8) + int.from_bytes(data[2:3]) + 192
        else:
            start, length = 6, int.from_bytes(data[2:6])
    elif head in (b"\x88", b"\x89", b"\x8a"):
        start = 1 + (1 << (data[0] & 3))
        length = int.from_bytes(data[1:start])
    else:
        raise ValueError("no signature")
    if start + length > len(data):
        raise ValueError("cut short")
    return data[: start + length]


def _read_ssh(signature: CommitSignature) -> _Ssh | None:
    """The form of OpenSSH's PROTOCOL.sshsig."""
    encoded = signature.signature.partition(_SSH)[2].partition(_SSH_END)[0]
    try:
        blob = base64.b64decode(b"".join(encoded.split()), validate=True)
    except binascii.Error:
        return None
    fields = _strings(blob[10:])
    if blob[:10] != b"SSHSIG\0\0\0\1" or len(fields) != 5:
        return None
    public_key, namespace, reserved, hash_name, signature_blob = fields
    if namespace != _NAMESPACE or hash_name not in _HASHES:
        return None
    digest = _HASHES[hash_name](signature.payload).digest()
    parts = (namespace, reserved, hash_name, digest)
    signed = b"SSHSIG" + b"".join(len(part).to_bytes(4) + part for part in parts)
    fingerprint = base64.b64encode(hashlib.sha256(public_key).digest()).decode().rstrip("=")
    return _Ssh(f"SHA256:{fingerprint}", public_key, signed, signature_blob)


def _strings(data: bytes) -> list[bytes]:
    """The strings (RFC 4251, section 5) that the data is made of; none if it is cut short."""
    strings, start = [], 0
    while start < len(data):
        content = start + 4
        end = content + int.from_bytes(data[start:content])
        if end > len(data):
            return []
        strings.append(data[content:end])
        start = end
    return strings


def _verification(
    signature: CommitSignature, reason: str, signer: CommitAuthor | None = None
) -> Verification:
    return Verification(
        verified=signer is not None,
        reason=reason,
        signature=signature.signature.decode("utf-8", "replace"),
        payload=signature.payload.decode("utf-8", "replace"),
        signer=signer,
    )
