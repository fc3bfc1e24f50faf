"""Verification of signatures of commits and tags: OpenPGP, and SSH like ``ssh-keygen -Y verify``.

Sequoia checks OpenPGP signatures. The API, pages and protected branches all use this module. A valid
signature with a key of the server is verified: the server signs only commits and tags that it makes, as their
committer. Keys of the server are compared first, because an account may have added the same public key.
Another valid signature is verified under these conditions:

- A key of an account made it, and the account has confirmed the address of the committer or tagger. So the
  signer is always the committer, as in Gitea's trust model ``committer``.
- With the models ``collaborator`` and ``collaboratorcommitter``, the account also has access to the
  repository: as owner, as collaborator, or through a team.

Keys, addresses and collaborators are read each time. Only the result of checking a key against a signature is
cached.
"""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from pysequoia import Cert, Sig, verify
from pysequoia.packet import PacketPile

from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError, Unavailable
from ingot_chassis.security.openpgp_armor import signature_packet
from ingot_contracts.identity.credentials import MOST_SIGNATURE_KEYS, FindSignatureKeys, SignatureKey
from ingot_contracts.repos.commits import CommitAuthor, Verification
from ingot_git.history.signatures import CommitSignature
from ingot_git.storage.read_cache import SharedCache
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.rules.extra_settings import TrustModel, read_trust_setting
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.commits.rules.server_keys import ServerKey, ServerKeys

UNSIGNED = Verification(reason="gpg.error.not_signed_commit")

_UNREADABLE, _NO_KEY = "gpg.error.extract_sign", "gpg.error.no_gpg_keys_found"
_UNTRUSTED = "gpg.error.signed_by_untrusted_user"
_NO_ANSWER, _BAD = "gpg.error.failed_retrieval_gpg_keys", "gpg.error.probable_bad_signature"
_LONGEST = 16 * 1024
"""Limit for a signature in bytes; a longer one is not read."""
_SSH = b"-----BEGIN SSH SIGNATURE-----"
_SSH_END = b"-----END SSH SIGNATURE-----"
_NAMESPACE = b"git"
_HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}


class Signed(NamedTuple):
    """A signature. ``email`` is the address of the committer or tagger."""

    signature: CommitSignature
    email: str


class _OpenPgp(NamedTuple):
    """An OpenPGP signature. ``id`` is the id of its key."""

    id: str
    signature: Sig


class _Ssh(NamedTuple):
    """An SSH signature. ``id`` is the fingerprint of its key.

    ``signed`` is the signed data, ``blob`` the signature in SSH's format.
    """

    id: str
    public_key: bytes
    signed: bytes
    blob: bytes


_Read = _OpenPgp | _Ssh | None


class Signatures:
    """A verifier of signatures. Repositories with the trust model ``default`` use ``default_model``."""

    def __init__(
        self,
        database: Database,
        identity: HttpIdentity,
        verdicts: SharedCache[bool],
        default_model: TrustModel,
        server: ServerKeys,
    ) -> None:
        self._db, self._identity, self._verdicts, self._server = database, identity, verdicts, server
        self._default_model = default_model

    async def verify(self, repository_id: int, signed: Mapping[str, Signed]) -> dict[str, Verification]:
        """Return the verification of each signature, by the keys of ``signed``.

        Needs at most two calls to identity and four statements.
        """
        if not signed:
            return {}
        read = await asyncio.to_thread(_read_all, signed)
        verifications = {
            id_: await asyncio.to_thread(self._judge_server, signed[id_].signature, one, key)
            for id_, one in read.items()
            if one is not None and (key := self._server.by_id.get(one.id)) is not None
        }
        signed = {id_: one for id_, one in signed.items() if id_ not in verifications}
        return verifications | await self._verify_accounts(repository_id, signed, read)

    def _judge_server(
        self, signature: CommitSignature, read: _OpenPgp | _Ssh, key: ServerKey
    ) -> Verification:
        """Return the verification of a signature that names a key of the server. Blocks the thread."""
        if not _is_valid(signature, read, key.certificate, self._verdicts):
            return _verification(signature, _BAD)
        signer = CommitAuthor(name=self._server.name, email=self._server.email)
        return _verification(signature, f"{signer.name} / {read.id}", signer)

    async def _verify_accounts(
        self, repository_id: int, signed: Mapping[str, Signed], read: Mapping[str, _Read]
    ) -> dict[str, Verification]:
        """Return the verifications of signatures by keys of accounts."""
        if not signed:
            return {}
        try:
            keys = await _keys(self._identity, [read[id_] for id_ in signed])
            trusted = await self._trusted(repository_id) if keys else None
        except ApiError as error:
            if not isinstance(error, Unavailable):
                raise
            return {id_: _verification(one.signature, _NO_ANSWER) for id_, one in signed.items()}
        return await asyncio.to_thread(
            lambda: {
                id_: _judge(one, read[id_], keys, trusted, self._verdicts) for id_, one in signed.items()
            }
        )

    async def _trusted(self, repository_id: int) -> frozenset[int] | None:
        """Return the accounts whose signatures the repository trusts; None for all. Raises Unavailable."""
        async with self._db.read() as db:
            row = await repositories.get_unfiltered(db, repository_id)
            if row is None:
                return frozenset()
            model = read_trust_setting(row.inert_settings).trust_model
            if model == "default":
                model = self._default_model
            if model == "committer":
                return None
            users = await collaborations.user_ids(db, repository_id)
            teams = await collaborations.team_ids(db, repository_id)
        if row.owner_kind == AccountKind.ORGANIZATION:
            users += await self._identity.members_of_teams(row.owner_id, teams, write=False, units=["code"])
        return frozenset((row.owner_id, *users))


