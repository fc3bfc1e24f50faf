"""What the SSH server and the service say to each other: whose a key is, and which commands there are."""

import msgspec

KEY_HEADER = "ingot-ssh-key"
"""The header with the fingerprint of the key that a client of the SSH server has proved to have."""

LEVELS = {"git-upload-pack": "read", "git-upload-archive": "read", "git-receive-pack": "write"}
"""The commands of a session, and the access to the repository that each needs."""


class HostKeys(msgspec.Struct, frozen=True):
    """The private host keys, as OpenSSH writes them."""

    keys: list[str]


class KeyHolder(msgspec.Struct, frozen=True):
    """Whose a key is: the name of a user, or of the repository that a deploy key opens; and the key's title."""

    name: str
    title: str
