"""Find prose that breaks the mechanical part of our style: pages, docstrings and comments.

Usage: python tests/arch/prose.py [--lower] [folder …]. Print the violations of the folders, and all counts.
With --lower, write smaller counts into `prose.txt`. Larger ones are never written.
"""

import argparse
import ast
import inspect
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
ALLOWANCES = Path(__file__).parent / "prose.txt"

LINE = 110
"""Columns of a line, except rows of tables and lines that cannot be broken."""
SENTENCE = 20
"""Words of a sentence. Code, a link and a number count as one word each; a colon ends a sentence."""

FIRST_WORDS = re.compile(r"(What|Who|Whether|Which|How|Where)\b")
BANNED = re.compile(
    r"\b(nobody|somebody|whoever|beside|meanwhile|the same for|but of|but for|so that|what is to go|"
    r"to be there|is not there|away|in vain|anew|thus|whence|hence)\b",
    re.IGNORECASE,
)

_UNBREAKABLE = re.compile(r"\s*(#|\*|-|\d+\.)?\s*\S+\s*|\s*(\||#+ |\[[^\]]*\]: ).*")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*(?: \"[^\"]*\")?\)")
_CODE = re.compile(r"``[^`]+``|`[^`]+`")
_END = re.compile(r"(?<=[.!?:…])[)\"'*_”]*(?:\s+|$)")
_WORD = re.compile(r"[\w'./%&+-]*\w[\w'./%&+-]*")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_DIRECTIVE = re.compile(r"#\s*(noqa|type:|fmt:|mypy:|pragma|ruff:|!|shellcheck)")
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Usage|Attributes):\s*$")


class Violation(NamedTuple):
    """One place that breaks a rule."""

    place: str
    line: int
    rule: str
    text: str

    @property
    def folder(self) -> str:
        """The folder that counts it: of a distribution its source or its tests, else the first folder."""
        parts = self.place.split("/")
        if parts[0] in ("libs", "services", "apps"):
            return "/".join(parts[: 3 if parts[2] == "tests" else 2])
        return parts[0] if len(parts) > 1 else "."


class Text(NamedTuple):
    """A paragraph with the line on which it starts."""

    line: int
    text: str


def violations(files: Iterable[Path]) -> Iterator[Violation]:
    """Yield everything that breaks a rule, in Python and Markdown."""
    readers: dict[str, Callable[[str], Iterator[tuple[int, str, str]]]] = {".py": python, ".md": markdown}
    for file in files:
        place = file.relative_to(ROOT).as_posix()
        if file.suffix in readers and "/migrations/versions/" not in place:
            for line, rule, text in readers[file.suffix](file.read_text()):
                yield Violation(place, line, rule, text)


def markdown(page: str) -> Iterator[tuple[int, str, str]]:
    """Yield what breaks a rule in a page; blocks of code are skipped."""
    lines = [(number, line) for number, line in enumerate(_without_blocks(page), 1)]
    for number, line in lines:
        if len(line) > LINE and not _UNBREAKABLE.fullmatch(line):
            yield number, "long-line", line
    for text in _paragraphs(lines):
        yield from _prose(text)


