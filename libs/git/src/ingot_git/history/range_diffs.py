"""Compares two versions of a series of commits with git-range-diff(1), with bounded work.

git pairs the commits of both versions by their changes. It leaves out merges, and does not compare the
contents of binary files.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from operator import not_
from pathlib import Path
from typing import Literal

import pygit2

from ingot_git.history.commits import CommitInfo, describe, find_commit
from ingot_git.process.command import MIB, GitArgs, clean_environment, git_async, run_git
from ingot_git.process.cpu_time import READ, CpuBudget, CpuLimit
from ingot_git.process.errors import GitFailed, ObjectNotFound, OutputTooLarge

MOST_COMMITS = 250
"""Commits of one version. git compares each commit of one version with each of the other."""
MOST_OUTPUT = MIB // 2
MAX_CPU = CpuLimit(0.6)
_SECONDS = 6.0
_MEMORY = 256 * MIB
_OPTIONS = ("--no-color", "--no-dual-color", "--no-notes", "--no-ext-diff", "--no-textconv")
_SPACE = " \t\r\n"
"""White space of git (git-compat-util.h)."""
_FULL_IDS = (("core.abbrev", "40"),)
_INDENT = b"    "
# Numbers have at most three digits (see MOST_COMMITS), so a heading has less indentation than a difference.
_HEADING = re.compile(
    rb" {0,3}(?:\d+|-):  ([0-9a-f]{40}|-{40}) ([=!<>]) {1,4}(?:\d+|-):  ([0-9a-f]{40}|-{40}) ?(.*)", re.DOTALL
)

PairState = Literal["unchanged", "changed", "dropped", "added"]
_STATES: dict[bytes, PairState] = {b"=": "unchanged", b"!": "changed", b"<": "dropped", b">": "added"}


@dataclass(frozen=True, slots=True)
class CommitPair:
    """A commit in the old and in the new version. An id is empty if that version lacks the commit.

    ``difference`` is the diff of both patches, without git's indentation. It is empty unless the commit has
    changed. ``title`` is that of the new commit, if there is one.
    """

    state: PairState
    old: str
    new: str
    title: str
    difference: str = ""


@dataclass(frozen=True, slots=True)
class CommitSeries:
    """The commits of ``head`` that ``base`` lacks, oldest first, without merges: their ids and titles."""

    base: str
    head: str
    commits: tuple[tuple[str, str], ...]


def commit_series(
    repo: pygit2.Repository, head: str, bases: Sequence[str], budget: CpuBudget | CpuLimit = READ
) -> CommitSeries:
    """Return the commits of ``head`` that are not in the first of the bases that does not contain ``head``.

    A base that does not exist is skipped. If no base is left, the series is empty. ``budget`` limits git.

    Raises:
        ObjectNotFound: the head, or a commit of its history, does not exist.
        OutputTooLarge: there are more than ``MOST_COMMITS`` commits.
        GitTimedOut: git ran too long; GitTooExpensive: it needed more CPU time than ``budget``.
    """
    find_commit(repo, head)
    for base in bases:
        try:
            find_commit(repo, base)
        except ObjectNotFound:
            continue
        if oids := _listed(repo, head, base, budget):
            break
    else:
        return CommitSeries(head, head, ())
    if len(oids) > MOST_COMMITS:
        raise OutputTooLarge(f"there are more than {MOST_COMMITS} commits")
    commits = [describe(find_commit(repo, oid)) for oid in reversed(oids)]
    return CommitSeries(base, head, tuple((one.oid, _title(one)) for one in commits if len(one.parents) <= 1))


async def range_diff(git_dir: Path, old: CommitSeries, new: CommitSeries) -> list[CommitPair]:
    """Return the commits of both series in pairs, in the order of git-range-diff(1).

    Raises:
        OutputTooLarge: the differences are larger than ``MOST_OUTPUT``.
        GitTimedOut: git ran too long; GitTooExpensive: it needed more CPU time than ``MAX_CPU``.
        GitFailed: an object of the series does not exist.
    """
    if not old.commits or not new.commits:  # git refuses a range without commits
        dropped = [CommitPair("dropped", oid, "", title) for oid, title in old.commits]
        return dropped + [CommitPair("added", "", oid, title) for oid, title in new.commits]
    output = await git_async(
        GitArgs("range-diff", _OPTIONS, (f"{old.base}..{old.head}", f"{new.base}..{new.head}")),
        git_dir=git_dir,
        environment=clean_environment(config=_FULL_IDS),
        time_limit=_SECONDS,
        max_output=MOST_OUTPUT,
        max_memory=_MEMORY,
        max_cpu=MAX_CPU,
    )
    titles = dict((*old.commits, *new.commits))
    return [replace(pair, title=titles.get(pair.new or pair.old, pair.title)) for pair in parse(output)]


def parse(output: bytes) -> Iterator[CommitPair]:
    """Parse the output of git-range-diff(1) without colours and with full ids.

    The title of a pair is that of the old commit, if there is one.
    """
    heading: re.Match[bytes] | None = None
    lines: list[bytes] = []
    for line in output.split(b"\n"):
        if line.startswith(_INDENT):
            lines.append(line.removeprefix(_INDENT))
        elif match := _HEADING.fullmatch(line):
            if heading:
                yield _pair(heading, lines)
            heading, lines = match, []
    if heading:
        yield _pair(heading, lines)


def _pair(heading: re.Match[bytes], lines: list[bytes]) -> CommitPair:
    old, sign, new, title = heading.groups()
    return CommitPair(
        _STATES[sign],
        old.decode().strip("-"),
        new.decode().strip("-"),
        title.decode("utf-8", "replace"),
        b"\n".join(lines).decode("utf-8", "replace"),
    )


def _listed(repo: pygit2.Repository, head: str, base: str, budget: CpuBudget | CpuLimit) -> list[str]:
    """Return the commits of ``head`` that ``base`` lacks, latest first, up to one above ``MOST_COMMITS``.

    Raises ObjectNotFound, GitTimedOut.
    """
    options = ("--date-order", f"--max-count={MOST_COMMITS + 1}", "--stdin")
    try:
        output = run_git(
            GitArgs("rev-list", options),
            git_dir=Path(repo.path),
            stdin=f"{head}\n^{base}\n".encode(),
            time_limit=_SECONDS,
            max_memory=_MEMORY,
            max_cpu=budget,
        )
    except GitFailed as error:
        raise ObjectNotFound("a commit of the history is missing") from error
    return output.decode().split()


def _title(commit: CommitInfo) -> str:
    """Return the subject like git: the lines of the first paragraph, joined by spaces."""
    lines = (line.rstrip(_SPACE) for line in commit.message.split("\n"))
    return " ".join(takewhile(bool, dropwhile(not_, lines)))
