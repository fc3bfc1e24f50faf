"""CSV files as rows of a table, or why they are none."""

import pytest

from ingot_chassis.csv_tables import MOST_CELLS, read_table

TOO_MANY = "more than 20,000 cells: too many for a table"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\nc,d\n", [["a", "b"], ["c", "d"]]),
        ("a,b\r\nc", [["a", "b"], ["c"]]),
        ('"a,b","c\nd","e""f"', [["a,b", "c\nd", 'e"f']]),
        ("a\n\nb", [["a"], [], ["b"]]),
        (",\n", [["", ""]]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_each_line_of_a_file_is_a_row(text, rows):
    assert read_table(text) == (rows, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a," * (MOST_CELLS - 1) + "b", ""),
        ("a," * MOST_CELLS + "b", TOO_MANY),
        ("a\n" * MOST_CELLS, ""),
        ("a\n" * MOST_CELLS + "b", TOO_MANY),
        ("\n" * (MOST_CELLS + 1), TOO_MANY),
        ("a\rb,c\n", "it cannot be read as a table"),
    ],
)
def test_what_is_no_table_says_why(text, reason):
    rows, shown = read_table(text)
    assert (shown, bool(rows)) == (reason, not reason)
