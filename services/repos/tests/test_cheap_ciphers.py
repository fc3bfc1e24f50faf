"""AES-GCM of the SSH server: the same bytes as asyncssh's own, and new keys in the middle of a connection."""

import asyncssh
import pytest
from asyncssh.crypto.cipher import GCMCipher

from ingot_repos.ssh.cheap_ciphers import MAC_BYTES, Gcm

from .ssh_world import Key, ssh_before

HEADER, PACKETS = b"\0\0\0\x10", [bytes([number]) * 16 for number in range(3)]


@pytest.mark.parametrize("key", [bytes(16), bytes(32)])
def test_packets_are_those_of_asyncssh_and_a_changed_one_is_refused(key):
    ours, theirs = (make(GCMCipher("aes128-gcm", key, b"\xff" * 12)) for make in (Gcm, lambda one: one))
    opening = Gcm(GCMCipher("aes128-gcm", key, b"\xff" * 12))
    for packet in PACKETS:
        sealed = b"".join(ours.encrypt_and_sign(HEADER, packet))
        assert sealed == b"".join(theirs.encrypt_and_sign(HEADER, packet))
        assert opening.verify_and_decrypt(HEADER, sealed[4:-16], sealed[-16:]) == packet
    assert opening.verify_and_decrypt(HEADER, sealed[4:-16], sealed[-16:]) is None


def test_a_packet_is_sealed_in_place_and_opened_early_once():
    ours, theirs, opening = (
        make(GCMCipher("aes128-gcm", bytes(16), b"\xff" * 12)) for make in (Gcm, lambda one: one, Gcm)
    )
    for number, packet in enumerate(PACKETS):
        sealed = bytearray(len(packet) + MAC_BYTES)
        ours.seal_into(memoryview(HEADER), memoryview(packet), memoryview(sealed))
        assert HEADER + sealed == b"".join(theirs.encrypt_and_sign(HEADER, packet))
        assert opening.open_early(HEADER, bytes(sealed)) == packet
        if number:
            assert opening.verify_and_decrypt(HEADER, bytes(sealed[:-16]), bytes(sealed[-16:])) == packet
        else:
            opening.is_handled()
    assert opening.open_early(HEADER, bytes(sealed)) is None
    assert opening.verify_and_decrypt(HEADER, bytes(sealed[:-16]), bytes(sealed[-16:])) is None


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_connection_goes_on_with_new_keys(world, ann, tmp_path, monkeypatch):
    key, begin, ciphers = Key(tmp_path, "ann"), Gcm.__init__, []
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")

    def note(self, cipher):
        ciphers.append(self)
        begin(self, cipher)

    monkeypatch.setattr(Gcm, "__init__", note)
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "rekey_bytes": 200}
    async with ssh_before(world) as port, asyncssh.connect("127.0.0.1", port, **login) as ssh:
        assert len({(await ssh.run()).stdout for _ in range(5)}) == 1
    assert len(ciphers) > 2
