"""The author of each line of a file."""

import pytest

from ingot_web.code.rules.first_lines import MOST_LINES

from ..forge import HOME, MOMENT
from .test_files import put


@pytest.mark.parametrize(
    ("more", "said"), [(0, ""), (1, "1 more line: too long"), (7, "7 more lines: too long")]
)
async def test_lines_are_shown_with_their_commit_as_far_as_a_page_goes(pages, forge, more, said):
    count = MOST_LINES + more
    place = put(forge, "a.txt", "x\n" * count)
    commits = [
        {"sha": digit * 40, "title": f"Commit {digit}", "author": None, "author_name": "Ann",
         "created": MOMENT,
         "previous_sha": "", "previous_path": ""}
        for digit in "123"
    ]  # fmt: skip
    runs = [("1", 1, 10), ("2", 11, count - 11), ("3", count, 1)]
    forge.answers[f"{HOME}/blame/a.txt"] = {
        "commits": commits,
        "lines": [{"sha": sha * 40, "first": first, "count": length} for sha, first, length in runs],
    }
    shown = (await pages.get(f"/ann/demo/blame/{place}")).text

    assert shown.count('<tr id="L') == MOST_LINES
    assert "Commit 2" in shown
    assert ("Commit 3" in shown) is (more == 0)
    assert ("too long to show" in shown, said in shown) == (more > 0, True)
