"""The first lines of a file, as many as fit on one page."""

MOST_LINES = 5_000
"""Maximum number of lines. Each line is a row of the page, however short it is."""


def first_lines(text: str) -> tuple[str, int]:
    """Return the first MOST_LINES lines of a file, and the number of further lines."""
    lines = text.split("\n", MOST_LINES)
    if len(lines) <= MOST_LINES:
        return text, 0
    rest = lines.pop()
    count = rest.count("\n") + (rest != "" and not rest.endswith("\n"))
    return "".join(f"{line}\n" for line in lines), count
