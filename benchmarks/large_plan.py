"""The data that the large benchmark adds. It is the same in each run; words come from the pages in docs/."""

import random
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


@dataclass(frozen=True)
class Sizes:
    """Numbers of things. One issue of a hundred is in the benchmark's repository.

    One of five has a comment by another user, so its author has a notification.
    """

    users: int = 10_000
    repositories: int = 100_000
    issues: int = 1_000_000
    hooks: int = 50_000

    def part(self, share: float) -> "Sizes":
        return Sizes(*(max(10, int(count * share)) for count in vars(self).values()))


@dataclass(frozen=True)
class Repository:
    """A repository to add. ``number`` counts from 0, and the numbers of ``issues`` from 1."""

    number: int
    id: int
    owner_id: int
    name: str
    private: bool
    issues: int

    @property
    def open_issues(self) -> int:
        return self.issues - self.issues // 3


@dataclass
class Plan:
    """The data to add. It is the same in each run."""

    sizes: Sizes
    first_user: int
    first_repository: int
    chance: random.Random = field(default_factory=lambda: random.Random(17))

    def __post_init__(self) -> None:
        texts = "\n".join(page.read_text() for page in sorted(DOCS.rglob("*.md")))
        self.words = sorted({word for word in re.findall(r"[a-z]{3,12}", texts) if "bench" not in word})
        self.began = datetime.now(UTC) - timedelta(days=730)
        sizes, chance = self.sizes, self.chance
        self.in_bench = sizes.issues // 100
        weights = [chance.lognormvariate(0, 1.5) for _ in range(sizes.repositories)]
        total = (sizes.issues - self.in_bench) / sum(weights)
        ends = [0, *(round(end * total) for end in accumulate(weights))]
        self.repositories = [
            Repository(
                number,
                self.first_repository + number,
                self.first_user + number % sizes.users,
                f"{chance.choice(self.words)}-{chance.choice(self.words)}-{number}",
                number % 10 == 0,
                end - start,
            )
            for number, (start, end) in enumerate(pairwise(ends))
        ]

    def login(self, user_id: int) -> str:
        return f"{self.words[user_id % len(self.words)]}{user_id}"

    def other(self, user_id: int) -> int:
        """Return the id of another user."""
        return self.first_user + (user_id - self.first_user + 1) % self.sizes.users

    def text(self, least: int, most: int) -> str:
        return " ".join(self.chance.choices(self.words, k=self.chance.randint(least, most)))

    def time(self, share: float) -> datetime:
        """Return a time in the last two years: ``share`` of them had passed."""
        return self.began + timedelta(days=729 * share)
