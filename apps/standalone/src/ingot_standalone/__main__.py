"""``ingot up | backup | restore | export | import | doctor | admin … | version``."""

import argparse
import asyncio
import secrets
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import run_command
    from ingot_chassis.errors import CannotStart
    from ingot_chassis.telemetry import configure_logging
    from ingot_standalone.console import say
    from ingot_standalone.data_folder import DataFolder
    from ingot_standalone.settings import read


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    configure_logging("warning", readable=True)  # what a command prints is for the one who runs it
    command = {
        "up": _up,
        "version": _version,
        "doctor": _doctor,
        "backup": _backup,
        "restore": _restore,
        "export": _export,
        "import": _import,
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
    up.add_argument("--ssh-port", type=_port, help="port for git over SSH, 0 for none (INGOT_SSH_PORT, 2222)")
    _add_data_option(up)
    commands.add_parser("version", help="print the release")
    doctor = commands.add_parser("doctor", help="say what is wrong and what to do")
    doctor.add_argument("--repair", action="store_true", help="put right what can be put right")
    _add_data_option(doctor)
    backup = commands.add_parser("backup", help="copy all data, also while the server runs")
    backup.add_argument(
        "--to", type=Path, metavar="FOLDER", required=True, help="folder of the backups, one folder for each"
    )
    _add_data_option(backup)
    restore = commands.add_parser("restore", help="make a data folder of a backup")
    restore.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        required=True,
        help="a backup, or the folder of them: the newest",
    )
    _add_data_option(restore)
    export = commands.add_parser("export", help="write a repository of any Ingot into an archive")
    export.add_argument("repository", help="address of its page; INGOT_TOKEN has the token")
    export.add_argument("archive", type=Path, help="the new file, or the new folder of a layout")
    export.add_argument(
        "--organization",
        action="store_true",
        help="the address is that of an organization, which comes with its teams and all repositories",
    )
    export.add_argument(
        "--layout",
        choices=("archive", "gitea"),
        default="archive",
        help="gitea: a folder that Gitea's restore-repo reads",
    )
    move = commands.add_parser("import", help="create a repository of any Ingot out of an archive")
    move.add_argument("archive", type=Path, help="the file")
    move.add_argument("repository", help="address of its new page; INGOT_TOKEN has the token")
    move.add_argument(
        "--organization",
        action="store_true",
        help="the file has an organization, and the address is that of a new one",
    )
    move.add_argument(
        "--private",
        action=argparse.BooleanOptionalAction,
        help="hide it, or show it; without this option it is as it was",
    )
    move.add_argument(
        "--map-logins",
        action="store_true",
        help="administrators: accounts with the same login are authors, and members of teams",
    )
    admin = commands.add_parser("admin", help="users, on the data folder; the server may run meanwhile")
    tasks = admin.add_subparsers(dest="command", required=True, metavar="TASK")
    create = tasks.add_parser("create-user", help="create a user, who can sign in at once")
    create.add_argument("name")
    create.add_argument("--email", required=True)
    create.add_argument("--full-name", default="")
    create.add_argument("--admin", action="store_true", help="create a site administrator")
    reset = tasks.add_parser("reset-password", help="give a user a new password")
    reset.add_argument("name")
    for task in (create, reset):
        task.add_argument(
            "--password",
            help="'-' reads it from standard input; without this option one is generated and printed",
        )
        _add_data_option(task)
    return parser


def _add_data_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="folder of all data (INGOT_DATA, ./data)")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port (0 to 65535)")
    return int(text)


async def _up(options: argparse.Namespace) -> None:
    settings = read({name: getattr(options, name) for name in ("host", "port", "ssh_port", "data")})
    with no_collection():  # until it serves: then `server` enables it
        from ingot_standalone.up import up

        await up(settings)


async def _version(_options: argparse.Namespace) -> None:
    say(f"ingot {version('ingot-standalone')}")


async def _doctor(options: argparse.Namespace) -> None:
    from ingot_standalone.doctor import findings

    lines = await findings(DataFolder(read({"data": options.data}).folder), repair=options.repair)
    for line in lines or ["nothing is wrong"]:
        say(line)
    if lines:
        raise CannotStart("something needs attention; docs/how-to/runbook.md says more")


async def _backup(options: argparse.Namespace) -> None:
    from ingot_standalone.backup import back_up

    folder = await asyncio.to_thread(back_up, DataFolder(read({"data": options.data}).folder), options.to)
    say(f"Backup {folder}")


async def _restore(options: argparse.Namespace) -> None:
    from ingot_standalone.backup import restore
    from ingot_standalone.doctor import findings

    folder = DataFolder(read({"data": options.data}).folder)
    backup = await asyncio.to_thread(restore, options.source, folder)
    say(f"{folder.path} is what {backup} was. Start it with: ingot up --data {folder.path}")
    for line in await findings(folder, repair=True):
        say(line)


async def _export(options: argparse.Namespace) -> None:
    from ingot_standalone.archives import export
    from ingot_standalone.organizations import export_organization

    token = read({}).token
    if options.organization:
        if options.layout != "archive":
            raise CannotStart("an organization has no layout of Gitea; export its repositories one by one")
        await export_organization(options.repository, options.archive, token=token)
        return
    await export(options.repository, options.archive, token=token, is_gitea=options.layout == "gitea")


async def _import(options: argparse.Namespace) -> None:
    from ingot_standalone.archives import import_archive
    from ingot_standalone.organizations import import_organization

    if options.organization:
        if options.private is not None:
            raise CannotStart("repositories of an organization are private if they were private")
        token, map_logins = read({}).token, options.map_logins
        await import_organization(options.archive, options.repository, token=token, map_logins=map_logins)
        return
    await import_archive(
        options.archive,
        options.repository,
        token=read({}).token,
        private=options.private,
        map_logins=options.map_logins,
    )


async def _create_user(options: argparse.Namespace) -> None:
    from ingot_standalone import accounts

    folder = DataFolder(read({"data": options.data}).folder)
    password, notice = _password(options)
    await accounts.create_user(
        folder,
        name=options.name,
        email=options.email,
        full_name=options.full_name,
        password=password,
        admin=options.admin,
    )
    kind = "Administrator" if options.admin else "User"
    say(f"{kind} {options.name} is created{notice}")


async def _reset_password(options: argparse.Namespace) -> None:
    from ingot_standalone import accounts

    folder = DataFolder(read({"data": options.data}).folder)
    password, notice = _password(options)
    await accounts.reset_password(folder, name=options.name, password=password)
    say(f"{options.name} has a new password{notice}")


def _password(options: argparse.Namespace) -> tuple[str, str]:
    """Return the password, and the end of the sentence that reports the result.

    The end contains a generated password.
    """
    if options.password == "-":  # noqa: S105 - stands for standard input
        return sys.stdin.readline().rstrip("\n"), "."
    if options.password is not None:
        return options.password, "."
    password = secrets.token_urlsafe(15)
    return password, f"; the password is: {password}"


if __name__ == "__main__":
    main()
