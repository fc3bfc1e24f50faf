"""Helper programs that git starts during a fetch from a remote; installed next to the command.

- `ingot-git-askpass` answers questions of git and ssh for user name and password (gitcredentials(7)).
- `ingot-git-connect` opens a connection through the worker's proxy (core.gitProxy of git-config(1),
  ProxyCommand of ssh_config(5)).
- `ingot-git-ssh` is ssh without the operator's configuration (GIT_SSH of git(1)).

Secrets are in an anonymous file that the worker has open. Only the worker's account can read it (proc(5));
ssh would close an inherited descriptor. Secrets are never in arguments, environment, configuration or on
disk. Only the standard library is imported, because these programs start often.
"""

import json
import os
import selectors
import shutil
import socket
import sys
import sysconfig
from pathlib import Path

SECRETS, TUNNEL, SSH = "INGOT_SECRETS", "INGOT_TUNNEL", "INGOT_SSH_OPTIONS"
_CHUNK = 64 * 1024


def program_path(name: str) -> str:
    """Return the path of an installed helper program. Raises FileNotFoundError if it is not installed."""
    script = Path(sysconfig.get_path("scripts")) / name
    path = str(script) if script.is_file() else shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not installed; install the package of ingot-git again")
    return path


def secrets_file(username: str, password: str) -> tuple[int, str]:
    """Write user name and password to an anonymous file. Return its descriptor and its path.

    The caller must close the descriptor.
    """
    descriptor = os.memfd_create("secrets")
    os.write(descriptor, json.dumps([username, password]).encode())
    return descriptor, f"/proc/{os.getpid()}/fd/{descriptor}"


def askpass() -> None:
    """Print the user name or password that the question in the first argument requests."""
    question = sys.argv[1] if len(sys.argv) > 1 else ""
    username, password = json.loads(Path(os.environ[SECRETS]).read_bytes())
    # git asks for both. ssh only asks for the password: "<user>@<host>'s password: ".
    sys.stdout.write((username if question.startswith("Username for ") else password) + "\n")


def ssh() -> None:
    """Replace this process by ssh, with the worker's options before git's."""
    options = json.loads(os.environ[SSH])
    os.execvp("ssh", ["ssh", *options, *sys.argv[1:]])  # noqa: S606 - the ssh of the machine


def connect() -> None:
    """Connect stdin and stdout with the host and port in the arguments, through the proxy."""
    host, port = sys.argv[1], int(sys.argv[2])
    with _open(host, port) as connection, selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == 0:
                    chunk = os.read(0, _CHUNK)
                    if chunk:
                        connection.sendall(chunk)
                    else:
                        selector.unregister(0)
                        connection.shutdown(socket.SHUT_WR)
                else:
                    chunk = connection.recv(_CHUNK)
                    if not chunk:
                        return
                    _write_all(chunk)


def _open(host: str, port: int) -> socket.socket:
    """Connect through the proxy: RFC 1928 (SOCKS 5) with user name and password of RFC 1929."""
    proxy, ticket, token = os.environ[TUNNEL].split(":")
    connection = socket.create_connection(("127.0.0.1", int(proxy)))
    name = host.encode("ascii")
    connection.sendall(b"\x05\x01\x02")
    _expect(connection, b"\x05\x02")
    connection.sendall(b"\x01" + _length_prefixed(ticket.encode()) + _length_prefixed(token.encode()))
    _expect(connection, b"\x01\x00")
    connection.sendall(b"\x05\x01\x00\x03" + _length_prefixed(name) + port.to_bytes(2, "big"))
    _expect(connection, b"\x05\x00\x00\x01" + bytes(6))
    return connection


def _length_prefixed(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def _expect(connection: socket.socket, answer: bytes) -> None:
    received = b""
    while len(received) < len(answer) and (part := connection.recv(len(answer) - len(received))):
        received += part
    if received != answer:
        sys.exit("cannot connect")


def _write_all(chunk: bytes) -> None:
    unsent = memoryview(chunk)
    while unsent:
        unsent = unsent[os.write(1, unsent) :]
