"""Every response about git equals git's own result: over the API, in clones, and in merges.

- ``INGOT_GIT_ORACLE`` is the number of comparisons.
- ``INGOT_GIT_ORACLE_SEED`` repeats a run. By default the seed is today's date.
- ``INGOT_GIT_ORACLE_FROM`` begins at the history of that number.
- ``INGOT_GIT_ORACLE_KINDS`` has prefixes of the kinds of questions, separated by commas.
- With ``INGOT_GIT_ORACLE_SHRINK=yes`` a failure shows a smaller history for each kind.
"""

import itertools
import os
from datetime import UTC, datetime
from functools import partial

import pytest

from .corpus import CORPUS, Example
from .differences import DIFFERENCES
from .generator import history
from .ingot import Ingot
from .run import Run, first_difference, smallest

COMPARISONS = int(os.environ.get("INGOT_GIT_ORACLE", "2000"))
SEED = os.environ.get("INGOT_GIT_ORACLE_SEED") or datetime.now(UTC).date().isoformat()
FIRST = os.environ.get("INGOT_GIT_ORACLE_FROM")
KINDS = tuple(os.environ.get("INGOT_GIT_ORACLE_KINDS", "").split(","))
SHRINKS = os.environ.get("INGOT_GIT_ORACLE_SHRINK") == "yes"
LONG = 50_000
"""Comparisons in which each entry of the table has to explain something."""
LEAST = {
    "commits": 2.0, "commits.not": 4.0, "commits.path": 2.0, "commits.path.not": 2.0, "commit": 2.0,
    "commit.diff": 1.0, "compare": 4.0, "tree": 5.0, "blob": 2.0, "contents": 5.0, "raw": 3.0, "blame": 1.0,
    "archive": 0.5, "git.refs": 3.0, "branch": 2.0, "tag": 0.5, "git.tag": 0.5, "pull.mergeable": 1.0,
    "pull.commits": 1.0, "fetch.mirror": 1.5, "fetch.id": 1.5, "fetch.unshallow": 0.5, "fetch.partial": 1.0,
    "merge.merge": 0.2, "merge.rebase": 0.2, "merge.squash": 0.2, "merge.rebase-merge": 0.2,
    "merge.fast-forward-only": 0.2, "merge.update-by-merge": 0.2, "merge.update-by-rebase": 0.2,
    "write": 1.0, "revert": 1.0,
}  # fmt: skip
"""Comparisons of a kind, at least, in 1,000: a run that asks little of a kind says nothing."""


@pytest.fixture
def ingot(deployment):
    one = Ingot(deployment)
    yield one
    one.close()


def test_every_answer_about_git_is_what_git_says(ingot, tmp_path):
    run = Run(ingot, tmp_path, SEED, KINDS)
    first = int(FIRST) if FIRST else 0
    generated = (Example(history(SEED, number), ("",)) for number in itertools.count(first))
    run.check(itertools.chain(() if FIRST else CORPUS, generated), comparisons=COMPARISONS)
    verdicts = run.verdicts
    print(
        f"\n{verdicts.total} comparisons of {run.count} histories, seed {SEED}: "
        f"{dict(sorted(verdicts.counts.items()))}"
    )
    print(f"differences of the table: {dict(verdicts.differences)}")
    if run.failures:
        pytest.fail(_report(run), pytrace=False)
    unused = [one.name for one in DIFFERENCES if one.name not in verdicts.differences]
    assert not (unused and verdicts.total >= LONG), f"entries of the table that explained nothing: {unused}"
    if not FIRST and KINDS == ("",):
        few = {
            kind: verdicts.counts[kind]
            for kind, least in LEAST.items()
            if verdicts.counts[kind] * 1000 < least * verdicts.total
        }
        assert not few, f"too few comparisons of {few}"


def _report(run: Run) -> str:
    """Return the differences, each history once, and the command to repeat it."""
    lines = [f"{run.verdicts.failures.total()} answers differ: {dict(sorted(run.verdicts.failures.items()))}"]
    shown = set()
    for one, comparison in run.failures:
        name = f"seed {SEED}, history {one.name}"
        lines.append(f"\n{comparison}\n  {name}" + ("" if one.name in shown else f"\n{one}"))
        shown.add(one.name)
        number = one.name.rpartition("/")[2]
        if number.isdecimal():
            lines.append(
                f"  again: INGOT_GIT_ORACLE_SEED={SEED} INGOT_GIT_ORACLE_FROM={number} INGOT_GIT_ORACLE=1 "
                "make oracle ARGS='-k standalone'"
            )
    if SHRINKS:
        by_kind = {comparison.kind: one for one, comparison in run.failures[::-1]}
        for kind, one in by_kind.items():
            smaller, difference = smallest(one, partial(first_difference, kind, run))
            lines.append(f"\nsmallest of {kind}:\n{smaller}\n{difference}")
    return "\n".join(lines)
