"""Every decision has a number, a status and the sections of a record, and names only decisions that exist."""

import re

import pytest

from ..arch.sources import ROOT

RECORDS = sorted((ROOT / "docs/explanation/decisions").glob("0*.md"))
NUMBERS = {int(record.name[:4]) for record in RECORDS}


def test_numbers_have_no_gap_but_the_one_that_the_index_names():
    assert set(range(1, max(NUMBERS) + 1)) - NUMBERS == {26}
    assert "Number 26" in (ROOT / "docs/explanation/decisions/index.md").read_text()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_a_status_and_its_sections(record):
    title, _, status, *rest = record.read_text().splitlines()
    assert title.startswith(f"# {int(record.name[:4])}. ")
    assert re.fullmatch(r"Status: (accepted|superseded by \[ADR \d+\]\(\d{4}-[\w-]+\.md\))", status)
    text = "\n".join(rest)
    for part in ("## Context", "## Decision", "## Consequences", "change violates this when"):
        assert part in text, part
