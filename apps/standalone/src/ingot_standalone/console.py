"""Output of the command for its user. All other output goes to the log."""


def say(line: str = "") -> None:
    """Print one line, without delay even when the output is a file or a pipe."""
    print(line, flush=True)  # noqa: T201 - the one place that prints
