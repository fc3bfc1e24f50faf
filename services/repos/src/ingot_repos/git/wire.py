"""What git starts while it talks to a remote: three programs that the distribution installs beside its command.

`ingot-repos-askpass` answers git's and ssh's questions for user name and password (gitcredentials(7)),
`ingot-repos-connect` opens a connection through the proxy of the worker (core.gitProxy of git-config(1), ProxyCommand
of ssh_config(5)), `ingot-repos-ssh` is ssh with nothing of the operator's own (GIT_SSH of git(1)).

Secrets are in a file without a name that the worker holds open and that its own account alone can reach (proc(5));
ssh would close an inherited descriptor. They are never in arguments, environment, configuration or on disk. Only the
standard library is imported, as each program is started anew.
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


def program(name: str) -> str:
    """The path of one of the three. Raises FileNotFoundError when the distribution is not installed whole."""
    beside = Path(sysconfig.get_path("scripts")) / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return found


def sealed_off(username: str, password: str) -> tuple[int, str]:
    """A descriptor of a file without a name that holds both, and the path to it; the caller closes it."""
    descriptor = os.memfd_create("secrets")
    os.write(descriptor, json.dumps([username, password]).encode())
    return descriptor, f"/proc/{os.getpid()}/fd/{descriptor}"


def askpass() -> None:
    """Print the answer to the question in the first argument."""
    question = sys.argv[1] if len(sys.argv) > 1 else ""
    username, password = json.loads(Path(os.environ[SECRETS]).read_bytes())
    # ssh asks "<user>@<host>'s password: ", whatever the user is called.
    sys.stdout.write((username if question.startswith("Username for ") else password) + "\n")


def ssh() -> None:
    """Become ssh, with the options of the worker in front of git's."""
    options = json.loads(os.environ[SSH])
    os.execvp("ssh", ["ssh", *options, *sys.argv[1:]])  # noqa: S606 - the one ssh of the machine


def connect() -> None:
    """Join stdin and stdout with the host and port of the arguments, through the proxy."""
    host, port = sys.argv[1], int(sys.argv[2])
    with _opened(host, port) as connection, selectors.DefaultSelector() as selector:
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


def _opened(host: str, port: int) -> socket.socket:
    """A connection through the proxy: RFC 1928 (SOCKS 5) with the user name and password of RFC 1929."""
    proxy, ticket, token = os.environ[TUNNEL].split(":")
    connection = socket.create_connection(("127.0.0.1", int(proxy)))
    name = host.encode("ascii")
    connection.sendall(b"\x05\x01\x02")
    _expect(connection, b"\x05\x02")
    connection.sendall(b"\x01" + _short(ticket.encode()) + _short(token.encode()))
    _expect(connection, b"\x01\x00")
    connection.sendall(b"\x05\x01\x00\x03" + _short(name) + port.to_bytes(2, "big"))
    _expect(connection, b"\x05\x00\x00\x01" + bytes(6))
    return connection


def _short(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def _expect(connection: socket.socket, answer: bytes) -> None:
    given = b""
    while len(given) < len(answer) and (part := connection.recv(len(answer) - len(given))):
        given += part
    if given != answer:
        sys.exit("cannot connect")


def _write_all(chunk: bytes) -> None:
    unsent = memoryview(chunk)
    while unsent:
        unsent = unsent[os.write(1, unsent) :]
