"""Links to a file in the text to which it belongs."""

import pytest

from ingot_web.attachments.rules import without_links

URL = "https://forge.example/ann/demo/attachments/0a-1b"
PICTURE, OTHER = f"![a.png]({URL})", "[b](https://forge.example/ann/demo/attachments/0a-1b2)"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (PICTURE, ""),
        (f"see\n\n{PICTURE}", "see"),
        (f"see\r\n\r\n{PICTURE}\r\n\r\nthere", "see\r\n\r\nthere"),
        (f"one {PICTURE} two", "one  two"),
        (f"{PICTURE}\n\n{OTHER}\n\n{PICTURE} {PICTURE}\n", OTHER),
        (rf"[a\]\[b\\]({URL})", ""),
        (f'[a]({URL} "a picture")', ""),
        (f"[a](<{URL}>)", ""),
        ("[a](/ann/former-name/attachments/0a-1b)", ""),
        (f"[{PICTURE}]({URL})", ""),
        (f"[one]({URL})[two]({URL}) three", " three"),
    ],
)
def test_links_to_a_file_and_pictures_of_it_go(text, rest):
    assert without_links(text, URL) == rest


@pytest.mark.parametrize(
    "text",
    [OTHER, URL, f"<{URL}>", f'<img src="{URL}">', f"[a]: {URL}", "[a](x)", f"[a] ({URL})", f"[a]({URL}?x=1)", " a \n\n", ""],
)  # fmt: skip
def test_anything_else_stays_as_it_is(text):
    assert without_links(text, URL) == text


PARTS = (
    "[",
    "![",
    "[a](",
    "[a](x",
    "](x",
    "\\",
    "[\\",
    "\\[",
    f"[a]({URL}",
    f'[a]({URL} "',
    f"\\]({URL})",
    f"a]({URL})",
    "\n",
    " ",
)


@pytest.mark.parametrize("part", PARTS)
def test_a_long_text_without_links_is_read_in_time(part):
    text = part * (400_000 // len(part))
    assert without_links(text, URL) == text
