"""``ingot up | admin create-user | admin reset-password | version``."""

import argparse
import secrets
import sys
from collections.abc import Sequence
from importlib.metadata import version

from ingot_chassis.server import run_command
from ingot_standalone.console import say
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.settings import read


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    command = {
        "up": _up,
        "version": _version,
        "create-user": _create_user,
        "reset-password": _reset_password,
    }[options.command]

    async def run() -> None:
        await command(options)

    run_command(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ingot", description="A git forge, all of it on one machine.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start everything and serve until Ctrl-C")
    up.add_argument("--host", help="address to listen on (INGOT_HOST, 127.0.0.1)")
    up.add_argument("--port", type=_port, help="port to listen on, 0 for a free one (INGOT_PORT, 3000)")
    _takes_data(up)
    commands.add_parser("version", help="print the release")
    admin = commands.add_parser("admin", help="users, on the data folder; the server may run meanwhile")
    tasks = admin.add_subparsers(dest="command", required=True, metavar="TASK")
    create = tasks.add_parser("create-user", help="make a user who can sign in at once")
    create.add_argument("name")
    create.add_argument("--email", required=True)
    create.add_argument("--full-name", default="")
    create.add_argument("--admin", action="store_true", help="make them a site administrator")
    reset = tasks.add_parser("reset-password", help="give a user a new password")
    reset.add_argument("name")
    for task in (create, reset):
        task.add_argument(
            "--password", help="'-' reads it from standard input; without this option one is made and printed"
        )
        _takes_data(task)
    return parser


def _takes_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", metavar="DIR", help="folder of everything that is kept (INGOT_DATA, ./data)"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port (0 to 65535)")
    return int(text)


async def _up(options: argparse.Namespace) -> None:
    from ingot_standalone.up import up

    await up(read({"host": options.host, "port": options.port, "data": options.data}))


async def _version(_options: argparse.Namespace) -> None:
    say(f"ingot {version('ingot-standalone')}")


async def _create_user(options: argparse.Namespace) -> None:
    from ingot_standalone import accounts

    folder = DataFolder(read({"data": options.data}).folder)
    password, told = _password(options)
    await accounts.create_user(
        folder,
        name=options.name,
        email=options.email,
        full_name=options.full_name,
        password=password,
        admin=options.admin,
    )
    kind = "Administrator" if options.admin else "User"
    say(f"{kind} {options.name} is created{told}")


async def _reset_password(options: argparse.Namespace) -> None:
    from ingot_standalone import accounts

    folder = DataFolder(read({"data": options.data}).folder)
    password, told = _password(options)
    await accounts.reset_password(folder, name=options.name, password=password)
    say(f"{options.name} has a new password{told}")


def _password(options: argparse.Namespace) -> tuple[str, str]:
    """The password, and what is to be said about it."""
    if options.password == "-":  # noqa: S105 - stands for standard input
        return sys.stdin.readline().rstrip("\n"), "."
    if options.password is not None:
        return options.password, "."
    made = secrets.token_urlsafe(15)
    return made, f"; the password is: {made}"


if __name__ == "__main__":
    main()
