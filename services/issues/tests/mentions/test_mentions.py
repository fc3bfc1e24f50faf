"""Mentions in texts."""

import pytest

from ingot_issues.mentions.rules import find_in_markdown


@pytest.mark.parametrize(
    ("text", "logins"),
    [
        ("@ann and @Bob, @ann.", ["ann", "bob"]),
        ("(@ann) **@bob**\n- @cat_d", ["ann", "bob", "cat_d"]),
        ("ann@example.org x/@ann @@ann a@b", []),
        ("`@ann`\n\n    @bob\n\n[@cat](http://x)", []),
        ("@", []),
        ("@_ @- @ann_", ["ann"]),
        ("@" * 1000 + " @ann", ["ann"]),
        (" ".join(f"@u{number}" for number in range(60)), [f"u{number}" for number in range(50)]),
    ],
)
async def test_mentions_count_outside_of_code_and_links(text, logins):
    assert await find_in_markdown(text) == logins