def _read_all(signed: Mapping[str, Signed]) -> dict[str, _Read]:
    return {id_: _read(one.signature) for id_, one in signed.items()}


async def _keys(identity: HttpIdentity, read: Iterable[_Read]) -> dict[str, SignatureKey]:
    """Return the keys that made these signatures by id or fingerprint, up to the limit of one request."""
    key_ids = dict.fromkeys(one.id for one in read if isinstance(one, _OpenPgp))
    fingerprints = dict.fromkeys(one.id for one in read if isinstance(one, _Ssh))
    if not key_ids and not fingerprints:
        return {}
    query = FindSignatureKeys(
        key_ids=list(key_ids)[:MOST_SIGNATURE_KEYS], fingerprints=list(fingerprints)[:MOST_SIGNATURE_KEYS]
    )
    return {key.id: key for key in await identity.signature_keys(query)}


def _judge(
    signed: Signed,
    read: _Read,
    keys: Mapping[str, SignatureKey],
    trusted: Collection[int] | None,
    verdicts: SharedCache[bool],
) -> Verification:
    if read is None:
        return _verification(signed.signature, _UNREADABLE)
    key = keys.get(read.id)
    if key is None:
        return _verification(signed.signature, _NO_KEY)
    # Compare the address last: only the holder of the key may learn its owner's addresses.
    if not _is_valid(signed.signature, read, key.certificate, verdicts):
        return _verification(signed.signature, _BAD)
    if signed.email.lower() not in key.addresses:
        return _verification(signed.signature, _NO_KEY)
    owner = key.owner
    signer = CommitAuthor(name=owner.full_name or owner.login, email=signed.email, username=owner.login)
    if trusted is not None and owner.id not in trusted:
        return _verification(signed.signature, _UNTRUSTED, signer, verified=False)
    return _verification(signed.signature, f"{owner.login} / {key.id}", signer)


def _is_valid(
    signature: CommitSignature, read: _OpenPgp | _Ssh, certificate: bytes, verdicts: SharedCache[bool]
) -> bool:
    """True if the key made the signature. Cached, because the result for the same bytes never changes."""
    digest = hashlib.sha256()
    for part in (signature.signature, signature.payload, certificate):
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    verdict = verdicts.get(digest.digest())
    if verdict is None:
        if isinstance(read, _Ssh):
            verdict = _is_valid_ssh(read)
        else:
            verdict = _is_valid_openpgp(read, signature.payload, certificate)
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
    import asyncssh  # costs 5% of the start-up time, and few processes see such a signature

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
        sig = Sig.from_bytes(signature_packet(signature.signature))
        issuer = next((one.issuer_key_id for one in PacketPile.from_bytes(bytes(sig))), None)
    except (RuntimeError, ValueError):
        return None
    return _OpenPgp(issuer.upper(), sig) if issuer else None


def _read_ssh(signature: CommitSignature) -> _Ssh | None:
    """Parse an SSH signature in the format of OpenSSH's PROTOCOL.sshsig; None for any other text."""
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
    """Return the strings (RFC 4251, section 5) in the data; none if the data is truncated."""
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
    signature: CommitSignature, reason: str, signer: CommitAuthor | None = None, *, verified: bool = True
) -> Verification:
    return Verification(
        verified=verified and signer is not None,
        reason=reason,
        signature=signature.signature.decode("utf-8", "replace"),
        payload=signature.payload.decode("utf-8", "replace"),
        signer=signer,
    )
