"""A run over many histories: each is pushed, read, cloned and merged, and compared with git's own results.

The comparison runs before and after upkeep.
"""

import itertools
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .comparisons import MOST_FAILURES, MOST_OF_A_KIND, Comparison, Question, Verdicts
from .corpus import Example
from .fetches import Fetches
from .files import Files
from .histories import MAIN, History
from .ingot import Ingot, Repository, git_of
from .plain import Plain, plain
from .pulls import Pulls, Writes
from .reads import Reads
from .refs import Refs

AT_ONCE = 2
"""Histories that wait for the same upkeep."""
WORKERS = 3
"""Groups of histories that are compared at the same time: while one waits for Ingot, another asks git."""
PULLS = 5
"""Pull requests of one history."""
PROGRESS_SECONDS = 30.0
SHRINK_ATTEMPTS = 150
MAIN_REF = f"refs/heads/{MAIN}"


@dataclass
class Case:
    """One history at both sides, and the questions that are left for the time after upkeep."""

    plain: Plain
    repository: Repository
    pulls: Repository
    kinds: tuple[str, ...]
    later: list[Question]


@dataclass
class Run:
    """Histories at one deployment.

    ``folder`` is for repositories and clones, and ``seed`` selects the questions. ``kinds`` has prefixes of
    the kinds of questions; empty for all.
    """

    ingot: Ingot
    folder: Path
    seed: str
    kinds: tuple[str, ...] = ("",)
    verdicts: Verdicts = field(default_factory=Verdicts)
    failures: list[tuple[History, Comparison]] = field(default_factory=list)
    """The first ones of each kind."""
    numbers: Iterator[int] = field(default_factory=partial(itertools.count, 1))
    """Of histories, for names of folders and repositories."""
    count: int = 0

    def check(self, examples: Iterable[Example], *, comparisons: int) -> None:
        """Compare until there were so many, or there is no history left, or too much differs."""
        began = reported = time.monotonic()
        every, running = iter(examples), set[Future[None]]()
        with ThreadPoolExecutor(WORKERS) as workers:
            while True:
                is_enough = self.verdicts.total >= comparisons
                if not (is_enough or self.verdicts.failures.total() >= MOST_FAILURES):
                    while len(running) < WORKERS and (group := list(itertools.islice(every, AT_ONCE))):
                        running.add(workers.submit(self.check_group, group))
                if not running:
                    return
                ended, running = wait(running, PROGRESS_SECONDS, FIRST_COMPLETED)
                for one in ended:
                    one.result()
                if time.monotonic() - reported > PROGRESS_SECONDS:
                    reported = time.monotonic()
                    print(
                        f"{self.verdicts.total} of {comparisons} comparisons, {self.count} histories, "
                        f"{self.verdicts.failures.total()} differences, {reported - began:.0f} s",
                        flush=True,
                    )

    def check_group(self, examples: Sequence[Example]) -> None:
        """Compare all that is asked about some histories, whose upkeep is the same."""
        with ExitStack() as stack:
            cases = [self._open(stack, example) for example in examples]
            for case in cases:
                case.repository.wait_packed()
            for case in cases:
                self._judge(case, [_damage(case.repository), *case.later])
                case.repository.delete()
                case.pulls.delete()

    def _open(self, stack: ExitStack, example: Example) -> Case:
        """Push a history, and compare what is not left for later."""
        number = next(self.numbers)
        self.count = max(self.count, number)
        folder = self.folder / f"{number}"
        folder.mkdir()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        own = stack.enter_context(plain(example.history, folder / "plain.git"))
        chance = random.Random(f"{self.seed}/{example.history.name}")
        repository, pulls = (self.ingot.create(f"{name}-{number}") for name in ("app", "pulls"))
        merges = Pulls(own, pulls, chance, PULLS)
        early, late = _refspecs(own)
        repository.push(own.path, f"{own.refs[MAIN_REF]}:{MAIN_REF}")
        repository.push(own.path, *early)
        pulls.push(own.path, *early, *merges.refspecs())
        if late:
            repository.push(own.path, *late)
        case = Case(own, repository, pulls, example.kinds, [])
        every = [
            *(reads := Reads(own, repository, chance)).questions(),
            *Refs(own, repository, reads).questions(),
            *Files(own, repository, chance).questions(),
            *Fetches(own, repository, chance, folder).questions(),
        ]
        first, later = _halves(every, chance)
        case.later = later
        for questions in (first, merges.questions(), Writes(own, pulls, chance).questions()):
            self._judge(case, questions)
        return case

    def _judge(self, case: Case, questions: Iterable[Question]) -> None:
        chosen = (
            one for one in questions if one.kind.startswith(self.kinds) and one.kind.startswith(case.kinds)
        )
        for comparison in self.verdicts.judge(chosen):
            if self.verdicts.failures[comparison.kind] <= MOST_OF_A_KIND:
                self.failures.append((case.plain.history, comparison))
                print(f"{comparison}\n  seed {self.seed}, history {case.plain.history.name}", flush=True)


def _damage(repository: Repository) -> Question:
    """git finds the repository on disk whole after upkeep, with its commit-graph."""

    def ask() -> str:
        code, output = git_of("fsck", "--full", "--no-dangling", "--no-progress", cwd=repository.folder())
        return output if code else ""

    return Question("upkeep", f"git fsck of {repository.name} on disk", str, ask)


def _refspecs(own: Plain) -> tuple[list[str], list[str]]:
    """All refs in two pushes: git finds `refs/heads/x` ambiguous once there is `refs/heads/refs/heads/x`."""
    late = [name for name in own.refs if name.startswith(("refs/heads/refs/", "refs/tags/refs/"))]
    both = ([name for name in own.refs if name not in late], late)
    first, second = ([f"{own.refs[name]}:{name}" for name in names] for names in both)
    return first, second


def _halves(questions: list[Question], chance: random.Random) -> tuple[list[Question], list[Question]]:
    """Split the questions into those before and after upkeep: a cached answer would hide a fault after it."""
    chance.shuffle(questions)
    middle = len(questions) // 2
    return questions[:middle], questions[middle:]


def smallest(
    history: History, difference: Callable[[History], Comparison | None]
) -> tuple[History, Comparison | None]:
    """The smallest history that is reached in which there is still a ``difference``, and that difference."""
    best: Comparison | None = None
    left = SHRINK_ATTEMPTS
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in history.smaller():
            if left == 0:
                return history, best
            left -= 1
            if (compared := difference(smaller)) is not None:
                history, best, is_smaller = smaller, compared, True
                break
    return history, best


def first_difference(kind: str, run: Run, history: History) -> Comparison | None:
    """The first answer of a kind that differs. What is asked depends on the seed, so several are tried."""
    for number in range(2):
        trial = Run(run.ingot, run.folder, f"{run.seed}/{number}", (kind,), numbers=run.numbers)
        trial.check_group([Example(history, ("",))])
        if trial.failures:
            return trial.failures[0][1]
    return None
