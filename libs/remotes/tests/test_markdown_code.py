"""Code in Markdown, compared with what markdown-it finds."""

import random
import re

import pytest
from markdown_it import MarkdownIt

from ingot_remotes.texts.markdown_code import CodeRanges

TEXTS = 4_000
PIECES = ("`", "``", "```", "~~~", "````", "\n", "\n", "\n\n", "\r\n", " ", "a", "TAG", "TAG", "TAG")
CODE = ("code_inline", "fence")


def any_text(chance: random.Random) -> str:
    """Return a text with numbered tags and without indented code, which is not looked for."""
    numbers = iter(range(100))
    pieces = [chance.choice(PIECES) for _ in range(chance.randrange(3, 16))]
    text = "".join(f"!{next(numbers)}." if piece == "TAG" else piece for piece in pieces)
    return re.sub(r"^ {4,}", "   ", text, flags=re.MULTILINE)


def tags_in_code(text: str) -> set[str]:
    """Return the tags in code, as markdown-it reads the text."""
    blocks = MarkdownIt("commonmark").parse(text)
    tokens = [one for block in blocks for one in (block, *(block.children or ())) if one.type in CODE]
    return {tag for one in tokens for tag in re.findall(r"![0-9]+", f"{one.info} {one.content}")}


def test_the_same_tags_are_in_code_as_for_markdown_it():
    chance, in_code, outside = random.Random("code"), 0, 0
    for _ in range(TEXTS):
        text = any_text(chance)
        ranges = CodeRanges(text)
        tags = {tag[0]: ranges.has(tag.start()) for tag in re.finditer(r"![0-9]+", text)}
        assert {tag for tag, is_code in tags.items() if is_code} == tags_in_code(text), text
        in_code += sum(tags.values())
        outside += len(tags) - sum(tags.values())
    assert min(in_code, outside) > TEXTS / 2


@pytest.mark.parametrize(
    ("text", "is_code"),
    [
        ("`" * 100_000, True),
        ("".join("`" * length + "a" for length in range(1, 440)), False),
        ("~~~\n" * 50_000, True),
        ("`` `" * 30_000, False),
    ],
)
def test_a_hostile_text_is_read_in_one_pass(text, is_code):
    assert CodeRanges(text).has(0) is is_code
