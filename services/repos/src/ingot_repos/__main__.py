"""``ingot-repos serve|work|migrate|replay|doctor|ssh|fsck|shards|backup|restore``."""

from argparse import ArgumentParser, Namespace

from ingot_chassis.garbage import no_collection

with no_collection():
    from ingot_chassis.command import CommandGroup, service_main
    from ingot_repos.migrations import SCRIPTS
    from ingot_repos.settings import Settings
    from ingot_repos.upkeep.jobs import backups


def add_shard_commands(parser: ArgumentParser) -> None:
    """Add the subcommands of ``shards``."""
    commands = parser.add_subparsers(dest="shard_command", required=True)
    commands.add_parser("list", help="say what each shard has, and which moves run")
    add = commands.add_parser("add", help="let a shard have repositories")
    add.add_argument("name")
    add.add_argument("--url", default="", help="root URL of its processes, if INGOT_REPOS_SHARDS has it not")
    move = commands.add_parser("move", help="move a repository, with its parents and forks, to another shard")
    move.add_argument("repository", metavar="OWNER/REPO")
    move.add_argument("--to", required=True, metavar="NAME")
    cancel = commands.add_parser(
        "cancel",
        help="end moves that wait or run; the repositories stay where they are. During an update, "
        "a process of a release without this command may still complete its move",
    )
    which = cancel.add_mutually_exclusive_group(required=True)
    which.add_argument("repository", metavar="OWNER/REPO", nargs="?", default="")
    which.add_argument("--all", action="store_true", help="all moves")
    for name, option, purpose in (
        ("replicate", "--to", "let a shard have a copy of a repository for reading"),
        ("unreplicate", "--on", "let a shard remove its copy"),
    ):
        replicate = commands.add_parser(name, help=purpose)
        replicate.add_argument("repository", metavar="OWNER/REPO")
        replicate.add_argument(option, required=True, metavar="NAME")
    rebalance = commands.add_parser("rebalance", help="move repositories until shards have about the same")
    rebalance.add_argument("--dry-run", action="store_true", help="only say what would move")
    for name, purpose in (
        ("drain", "move all repositories to other shards; the shard gets no new ones"),
        ("remove", "forget a shard that holds nothing"),
    ):
        commands.add_parser(name, help=purpose).add_argument("name")


async def serve_ssh(settings: Settings) -> None:
    from ingot_repos.transport import ssh_process

    await ssh_process.serve(settings)


async def fsck(settings: Settings) -> None:
    from ingot_repos import app

    await app.fsck(settings)


async def run_shard_command(settings: Settings, options: Namespace) -> None:
    from ingot_repos import app

    await app.run_shard_command(settings, options)


def main() -> None:
    """Run the command line. Each command imports only what it needs, because imports are slow."""
    more = {
        "ssh": ("serve git over SSH, for a process that runs `serve`", serve_ssh),
        "fsck": ("check all repositories of the shard, say which are damaged, and end", fsck),
    }
    shards = CommandGroup(
        "list, add, balance and remove shards, and move repositories", add_shard_commands, run_shard_command
    )
    groups = {
        "shards": shards,
        "backup": CommandGroup(
            "copy the files of the shard, and end", backups.add_backup_options, backups.back_up
        ),
        "restore": CommandGroup(
            "put a backup in the place of what the shard has, and end",
            backups.add_restore_options,
            backups.restore,
        ),
    }
    service_main("repos", Settings, scripts=SCRIPTS, more=more, groups=groups)


if __name__ == "__main__":
    main()
