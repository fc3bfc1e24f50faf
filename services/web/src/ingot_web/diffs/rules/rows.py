"""Lines of a diff as table rows. A page has thousands of them; a template would take ten times as long.

``link`` is the URL of the form for a comment on a line, without side and number; empty without comments.
``below`` returns the rows below a line. ``excerpt`` is the URL of omitted lines without their range; empty if
they cannot be shown.
"""

from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from ingot_web.diffs.rules.parsing import DiffFile, DiffLine, Gap

Below = Callable[[DiffLine], Markup]
MORE = 20
"""Number of hidden lines that are shown at once."""
_SIGNS = {"add": "+", "del": "\N{MINUS SIGN}", "context": ""}


def unified_rows(file: DiffFile, link: str, below: Below, excerpt: str = "") -> Markup:
    """Return rows with one column of text: both numbers, the sign, the text."""
    rows, link, excerpt = [], str(escape(link)), str(escape(excerpt))
    for line, text in zip(file.lines, _texts(file.lines), strict=True):
        if line.kind == "hunk":
            cells = '<td class="number"></td><td class="number"></td><td class="sign"></td>'
            rows.append(
                f'<tr class="hunk">{cells}<td class="text">{text}{_more(line.gap, excerpt)}</td></tr>\n'
            )
        else:
            old, new = _old_number(line, link), _number(line.new, "R", link)
            rows.append(
                f'<tr class="{line.kind}"><td class="number">{old}</td><td class="number">{new}</td>'
                f'<td class="sign">{_SIGNS[line.kind]}</td><td class="text">{text}</td></tr>\n'
            )
        rows.append(_talk(line, below))
    return Markup("".join([*rows, _rest(file, excerpt)]))  # noqa: S704 - escaped


def split_rows(file: DiffFile, link: str, below: Below, excerpt: str = "") -> Markup:
    """Return rows with the old line on the left, and the new line on the right. A hunk spans both sides."""
    rows, link, excerpt = [], str(escape(link)), str(escape(excerpt))
    texts = {id(line): text for line, text in zip(file.lines, _texts(file.lines), strict=True)}
    for left, right in file.rows():
        if left is not None and left.kind == "hunk":
            text = texts[id(left)]
            rows.append(
                '<tr class="hunk"><td class="number"></td><td class="text" '
                f'colspan="3">{text}{_more(left.gap, excerpt)}</td></tr>\n'
            )
        else:
            before, after = _NOTHING, _NOTHING
            if left is not None:
                before = _half(left, texts[id(left)], _old_number(left, link))
            if right is not None:
                after = _half(right, texts[id(right)], _number(right.new, "R", link))
            rows.append(f"<tr>{before}{after}</tr>\n")
        if left is not right:
            rows.append(_talk(left, below))
        rows.append(_talk(right, below))
    return Markup("".join([*rows, _rest(file, excerpt)]))  # noqa: S704 - escaped


def gap_row(gap: Gap, excerpt: str) -> Markup:
    """Return the row that replaces omitted lines."""
    return Markup(_row_of(_more(gap, str(escape(excerpt)))))  # noqa: S704 - escaped


def _rest(file: DiffFile, excerpt: str) -> str:
    return _row_of(_more(file.rest, excerpt)) if file.rest and excerpt else ""


def _row_of(links: str) -> str:
    return f'<tr class="hunk"><td class="text" colspan="4">{links}</td></tr>\n'


def _more(gap: Gap | None, excerpt: str) -> str:
    """Return links to omitted lines: after the previous hunk, and before the next hunk.

    Empty without a gap or without ``excerpt``, which must be escaped.
    """
    if gap is None or not excerpt:
        return ""
    count = gap.last - gap.first + 1
    ways = [("up", "\N{UPWARDS ARROW}", "above")] if gap.last else []
    if not gap.last or (count > MORE and gap.first > 1):
        ways.append(("down", "\N{DOWNWARDS ARROW}", "below"))
    links = []
    for way, arrow, where in ways:
        number = min(MORE, count)
        # The file may end earlier, so their number is unknown.
        words = (
            f"{number} more line{'s' if number != 1 else ''} {where}" if gap.last else f"More lines {where}"
        )
        address = f"{excerpt}&amp;first={gap.first}&amp;last={gap.last}&amp;shift={gap.shift}&amp;way={way}"
        links.append(
            f' <a class="more" href="{address}" hx-get="{address}" hx-target="closest tr" '
            f'hx-swap="outerHTML" rel="nofollow">{arrow} {words}</a>'
        )
    return "".join(links)


_NOTHING = '<td class="number none"></td><td class="text none"></td>'


def _texts(lines: Sequence[DiffLine]) -> list[str]:
    """Return the texts of lines as HTML."""
    return [str(escape(line.text)) if line.html is None else line.html for line in lines]


def _talk(line: DiffLine | None, below: Below) -> str:
    """Return the row of comments below a line; empty without comments."""
    if line is None or not (line.conversations or line.has_form):
        return ""
    return f'<tr class="talk"><td colspan="4">{below(line)}</td></tr>\n'


def _half(line: DiffLine, text: str, number: str) -> str:
    return f'<td class="number {line.kind}">{number}</td><td class="text {line.kind}">{text}</td>'


def _old_number(line: DiffLine, link: str) -> str:
    """Return the old number of a line. Only deleted lines link to a comment on this side."""
    return _number(line.old, "L", link if line.kind == "del" else "")


def _number(value: int | None, side: str, link: str) -> str:
    """Return the number of a line, with a link to comment on it; empty without a number.

    ``link`` must be escaped. If it is empty, the number has no link.
    """
    if not value:
        return ""
    if not link:
        return str(value)
    words = " before the changes" if side == "L" else ""
    return f'<a href="{link}{side}{value}#body" aria-label="Comment on line {value}{words}">{value}</a>'
