"""GitHub's dialect: alerts, emoji, HTML with relative targets."""

import re

import pytest

from ingot_issues.markdown.rules.github_dialect import ALERTS, with_emoji
from ingot_issues.markdown.rules.rendering import LinkContext, plain_text, render

README = LinkContext("https://git.example/", "https://git.example/ann/app/src/branch/main/docs/").in_source()
SOURCE, RAW = (f"https://git.example/ann/app/{kind}/branch/main/docs/" for kind in ("src", "raw"))


@pytest.mark.parametrize("kind", ALERTS)
def test_a_quote_that_begins_with_a_kind_is_an_alert(kind):
    html = render(f"> [!{kind.upper()}]\n> one *two*", README)
    assert f'<blockquote class="markdown-alert markdown-alert-{kind}">' in html
    assert f'<p class="markdown-alert-title">{kind.capitalize()}</p>\n<p>one <em>two</em></p>' in html


@pytest.mark.parametrize(
    "text",
    [
        "[!NOTE]\na", "> [!NOTE] a", "> a\n> [!NOTE]", "> [!OTHER]\n> a", "> > [!NOTE]\n> > a",
        "- a\n  > [!NOTE]\n  > b", "> # [!NOTE]",
    ],
)  # fmt: skip
def test_no_other_text_is_an_alert(text):
    assert "markdown-alert" not in render(text, README)


def test_an_alert_may_have_any_blocks_or_none():
    assert "<li>a</li>" in render("> [!TIP]\n> - a", README)
    assert "<p></p>" not in render("> [!TIP]\n>\n> - a", README)
    assert render("> [!TIP]", README).count("<p") == 1


def test_names_of_emoji_become_characters_where_they_are_text():
    assert render(":tada: **:+1:** [:bug:](x)", None).count(":") == 0
    assert render("`:tada:` :no_such_name: 10:30:15", None) == (
        "<p><code>:tada:</code> :no_such_name: 10:30:15</p>\n"
    )
    assert with_emoji("a:heart:b") == "a❤️b"
    assert ":tada:" in render("```\n:tada:\n```", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<img src=logo.png>", f'<img src="{RAW}logo.png">'),
        ("<img src=../logo.png>", f'<img src="{RAW.removesuffix("docs/")}logo.png">'),
        ("<img src=https://x.example/logo.png>", 'src="https://x.example/logo.png"'),
        ("<a href=guide.md>x</a>", f'href="{SOURCE}guide.md"'),
        ("<a href=#part>x</a>", 'href="#user-content-part"'),
        ("<a href=mailto:ann@x.example>x</a>", 'href="mailto:ann@x.example"'),
        ("[x](#part)", 'href="#user-content-part"'),
        ('<p align="center">x</p>', '<p align="center">x</p>'),
        ('<p align="justify-all">x</p>', "<p>x</p>"),
    ],
)
def test_html_has_the_targets_and_the_places_of_markdown(text, expected):
    assert expected in render(text, README)


def test_pictures_may_differ_in_the_dark():
    html = render(
        '<picture><source media="(prefers-color-scheme: dark)" srcset="dark.png">'
        '<img src="light.png"></picture>',
        README,
    )
    assert f'<source media="(prefers-color-scheme: dark)" srcset="{RAW}dark.png">' in html
    assert f'<img src="{RAW}light.png">' in html


@pytest.mark.parametrize("srcset", ["a.png 1x, b.png 2x", "javascript:alert(1)", "/javascript:alert(1)"])
def test_a_source_has_one_picture(srcset):
    assert "srcset" not in render(f'<picture><source srcset="{srcset}"><img src="b.png"></picture>', README)


@pytest.mark.parametrize(
    "target", ["/javascript:alert(1)", "//[", "/data:text/html,x", "/\tjavascript:alert(1)"]
)
def test_a_target_that_only_resolves_to_a_script_is_dropped(target):
    for text in (f'<a href="{target}">x</a>', f'<img src="{target}">', f"[x](<{target}>)"):
        html = render(text, README)
        assert re.search("<img|>x<", html)
        assert not re.search(r'(?:href|src)="(?!https://git\.example/|")', html)


def test_alerts_and_emoji_are_words_for_searches():
    assert plain_text(":tada:").strip() == "🎉"
    assert plain_text("> [!NOTE]\n> one").split() == ["Note", "one"]
