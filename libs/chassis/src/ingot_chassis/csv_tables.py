"""CSV files as tables."""

import csv
import io

MOST_CELLS = 20_000
"""Maximum number of cells of a table on a page."""


def read_table(text: str) -> tuple[list[list[str]], str]:
    """Return the rows of a CSV file. If no table can be shown, return no rows and the reason.

    An empty file has no rows and no reason.
    """
    rows, cells = [], 0
    try:
        for row in csv.reader(io.StringIO(text)):
            cells += len(row) or 1  # A row without cells takes a line of the page, too.
            if cells > MOST_CELLS:
                return [], f"more than {MOST_CELLS:,} cells: too many for a table"
            rows.append(row)
    except csv.Error:
        return [], "it cannot be read as a table"
    return (rows if any(rows) else []), ""
