"""Numbers of issues in messages of commits."""

import pytest

from ingot_web.history.rules import references


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Merge 'x' (#2)", 'Merge &#39;x&#39; (<a href="/r/issues/2">#2</a>)'),
        ("#1, #23.", '<a href="/r/issues/1">#1</a>, <a href="/r/issues/23">#23</a>.'),
        ("<b> & &#39;", "&lt;b&gt; &amp; &amp;#39;"),
        ("a#1 bob/x#1 ##1 /#1 #0 #1x #1234567890", "a#1 bob/x#1 ##1 /#1 #0 #1x #1234567890"),
        ("", ""),
    ],
)
def test_a_number_leads_to_its_issue_and_all_else_is_escaped_text(text, html):
    assert references(text, "/r") == html


def test_the_address_is_escaped():
    assert references("#1", '/"') == '<a href="/&#34;/issues/1">#1</a>'
