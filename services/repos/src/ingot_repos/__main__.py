"""``ingot-repos serve|work|migrate|replay|doctor|ssh|fsck``."""

from ingot_chassis.command import service_main
from ingot_repos.app import SCRIPTS, create_app, fsck
from ingot_repos.settings import Settings
from ingot_repos.ssh import process


def main() -> None:
    """Run the command line."""
    more = {
        "ssh": ("serve git over SSH, for a process that runs `serve`", process.serve),
        "fsck": ("check all repositories of the shard, say which are damaged, and end", fsck),
    }
    service_main("repos", Settings, create_app, scripts=SCRIPTS, more=more)


if __name__ == "__main__":
    main()
