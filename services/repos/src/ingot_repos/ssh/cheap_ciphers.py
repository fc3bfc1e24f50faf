"""OpenSSH prefers ciphers with a separate code (AES-CTR) to AES-GCM, which costs half; here it gets AES-GCM where it knows that.

Of two lists of ciphers the client's order counts (RFC 4253, section 7.1). So the list of the server waits for that of the
client, which OpenSSH sends unasked, and has AES-GCM alone if the client has it. Other clients get the whole list at once:
they may wait for it. This can go when OpenSSH prefers AES-GCM by itself (docs/adr/0020).

asyncssh lays out the key anew for each packet and copies a packet twice to cut its code off and put it back, which is left out.
"""

from typing import Any

import asyncssh
from asyncssh.constants import MSG_KEXINIT
from asyncssh.crypto.cipher import GCMCipher
from asyncssh.encryption import GCMEncryption
from asyncssh.packet import SSHPacket
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CHEAP = (b"aes128-gcm@openssh.com", b"aes256-gcm@openssh.com")
MAC_BYTES = 16
_FIXED_BYTES, _COUNTER_BYTES = 4, 8
_MOST_INVOCATIONS = 2 ** (8 * _COUNTER_BYTES) - 1
_COOKIE_BYTES = 16


def prefer_cheap_ciphers(connection: asyncssh.SSHServerConnection) -> None:
    """Let the connection choose AES-GCM with clients of OpenSSH."""
    send, handlers = connection._send_kexinit, connection._packet_handlers  # noqa: SLF001 - it has no public ones
    process = handlers[MSG_KEXINIT]
    is_begun = waits = False

    def send_list() -> None:
        nonlocal is_begun, waits
        version = str(connection.get_extra_info("client_version", ""))
        waits = not is_begun and version.startswith("SSH-2.0-OpenSSH_")
        is_begun = True
        if not waits:
            send()

    def process_list(self: Any, pkttype: int, pktid: int, packet: SSHPacket) -> Any:
        nonlocal waits
        if waits:
            waits = False
            offered = _ciphers_of(packet.get_full_payload())
            if cheap := [one for one in CHEAP if one in offered]:
                connection._enc_algs = cheap  # noqa: SLF001
            send()
        return process(self, pkttype, pktid, packet)

    _keep_layouts_of_keys(connection)
    connection._send_kexinit = send_list  # type: ignore[method-assign]  # noqa: SLF001
    connection._packet_handlers = {**handlers, MSG_KEXINIT: process_list}  # noqa: SLF001


def _keep_layouts_of_keys(connection: asyncssh.SSHServerConnection) -> None:
    send_newkeys = connection.send_newkeys

    def send(k: bytes, h: bytes) -> None:
        send_newkeys(k, h)
        for encryption in (connection._send_encryption, connection._next_recv_encryption):  # noqa: SLF001
            if isinstance(encryption, GCMEncryption):
                encryption._cipher = Gcm(encryption._cipher)  # noqa: SLF001

    connection.send_newkeys = send  # type: ignore[method-assign]


class Gcm(GCMCipher):
    """AES-GCM with the key and the counter of another one."""

    def __init__(self, cipher: GCMCipher) -> None:
        self._laid_out, self._iv = AESGCM(cipher._key), cipher._iv  # noqa: SLF001
        self._fixed, self._invocation = self._iv[:_FIXED_BYTES], int.from_bytes(self._iv[_FIXED_BYTES:])
        self._opened: bytes | None = None

    def _update_iv(self) -> None:
        """Count the packet; RFC 5647, section 7.1. It is done for each, so the counter stays a number."""
        self._invocation = (self._invocation + 1) & _MOST_INVOCATIONS
        self._iv = self._fixed + self._invocation.to_bytes(_COUNTER_BYTES)

    def encrypt_and_sign(self, header: bytes, data: bytes) -> tuple[bytes, bytes]:
        """What is sent, in two parts."""
        sealed = self._laid_out.encrypt(self._iv, data, header)
        self._update_iv()
        return header, sealed

    def seal_into(self, header: memoryview, data: memoryview, sealed: memoryview) -> None:
        """The second part, into ``sealed``, which is `MAC_BYTES` longer than ``data``."""
        self._laid_out.encrypt_into(self._iv, data, header, sealed)
        self._update_iv()

    def open_early(self, header: bytes, sealed: bytes) -> bytes | None:
        """As ``verify_and_decrypt``, which will say the same of this packet, unless ``is_handled`` comes before."""
        self._opened = self.verify_and_decrypt(header, sealed, b"")
        return self._opened

    def is_handled(self) -> None:
        """The packet that was opened early is not opened again."""
        self._opened = None

    def verify_and_decrypt(self, header: bytes, data: bytes, mac: bytes) -> bytes | None:
        """None if it was changed on its way."""
        if (opened := self._opened) is not None:
            self._opened = None
            return opened
        try:
            opened = self._laid_out.decrypt(self._iv, data + mac, header)
        except InvalidTag:
            return None
        self._update_iv()
        return opened


def own_cipher(encryption: object) -> Gcm | None:
    """The cipher of one direction of a connection, if it is AES-GCM."""
    cipher = encryption._cipher if isinstance(encryption, GCMEncryption) else None  # noqa: SLF001
    return cipher if isinstance(cipher, Gcm) else None


def _ciphers_of(payload: bytes) -> list[bytes]:
    """The ciphers for what the server sends, in the list of algorithms of a client; RFC 4253, section 7.1."""
    packet = SSHPacket(payload[1 + _COOKIE_BYTES :])
    *_, ciphers = (packet.get_namelist() for _ in range(4))
    return list(ciphers)