def python(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield what breaks a rule in a module: its lines, docstrings and comments."""
    for number, line in enumerate(source.splitlines(), 1):
        if len(line) > LINE and not _UNBREAKABLE.fullmatch(line):
            yield number, "long-line", line
    for number, text in _docstrings(ast.parse(source)):
        if FIRST_WORDS.match(text.strip()):
            yield number, "first-word", text.strip().splitlines()[0]
        for paragraph in _paragraphs(list(enumerate(_without_examples(text), number))):
            yield from _prose(paragraph)
    for comment in _comments(source):
        yield from _prose(comment)


def _prose(text: Text) -> Iterator[tuple[int, str, str]]:
    """Yield banned words and long sentences of one paragraph."""
    plain = re.sub(r"<[^>]+>", " ", _CODE.sub("code", _LINK.sub(r"\1", _CODE.sub("code", text.text))))
    for match in BANNED.finditer(plain):
        yield text.line, "banned-word", match.group()
    for sentence in _END.split(plain):
        words = _WORD.findall(sentence)
        if len(words) > SENTENCE:
            yield text.line, "long-sentence", f"{len(words)} words: {sentence.strip()}"


def _without_blocks(page: str) -> Iterator[str]:
    """Yield the lines of a page, blocks of code and HTML comments as empty ones."""
    closing = ""
    for line in page.splitlines():
        fence = re.match(r"\s*(```+|~~~+|<!--)", line)
        if closing:
            closing = "" if closing in line else closing
            yield ""
        elif fence:
            closing = "-->" if fence.group(1) == "<!--" else fence.group(1)
            closing = "" if closing == "-->" and "-->" in line else closing
            yield ""
        else:
            yield line


def _without_examples(docstring: str) -> Iterator[str]:
    """Yield the lines of a docstring, those of code and headings of sections as empty ones."""
    literal = False
    for line in inspect.cleandoc(
        docstring + "."
    ).splitlines():  # the line of the closing quotes is indented, too
        literal = literal and (line.startswith(" ") or not line)
        yield "" if literal or line.lstrip().startswith(">>>") or _SECTION.match(line.strip()) else line
        literal = literal or line.rstrip().endswith("::")


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[Text]:
    """Yield paragraphs, items of lists, headings and cells of tables."""
    start, words = 0, list[str]()
    for number, line in [*lines, (0, "")]:
        bare = line.strip()
        cells = bare.startswith("|")
        if words and (not bare or cells or bare.startswith("#") or _ITEM.match(line)):
            yield Text(start, " ".join(words))
            words = []
        if cells:
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                yield Text(number, cell)
        elif bare:
            start = start if words else number
            words.append(_ITEM.sub("", bare) if not words else bare)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings that are statements: of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            for statement in body if isinstance(body, list) else ():
                match statement:
                    case ast.Expr(value=ast.Constant(value=str() as text)):
                        yield statement.lineno, text
                    case _:
                        pass


def _comments(source: str) -> Iterator[Text]:
    """Yield comments; those on consecutive lines of their own are one paragraph."""
    start, last, words = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or _DIRECTIVE.match(token.string):
            continue
        line, alone = token.start[0], not token.line[: token.start[1]].strip()
        if words and (line != last + 1 or not alone):
            yield Text(start, " ".join(words))
            words = []
        start, last = (start if words else line), (line if alone else 0)
        words.append(token.string.lstrip("#: "))
    if words:
        yield Text(start, " ".join(words))


def counts(items: Iterable[Violation]) -> Counter[str]:
    """Count violations by folder and rule, such as ``docs long-line``."""
    return Counter(f"{one.folder} {one.rule}" for one in items)


def allowances() -> Counter[str]:
    """Return how many violations each folder may have of each rule; without an entry none."""
    entries = (line.rsplit(maxsplit=1) for line in ALLOWANCES.read_text().splitlines() if line[:1] != "#")
    return Counter({key: int(number) for key, number in entries})


def lower(present: Counter[str]) -> None:
    """Write the smaller counts into the table of allowances."""
    head = [line for line in ALLOWANCES.read_text().splitlines() if line.startswith("#")]
    least = {key: min(allowed, present[key]) for key, allowed in allowances().items()}
    table = [f"{key} {number}" for key, number in sorted(least.items()) if number]
    ALLOWANCES.write_text("\n".join([*head, *table]) + "\n")


def main() -> int:
    """Return the exit code: 1 if a folder has more violations than it may have."""
    from sources import tracked  # found next to this file, which runs as a script here

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lower", action="store_true", help="write smaller counts into prose.txt")
    parser.add_argument("folders", nargs="*", help="folders or files whose violations are printed")
    arguments = parser.parse_args()
    everything = list(violations(tracked()))
    for one in everything:
        if any(one.place.startswith(folder) for folder in arguments.folders):
            print(f"{one.place}:{one.line} {one.rule}: {one.text}")
    present, allowed = counts(everything), allowances()
    for key in sorted(present | allowed):
        print(f"{key} {present[key]} of {allowed[key]}")
    if arguments.lower:
        lower(present)
    return 1 if present - allowed else 0


if __name__ == "__main__":
    sys.exit(main())
