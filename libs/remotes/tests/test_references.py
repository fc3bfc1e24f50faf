"""References in imported texts."""

import pytest

from ingot_chassis.clock import now
from ingot_contracts.repos.imports import ImportedMilestone
from ingot_remotes.interface.addresses import Address
from ingot_remotes.texts.references import References

HERE = "https://here.example/bob/copy"
SITE = "https://git.example.org"


def rewritten(text, offset=1000):
    address = Address(SITE, "group/sub", "proj")
    return References(address, HERE, offset, {"annie": "ann"}).rewrite(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see !12 and #12", "see #1012 and #12"),
        ("group/sub/proj!3, group/sub/proj#4", "#1003, #4"),
        ("other/proj!3, other/group/sub/proj#4", "other/proj!3, other/group/sub/proj#4"),
        ("wow!12 !x ![a](b) !0", "wow!12 !x ![a](b) !0"),
        ("`!12` and\n```\n!12 @annie\n```\n!12", "`!12` and\n```\n!12 @annie\n```\n#1012"),
        ("```\n!12 never closed", "```\n!12 never closed"),
        ("@annie @Annie, @cat a@annie.example x/@annie", "@ann @ann, @cat a@annie.example x/@annie"),
        (f"{SITE}/group/sub/proj/-/merge_requests/7", f"{HERE}/pulls/1007"),
        (f"[it]({SITE}/group/sub/proj/-/issues/7#note_12)", f"[it]({HERE}/issues/7)"),
        (f"{SITE}/group/sub/proj/-/commit/{'a' * 40}", f"{HERE}/commit/{'a' * 40}"),
        (f"{SITE}/group/sub/proj/-/issues/7/designs", f"{SITE}/group/sub/proj/-/issues/7/designs"),
        (f"{SITE}/group/sub/project/-/issues/7", f"{SITE}/group/sub/project/-/issues/7"),
    ],
)
def test_a_reference_leads_to_what_is_here(text, expected):
    assert rewritten(text) == expected


def test_a_source_with_one_number_space_has_no_marks_of_merge_requests():
    text = f"!12 {SITE}/group/sub/proj/pull/7#issuecomment-9"
    assert rewritten(text, offset=0) == f"!12 {HERE}/pulls/7"


@pytest.mark.parametrize(
    "text", ["`" * 100_000, "~~~" * 50_000, "@a" * 100_000, "`a\n" * 50_000, "group/sub/" * 20_000]
)
def test_a_hostile_text_takes_no_longer_than_its_length(text):
    assert len(rewritten(text)) == len(text)


def test_texts_of_structs_are_rewritten_and_titles_are_not():
    milestone = ImportedMilestone(
        source_id=1, title="!1", description="!1", created_at=now(), updated_at=now()
    )
    address = Address(SITE, "group/sub", "proj")
    [changed] = References(address, HERE, 1000, {}).rewrite_all([milestone])
    assert (changed.title, changed.description) == ("!1", "#1001")
