"""Types and constants that the SSH server and the service share: keys, holders and commands."""

import msgspec

KEY_HEADER = "ingot-ssh-key"
"""The header with the fingerprint of the key that the SSH client has proved to own."""

LEVELS = {"git-upload-pack": "read", "git-upload-archive": "read", "git-receive-pack": "write"}
"""The allowed commands of a session, each with the required access to the repository."""


class HostKeys(msgspec.Struct, frozen=True):
    """The private host keys in OpenSSH format."""

    keys: list[str]


class KeyHolder(msgspec.Struct, frozen=True):
    """The owner of an SSH key: a user, or the repository of a deploy key. ``title`` is the key's title."""

    name: str
    title: str
