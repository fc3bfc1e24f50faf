"""Removal of quotes, signatures and forwarded originals from the text of a reply.

Only the beginning of each line is examined, a bounded number of times, so hostile texts cost no more.
"""

import re
from collections.abc import Sequence

_COLON = ":\uff1a"
"""The colon, and the one of Chinese and Japanese texts."""
MOST_LOOKED_AT = 300
"""Characters of a line, or of a wrapped introduction, that are compared with patterns."""
MOST_WRAPPED = 3
"""Lines of a wrapped introduction such as "On Monday, Ann <ann@example.org> wrote:"."""
MOST_HEADERS = 6
_VERB = re.compile(
    r"\b(wrote|writes|schrieb|a écrit|escribió|escreveu|ha scritto|schreef|skrev|napisał|написал)\b|写道|寫道|写到",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(on|am|le|el|em|il|op|den|w dniu|dnia)\b|[*_]?\d{1,4}[-./年]|在", re.IGNORECASE)
_WHEN = re.compile(r"@|\d{1,2}[:.h]\d{2}")
_DASHED = re.compile(r"-{5,}\s?[^-\s].{0,58}[^-\s]\s?-{5,}")
_RULED = re.compile(r"_{20,}|-{20,}")
_FORWARDED = re.compile(
    r"(begin forwarded message|anfang der weitergeleiteten nachricht|début du message (réexpédié|transféré)"
    r"|下面是被转发的邮件|开始转发的邮件)\s?[:\uff1a]",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"[*>\s]{0,3}(from|von|de|da|van|发件人|寄件者|寄件人|差出人)[*\s]{0,3}[:\uff1a]", re.IGNORECASE
)
_HEADER = re.compile(
    r"[*>\s]{0,3}(sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|à|objet|发送时间|日期|收件人|抄送|主题"
    r"|寄件日期|收件者|主旨|enviado|para|asunto|assunto|inviato|oggetto|onderwerp|aan|verzonden)"
    r"( le)?[*\s]{0,3}[:\uff1a]",
    re.IGNORECASE,
)
_SIGNATURES = ("-- ", "--")
_DEVICE = re.compile(
    r"(sent from my |sent from (yahoo|outlook|mail for)|get outlook for |von meinem .{1,30} gesendet"
    r"|gesendet von |gesendet mit |envoyé de(puis)? mon |envoyé à partir de |enviado desde mi "
    r"|发自我的|從我的 ?.{1,20}傳送|通过.{1,20}发送).{0,80}",
    re.IGNORECASE,
)


def cut_quotes(text: str) -> str:
    """Return the text that the sender wrote.

    A quote with an introduction is removed. After an introduction without a quote, everything is removed. A
    quote at the end is removed, too. Quotes between the sender's own lines stay: they are the context of an
    answer.
    """
    lines = text.split("\n")
    own_lines: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        if line in _SIGNATURES or _is_original(lines, place):
            break
        after = _after_introduction(lines, place)
        if after is None:
            own_lines.append(line)
            place += 1
            continue
        place = _next_filled(lines, after)
        if place == len(lines) or not _is_quoted(lines[place]):
            break
        while place < len(lines) and (_is_quoted(lines[place]) or not lines[place].strip()):
            place += 1
    return "\n".join(_without_end(own_lines)).strip("\n")


def _is_original(lines: Sequence[str], place: int) -> bool:
    """True if the original message begins here, as Outlook and forwarding programs mark it."""
    line = lines[place].strip()[:MOST_LOOKED_AT]
    if _DASHED.fullmatch(line) or _FORWARDED.match(line):
        return True
    if _RULED.fullmatch(line):
        place = _next_filled(lines, place + 1)
        return place < len(lines) and _is_header_block(lines, place)
    return _is_header_block(lines, place)


def _is_header_block(lines: Sequence[str], place: int) -> bool:
    """True for "From:", followed by at least two more headers."""
    if not _FROM.match(lines[place][:MOST_LOOKED_AT]):
        return False
    following = lines[place + 1 : place + 1 + MOST_HEADERS]
    return sum(_HEADER.match(line[:MOST_LOOKED_AT]) is not None for line in following) >= 2


def _after_introduction(lines: Sequence[str], place: int) -> int | None:
    """Return the place after the introduction of a quote at ``place``; None without an introduction."""
    first = lines[place].strip()[:MOST_LOOKED_AT]
    has_opening = _OPENING.match(first) is not None
    if _is_quoted(first) or not (has_opening or "@" in first):
        return None
    whole = ""
    for after in range(place + 1, min(place + MOST_WRAPPED, len(lines)) + 1):
        line = lines[after - 1].strip()
        whole = f"{whole} {line}".strip()
        if not line or len(whole) > MOST_LOOKED_AT:
            return None
        if after > place + 1 and (_OPENING.match(line) or (not has_opening and _is_introduction(line))):
            return None  # it begins in this line
        if _is_introduction(whole):
            following = _next_filled(lines, after)
            is_quote_next = following < len(lines) and _is_quoted(lines[following])
            return after if is_quote_next or _WHEN.search(whole) else None
    return None


def _is_introduction(text: str) -> bool:
    return text[-1] in _COLON and _VERB.search(text) is not None


def _without_end(lines: list[str]) -> list[str]:
    """Remove quotes, blank lines and the line of a mobile device at the end."""
    end = len(lines)
    while end:
        line = lines[end - 1].strip()
        if line and not _is_quoted(line) and not _DEVICE.fullmatch(line[: MOST_LOOKED_AT + 1]):
            break
        end -= 1
    return lines[:end]


def _is_quoted(line: str) -> bool:
    return line.lstrip(" ").startswith(">")


def _next_filled(lines: Sequence[str], place: int) -> int:
    """Return the place of the next line that is not blank, or the end."""
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place
