"""The key with which the server signs commits and tags, and its former keys.

An operator puts the private key into a file. Sequoia signs with an OpenPGP key, ssh-keygen with an OpenSSH
key. The file is read once, at the start. With an unusable key the process does not start and logs one line.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from stat import S_IROTH
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)
from pysequoia import Cert, Sig, SignatureMode, Tsk, sign, verify
from pysequoia.packet import PacketPile, Tag

from ingot_chassis.errors import Invalid
from ingot_chassis.security import ssh_keys
from ingot_chassis.settings import SettingsError
from ingot_git.history.new_objects import Signer
from ingot_git.process.cpu_time import CpuBudget
from ingot_git.process.errors import SigningFailed
from ingot_git.process.ssh_keygen import SshKeyFile

_SETTING, _FORMER = "INGOT_REPOS_SIGNING_KEY", "INGOT_REPOS_FORMER_SIGNING_KEYS"
_OPENPGP, _OPENSSH = b"-----BEGIN PGP PRIVATE KEY BLOCK-----", b"-----BEGIN OPENSSH PRIVATE KEY-----"
_OPENPGP_PUBLIC = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_LARGEST = 256 * 1024
_PUBLIC_KEYS = (Tag.PublicKey, Tag.PublicSubkey)


class ServerKey(NamedTuple):
    """A public key of the server. ``ids`` are its fingerprint, or the ids of an OpenPGP key and its subkeys.

    ``certificate`` is empty for an SSH key. ``text`` is the key in the format that users import.
    """

    ids: tuple[str, ...]
    certificate: bytes
    text: str

    @property
    def is_openpgp(self) -> bool:
        return bool(self.certificate)


class ServerKeys:
    """The keys of the server by id. ``signer`` and ``current`` are None if the server signs nothing."""

    def __init__(
        self,
        name: str,
        email: str,
        signer: Signer | None = None,
        current: ServerKey | None = None,
        former: Sequence[ServerKey] = (),
    ) -> None:
        self.name, self.email, self.signer, self.current = name, email, signer, current
        keys = [*former, *([] if current is None else [current])]
        self.by_id = {id_: key for key in keys for id_ in key.ids}


class _OpenPgpSigner:
    """A signer with an OpenPGP key or its signing subkey."""

    def __init__(self, name: str, email: str, key: Tsk, passphrase: str) -> None:
        self.name, self.email = name, email
        self._certificate = key.extract_certificate()
        self._signer = key.signer(passphrase or None)

    def sign(self, payload: bytes, _budget: CpuBudget | None = None) -> bytes:
        """Return a signature that is valid now. Raises SigningFailed, for example if the key has expired."""
        try:
            signature = sign(self._signer, payload, mode=SignatureMode.DETACHED)
            _require_valid(self._certificate, payload, signature)
        except (RuntimeError, ValueError) as error:
            raise SigningFailed(f"the OpenPGP key cannot sign: {_reason(error)}") from error
        return signature


class _SshSigner:
    """A signer that runs ssh-keygen."""

    def __init__(self, name: str, email: str, key: SshKeyFile) -> None:
        self.name, self.email, self._key = name, email, key

    def sign(self, payload: bytes, budget: CpuBudget | None = None) -> bytes:
        return self._key.sign(payload, budget)


def read_server_keys(
    file: str, *, passphrase: str, name: str, email: str, former: Sequence[str]
) -> ServerKeys:
    """Read the keys in the settings, and sign a test text. Raises SettingsError with one line."""
    public_keys = [_read_public(path) for path in former]
    if not file:
        return ServerKeys(name, email, former=public_keys)
    if not email or not name:
        raise SettingsError([f"{_SETTING} needs INGOT_REPOS_SIGNING_NAME and INGOT_REPOS_SIGNING_EMAIL"])
    text = _read(_SETTING, file)
    if Path(file).stat().st_mode & S_IROTH:
        raise SettingsError([f"{_SETTING}: every account of this machine may read {file}; chmod 600 it"])
    try:
        if _OPENPGP in text:
            signer, key = _openpgp(text, passphrase, name, email)
        elif _OPENSSH in text:
            signer, key = _openssh(text, passphrase, name, email)
        else:
            raise SettingsError(
                [f"{_SETTING}: {file} holds neither an armored OpenPGP private key nor an OpenSSH one"]
            )
        signer.sign(b"start")
    except SigningFailed as error:
        raise SettingsError([f"{_SETTING}: {error}"]) from error
    return ServerKeys(name, email, signer, key, public_keys)


def _openpgp(text: bytes, passphrase: str, name: str, email: str) -> tuple[Signer, ServerKey]:
    try:
        key = Tsk.from_bytes(text)
        certificate = key.extract_certificate()
        addresses = {str(user_id).rpartition("<")[2].rstrip(">").lower() for user_id in certificate.user_ids}
    except (RuntimeError, ValueError) as error:
        raise SigningFailed(f"the OpenPGP key cannot be read: {_reason(error)}") from error
    if email.lower() not in addresses:
        # Other servers show a commit as verified only if the key names its committer.
        raise SigningFailed(f"the OpenPGP key does not name the address {email} of INGOT_REPOS_SIGNING_EMAIL")
    try:
        return _OpenPgpSigner(name, email, key, passphrase), _public_openpgp(certificate)
    except (RuntimeError, ValueError) as error:
        reason = (
            f"{_reason(error)}; is INGOT_REPOS_SIGNING_KEY_PASSPHRASE right, and has the key not expired?"
        )
        raise SigningFailed(f"the OpenPGP key cannot sign: {reason}") from error


def _openssh(text: bytes, passphrase: str, name: str, email: str) -> tuple[Signer, ServerKey]:
    load = partial(load_ssh_private_key, text)
    try:
        try:
            key = load(passphrase.encode() or None)
        except TypeError:  # the passphrase is missing, or there is none to ask for
            key = load(None)
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        plain = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        public_key = _public_ssh(f"{public.decode()} {name}")
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        reason = f"{_reason(error)}; is INGOT_REPOS_SIGNING_KEY_PASSPHRASE right?"
        raise SigningFailed(f"the SSH key cannot be read: {reason}") from error
    return _SshSigner(name, email, SshKeyFile(plain)), public_key


def _read_public(path: str) -> ServerKey:
    text = _read(_FORMER, path)
    try:
        if _OPENPGP_PUBLIC in text:
            return _public_openpgp(Cert.from_bytes(text))
        return _public_ssh(text.decode("ascii"))
    except (RuntimeError, ValueError) as error:
        raise SettingsError([f"{_FORMER}: {path} holds no public key: {_reason(error)}"]) from error


def _public_openpgp(certificate: Cert) -> ServerKey:
    packets = PacketPile.from_bytes(bytes(certificate))
    ids = [packet.key_id.upper() for packet in packets if packet.tag in _PUBLIC_KEYS and packet.key_id]
    return ServerKey(tuple(ids), bytes(certificate), str(certificate))


def _public_ssh(line: str) -> ServerKey:
    """Return the SSH key in one line of text. Raises ValueError."""
    try:
        key = ssh_keys.read(line)
    except Invalid as error:
        raise ValueError(str(error)) from error
    return ServerKey((key.fingerprint,), b"", f"{key.content}\n")


def _require_valid(certificate: Cert, payload: bytes, signature: bytes) -> None:
    verify(bytes=payload, store=lambda _ids: [certificate], signature=Sig.from_bytes(signature))


def _read(setting: str, path: str) -> bytes:
    """Return the content of a file named in the settings. Raises SettingsError."""
    if not Path(path).is_absolute():
        raise SettingsError([f"{setting} does not name a file by its absolute path: {path}"])
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST)
    except OSError as error:
        raise SettingsError([f"{setting}: {path} cannot be read: {error.strerror}"]) from error


def _reason(error: Exception) -> str:
    """Return the first line of an error, without the stack that Sequoia adds."""
    return str(error).partition("\n")[0]
