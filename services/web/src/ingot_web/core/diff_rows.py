"""Lines of a diff as rows of a table. A page has thousands of them, which takes a template ten times as long.

``link`` leads to the form of a comment on a line, up to the side and the number; empty where nobody comments.
"""

from markupsafe import Markup, escape

from ingot_web.core.diffs import DiffLine

_SIGNS = {"add": "+", "del": "\N{MINUS SIGN}"}


def unified_row(line: DiffLine, link: str) -> Markup:
    """A line in one column: both numbers, the sign, the text."""
    text = escape(line.text)
    if line.kind == "hunk":
        cells = '<td class="number"></td><td class="number"></td><td class="sign"></td>'
        return Markup(f'<tr class="hunk">{cells}<td class="text">{text}</td></tr>\n')  # noqa: S704 - escaped
    old, new = _old_number(line, link), _number(line.new, "R", link)
    row = (
        f'<tr class="{line.kind}"><td class="number">{old}</td><td class="number">{new}</td>'
        f'<td class="sign">{_SIGNS.get(line.kind, "")}</td><td class="text">{text}</td></tr>\n'
    )
    return Markup(row)  # noqa: S704 - escaped


def split_row(left: DiffLine | None, right: DiffLine | None, link: str) -> Markup:
    """A line before the changes beside one after them; a hunk is on both sides."""
    if left is not None and left.kind == "hunk":
        cells = f'<td class="number"></td><td class="text" colspan="3">{escape(left.text)}</td>'
        return Markup(f'<tr class="hunk">{cells}</tr>\n')  # noqa: S704 - escaped
    before = _half(left, _old_number(left, link)) if left is not None else _NOTHING
    after = _half(right, _number(right.new, "R", link)) if right is not None else _NOTHING
    return Markup(f"<tr>{before}{after}</tr>\n")  # noqa: S704 - escaped


_NOTHING = '<td class="number none"></td><td class="text none"></td>'


def _half(line: DiffLine, number: str) -> str:
    return (
        f'<td class="number {line.kind}">{number}</td><td class="text {line.kind}">{escape(line.text)}</td>'
    )


def _old_number(line: DiffLine, link: str) -> str:
    """A comment on a line that stays is one on the file after the changes."""
    return _number(line.old, "L", link if line.kind == "del" else "")


def _number(value: int | None, side: str, link: str) -> str:
    if not value:
        return ""
    if not link:
        return str(value)
    words = " before the changes" if side == "L" else ""
    return (
        f'<a href="{escape(link)}{side}{value}#write" aria-label="Comment on line {value}{words}">{value}</a>'
    )
