"""git's report of a push (gitprotocol-pack(5), "Report Status"), held back until the push is decided."""

import contextlib
import re
from collections.abc import AsyncGenerator, Mapping, Sequence

from ingot_git.process.errors import GitError
from ingot_git.protocol.sideband import DATA, FATAL, PROGRESS, packets
from ingot_git.protocol.smart_http import pkt_line

_RESULT = re.compile(rb"(ok|ng) (\S+)(.*)", re.DOTALL)


class PushReport:
    """Splits the response of receive-pack: forwards progress texts and holds the report back."""

    def __init__(self, *, has_side_band: bool) -> None:
        self._has_side_band = has_side_band
        self._report = bytearray()

    async def texts_of(self, answer: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yield the progress texts of `answer`, which arrives in whole packets.

        Errors of `answer` are raised here.
        """
        async with contextlib.aclosing(answer):
            async for chunk in answer:
                if not self._has_side_band:
                    self._report += chunk
                elif chunk[4:5] == bytes([DATA]):
                    self._report += chunk[5:]
                elif chunk[4:5] == bytes([PROGRESS]):
                    yield chunk

    def accepted(self) -> set[str]:
        """Return the refs that git moved. Raises GitError if the report is malformed."""
        return {
            match[2].decode("utf-8", "surrogateescape")
            for line in self._lines()
            if (match := _RESULT.fullmatch(line)) is not None and match[1] == b"ok"
        }

    def packets(self, names: Mapping[str, str], refusals: Mapping[str, str], lines: Sequence[str]) -> bytes:
        """Return the end of the response: progress `lines` and the report.

        `names` maps ref names in git's report to the names that the client sees. `refusals` has the reasons
        for refs that were rejected after git's report.
        """
        report = b"".join(pkt_line(_renamed(line, names, refusals)) for line in self._lines())
        report += b"0000" if self._report else b""
        if not self._has_side_band:
            return report
        texts = [packets(PROGRESS, f"{line}\n".encode()) for line in lines]
        return b"".join([*texts, packets(DATA, report), b"0000"])

    def _lines(self) -> list[bytes]:
        """Return the lines of the report. Raises GitError if it is malformed."""
        lines, position = [], 0
        while len(header := bytes(self._report[position : position + 4])) == 4:
            if re.fullmatch(rb"[0-9a-fA-F]{4}", header) is None:
                raise GitError("git sent a malformed report")
            length = max(4, int(header, 16))
            if length > 4:
                lines.append(bytes(self._report[position + 4 : position + length]).removesuffix(b"\n"))
            position += length
        return lines


def refusal_of_push(text: str, *, has_side_band: bool) -> bytes:
    """Return the response that rejects a whole push with the reason ``text``."""
    if has_side_band:
        return packets(FATAL, f"{text}\n".encode())
    return pkt_line(f"unpack {text}\n".encode()) + b"0000"


def _renamed(line: bytes, names: Mapping[str, str], refusals: Mapping[str, str]) -> bytes:
    match = _RESULT.fullmatch(line)
    if match is None:
        return line + b"\n"
    ref = match[2].decode("utf-8", "surrogateescape")
    shown = names.get(ref, ref).encode("utf-8", "surrogateescape")
    if match[1] == b"ok" and ref in refusals:
        return b"ng %b %b\n" % (shown, refusals[ref].encode())
    return b"%b %b%b\n" % (match[1], shown, match[3])
