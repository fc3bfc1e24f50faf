"""CSV files as HTML."""

from html import escape

from ingot_chassis.csv_tables import read_table
from ingot_contracts.rendering import plain_html


def csv_html(text: str) -> str:
    """Return a CSV text as an HTML table with numbered rows.

    If it cannot be shown as a table, return it as plain text with the reason.
    """
    rows, reason = read_table(text)
    if reason:
        return plain_html(text, reason)
    if not rows:
        return ""
    shown = (_row(number, row, "td" if number > 1 else "th") for number, row in enumerate(rows, 1))
    return f'<table class="data-table">{"".join(shown)}</table>\n'


def _row(number: int, cells: list[str], tag: str) -> str:
    shown = "".join(f"<{tag}>{escape(cell, quote=False)}</{tag}>" for cell in cells)
    return f'<tr><{tag} class="line-num">{number}</{tag}>{shown}</tr>'
