"""What people type about an issue."""

import pytest

from ingot_chassis.errors import Invalid
from ingot_web.api.issue_facts import _issue_named


@pytest.mark.parametrize(
    ("text", "named"), [("#3", (3, "", "")), ("3", (3, "", "")), ("ann/demo#12", (12, "ann", "demo"))]
)
def test_an_issue_is_named_by_its_number(text, named):
    assert tuple(_issue_named(text).values()) == named


@pytest.mark.parametrize("text", ["", "#", "#x", "ann/demo", "#-1", "#٣", "#" + "9" * 5000])
def test_what_names_no_issue_is_refused(text):
    with pytest.raises(Invalid):
        _issue_named(text)
