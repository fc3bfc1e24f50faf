"""What the command tells the person who runs it; everything else goes to the log."""


def say(line: str = "") -> None:
    """One line on standard output, at once even when that is a file or a pipe."""
    print(line, flush=True)  # noqa: T201 - this is where the command speaks
