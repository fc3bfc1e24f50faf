"""Random histories, each with a theme of what is rare elsewhere; the same name gives the same history."""

import random
from collections.abc import Callable, Sequence

from .histories import MAIN, OLD_MODES, Commit, File, History, Mode, Tag, TargetKind

YOUNG, OLD, FIRST = 1_700_000_000, 1_000_000_000, 0
FAR, BEYOND = 2**32 + 1000, 2**34 + 1000
"""After 2038, and after what a commit-graph of the first format has room for."""
DAY = 86_400
THEMES = ("clock", "names", "folders", "crossing", "equal", "far", "modules", "clock", "folders", "wide")
"""In turns. A clock is set wrong for a time, so dates run backwards."""
PATHS = (b"f", b"g", b"x", b"x/y", b"x/z", b"x/z/deep", b"dir/a", b"dir/b", b"lines")
ODD_PATHS = (
    "größe.txt".encode(),
    "日本/語.txt".encode(),
    b'quo"ted',
    b"back\\slash",
    b"new\nline",
    b"-dash",
    b"--",
    b" space ",
    b"tab\there",
    b"percent%41",
    b"a?b#c&d=e",
    b"~",
    b"x" * 200,
    b"COM1",
    "e\u0301".encode(),
    b"[glob]*",
    b":(top)x",
    b"a..b",
    b"...",
)
LINES = [b"line %d\n" % number for number in range(12)]
AUTHORS = (
    b"Ann Author <ann@example.org>",
    b"Bob B. <bob@example.org>",
    "Zo\u00eb Gro\u00df <zoe@example.org>".encode(),
    b"Jr., The Name. <name@example.org>",
    b'"Quoted" <quoted@example.org>',
    b"o'Brien <>",
    b" <only@example.org>",
    b"Dot . <dot@example.org.>",
)
MESSAGES = (
    b"Change\n",
    b"no newline",
    b"",
    b"\n\nleading blank lines\n",
    b"subject\n\nbody\n\nSigned-off-by: Ann <ann@example.org>\n",
    b"subject\r\n\r\nCRLF\r\n",
    b"trailing blank lines\n\n\n",
    b"  indented\n",
    "Grüße, 日本\n".encode(),
    b"a subject\nof two lines\n\n---\ndiff --git a/x b/x\n",
    b"[PATCH] subject\n",
    b"#1 looks like a comment\n",
)
ENCODED = (
    (b"ISO-8859-1", "Gr\u00fc\u00dfe\n".encode("latin-1")),
    (b"windows-1251", "\u041f\u0440\u0438\u0432\u0435\u0442\n".encode("cp1251")),
    (b"EUC-JP", "\u65e5\u672c\n".encode("euc-jp")),
    (b"no-such-encoding", b"plain\n"),
)
BRANCHES = ("topic", "a/b/c", "x.diff", "x.patch", "refs/heads/x", "tags/v1", "abcd", "0123456", "größe",
            "a'b\"c",
            "#1", "50%", "feature@2", "-dash"[1:], "a=b&c", "HEAD2", "main2", "v1", "heads/main",
            "a.b..c"[:3])  # fmt: skip
TAGS = ("v1", "v1.0", "rel/1", "x.diff", "main", "tägs", "refs/tags/v1", "1234", "beef")


class Generator:
    """Makes one history."""

    def __init__(self, name: str, theme: str) -> None:
        self._random, self._theme, self._name = random.Random(name), theme, name
        self._commits: list[Commit] = []

    def history(self) -> History:
        getattr(self, f"_{self._theme}", self._mixed)()
        branches = self._branches()
        tags = self._tags()
        notes = {self._pick(range(len(self._commits))): b"a note\n"} if self._chance(0.3) else {}
        return History(f"{self._theme}/{self._name}", tuple(self._commits), branches, tags, notes)

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, of: Sequence) -> object:  # type: ignore[type-arg]
        return self._random.choice(of)

    def _mixed(self) -> None:
        """Parents of any kind, dates that go on with some exceptions."""
        for _ in range(self._random.randint(5, 12)):
            self._add(self._parents())

    _names = _folders = _modules = _mixed

    def _clock(self) -> None:
        """Young commits, then older ones that follow; branches begin at young ones."""
        young, old = self._random.randint(1, 4), self._random.randint(5, 11)
        for number in range(young):
            self._add([number - 1] if number else [], YOUNG + number * DAY)
        for number in range(old):
            self._add([young + number - 1], OLD + number * DAY)
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randrange(young)
            for _ in range(self._random.randint(1, 3)):
                self._add([at], self._pick((OLD, YOUNG)) + self._random.randrange(DAY))
                at = len(self._commits) - 1
        if self._chance(0.5):
            tips = self._random.sample(range(len(self._commits)), 2)
            self._add(tips, self._pick((OLD, YOUNG)))

    def _equal(self) -> None:
        """One or two dates for all commits."""
        for _ in range(self._random.randint(6, 12)):
            self._add(self._parents(), YOUNG + self._random.randrange(2))

    def _crossing(self) -> None:
        """Criss-cross merges, octopuses and several roots."""
        self._add([])
        if self._chance(0.6):
            self._add([])
        for _ in range(2):
            self._add([0])
        one, other = len(self._commits) - 2, len(self._commits) - 1
        self._add([one, other])
        self._add([other, one])
        for _ in range(self._random.randint(2, 4)):
            self._add([self._pick((len(self._commits) - 1, one + 2, other + 2))])
        width = self._random.randint(3, min(6, len(self._commits)))
        self._add(self._random.sample(range(len(self._commits)), width))
        self._add([len(self._commits) - 1])

    def _far(self) -> None:
        """Dates at the ends of what git may store: 1970, after 2038, and rarely after 2514."""
        late = BEYOND if self._chance(0.3) else FAR
        for _ in range(self._random.randint(5, 9)):
            self._add(self._parents(), self._pick((FIRST, 1, 2**31 - 1, 2**31, FAR, late)))

    def _wide(self) -> None:
        """Wide folders, deep ones, and many files."""
        files = {b"wide/%03d" % number: File(b"%d\n" % (number % 5)) for number in range(150)}
        files[b"/".join([b"d"] * 40 + [b"f"])] = File(b"deep\n")
        self._add([], files=files)
        for _ in range(self._random.randint(3, 6)):
            self._add(self._parents())

    def _parents(self) -> list[int]:
        count = len(self._commits)
        if not count or self._chance(0.06):
            return []
        if count > 2 and self._chance(0.06):
            return self._random.sample(range(count), min(count, self._random.randint(3, 4)))
        if count > 1 and self._chance(0.25):
            return self._random.sample(range(count), 2)
        return [count - 1 if self._chance(0.6) else self._random.randrange(count)]

    def _add(
        self, parents: list[int], time: int | None = None, files: dict[bytes, File] | None = None
    ) -> None:
        if time is None:
            newest = max((self._commits[one].committed for one in parents), default=YOUNG)
            time = newest + self._random.randrange(DAY)
            if self._chance(0.08):
                time = self._random.randrange(OLD, YOUNG)
        if files is None:
            files = dict(self._commits[parents[0]].files) if parents else {}
            for parent in parents[1:]:
                for path, file in self._commits[parent].files.items():
                    if self._chance(0.6):
                        put(files, path, file)
            for _ in range(self._random.randint(0 if parents and self._chance(0.1) else 1, 3)):
                self._change(files)
        odd = self._theme == "names"
        encoding, message = self._pick(ENCODED) if odd and self._chance(0.3) else (b"", b"Change\n")
        if not encoding and self._chance(0.7 if odd else 0.2):
            message = self._pick(MESSAGES)
        people = [self._pick(AUTHORS) if odd or self._chance(0.1) else AUTHORS[number] for number in range(2)]
        self._commits.append(
            Commit(
                tuple(parents),
                files,
                time,
                time - self._random.randrange(DAY) if time > DAY and self._chance(0.3) else time,
                author=people[0],
                committer=people[1],
                zone=self._pick((b"+0000", b"+0200", b"-0330", b"+1400")),
                message=message,
                encoding=encoding,
            )
        )

    def _change(self, files: dict[bytes, File]) -> None:
        """Change, add or remove one file."""
        if files and self._chance(0.15):
            del files[self._pick(sorted(files))]
            return
        if self._theme == "names" and self._chance(0.6):
            path = self._pick(ODD_PATHS)
        elif self._chance(0.06):
            path = OLD_MODES + b"/f"
        else:
            path = self._pick(PATHS)
        if self._theme == "modules" and self._chance(0.4):
            self._change_module(files)
        elif path == b"lines":
            before = files[path].data.splitlines(keepends=True) if path in files else list(LINES)
            before[self._random.randrange(len(before)) if before else 0 : 1] = []
            changed = [*(before or LINES)]
            changed[self._random.randrange(len(changed))] = b"changed %d\n" % self._random.randrange(3)
            put(files, path, File(b"".join(changed)))
        else:
            put(files, path, self._file(path))

    def _file(self, path: bytes) -> File:
        if path.startswith(OLD_MODES + b"/"):
            return File(b"%d\n" % self._random.randrange(3))
        if (self._theme == "folders" and self._chance(0.35)) or self._chance(0.05):
            mode: Mode = self._pick(("100755", "120000", "160000"))
            if mode == "160000":
                return File(self._pick((b"1" * 40, b"2" * 40)), mode)
            return File(self._pick((b"f", b"../out", b"x/y")), mode)
        return File(self._pick((b"0\n", b"1\n", b"2\n", b"", b"no newline", b"\0binary\xff", b"a\r\nb\r\n")))

    def _change_module(self, files: dict[bytes, File]) -> None:
        """A submodule, and what its URL is in some spelling."""
        path, url = self._pick(((b"sub", b"https://example.org/sub.git"), (b"dir/mod", b"../mod.git")))
        section = self._pick((b'[submodule "%s"]', b'[submodule "one"] # comment', b'\t[SubModule "%s"] ; x'))
        spelled = self._pick(
            (
                b"\tpath = %s\n\turl = %s\n",
                b'path="%s"\nurl = "%s" ; comment\n',
                b"PATH=%s # c\n\turl=\\\n%s\n",
            )
        )
        text = (section % path if b"%s" in section else section) + b"\n" + spelled % (path, url)
        put(files, b".gitmodules", File(text))
        put(files, path, File(b"3" * 40, "160000"))
        if self._chance(0.3):
            put(
                files,
                b".gitattributes",
                File(self._pick((b"lines -merge\n", b"* text\n", b"lines merge=union\n"))),
            )

    def _branches(self) -> dict[str, int]:
        count = len(self._commits)
        heads = set(range(count)) - {parent for commit in self._commits for parent in commit.parents}
        branches = {MAIN: count - 1}
        names = list(BRANCHES if self._theme == "names" else BRANCHES[:6])
        self._random.shuffle(names)
        for number in [*sorted(heads - {count - 1}), *self._random.sample(range(count), min(count, 2))]:
            if names:
                _add_ref(branches, names.pop(), number)
        return branches

    def _tags(self) -> tuple[Tag, ...]:
        tags: list[Tag] = []
        names: dict[str, int] = {}
        for name in self._random.sample(TAGS, self._random.randint(1, 5)):
            if not _add_ref(names, name, 0):
                continue
            kinds: Sequence[TargetKind] = ("commit", "commit", "tree", "blob", "tag", "lookalike")
            kind = self._pick(kinds) if self._theme == "names" or self._chance(0.3) else "commit"
            if kind == "tag" and not any(tag.message for tag in tags):
                kind = "commit"
            number = self._random.randrange(len(self._commits))
            if kind == "tag":
                number = self._pick([at for at, tag in enumerate(tags) if tag.message])
            message = self._pick(MESSAGES[1:]) or b"a tag\n"
            bare = kind == "commit" and self._chance(0.4)
            tags.append(Tag(name, kind, number, b"" if bare else message, self._pick(AUTHORS[:3])))
        return tuple(tags)


def _add_ref(refs: dict[str, int], name: str, number: int) -> bool:
    """Add a ref unless it is in the way of another one, as a file of a folder."""
    if any(other == name or other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in refs):
        return False
    refs[name] = number
    return True


def put(files: dict[bytes, File], path: bytes, file: File) -> None:
    """Put a file at a path; a folder there, or a file where it needs a folder, goes."""
    for other in [one for one in files if one.startswith(path + b"/") or path.startswith(one + b"/")]:
        del files[other]
    files[path] = file


def history(seed: str, number: int) -> History:
    """The history of a number in the run of a seed."""
    theme = THEMES[number % len(THEMES)]
    return Generator(f"{seed}/{number}", theme).history()


Feature = Callable[[History], bool]
"""True if a history has it."""


def _conflicting_kinds(one: History) -> bool:
    """A path that is a file in one commit, and a folder in another one."""
    paths = {path for commit in one.commits for path in commit.files}
    return any(other.startswith(path + b"/") for path in paths for other in paths)


FEATURES: dict[str, Feature] = {
    "dates run backwards": lambda one: any(
        one.commits[parent].committed > commit.committed
        for commit in one.commits
        for parent in commit.parents
    ),
    "equal dates": lambda one: len({commit.committed for commit in one.commits}) < len(one.commits) / 2,
    "1970": lambda one: any(commit.committed < DAY for commit in one.commits),
    "after 2038": lambda one: any(commit.committed > 2**31 for commit in one.commits),
    "after 2514": lambda one: any(commit.committed > 2**34 for commit in one.commits),
    "octopus": lambda one: any(len(commit.parents) > 2 for commit in one.commits),
    "several roots": lambda one: sum(not commit.parents for commit in one.commits) > 1,
    "criss-cross": lambda one: any(
        set(commit.parents) == set(other.parents) and len(commit.parents) == 2 and commit is not other
        for commit in one.commits
        for other in one.commits
    ),
    "names that are not ASCII": lambda one: any(
        not path.isascii() for commit in one.commits for path in commit.files
    ),
    "a line break in a name": lambda one: any(
        b"\n" in path for commit in one.commits for path in commit.files
    ),
    "a quote in a name": lambda one: any(b'"' in path for commit in one.commits for path in commit.files),
    "a long name": lambda one: any(len(path) >= 200 for commit in one.commits for path in commit.files),
    "an old mode": lambda one: any(
        path.startswith(OLD_MODES + b"/") for commit in one.commits for path in commit.files
    ),
    "links": lambda one: any(
        file.mode == "120000" for commit in one.commits for file in commit.files.values()
    ),
    "executables": lambda one: any(
        file.mode == "100755" for commit in one.commits for file in commit.files.values()
    ),
    "submodules": lambda one: any(
        file.mode == "160000" for commit in one.commits for file in commit.files.values()
    ),
    "files that become folders": _conflicting_kinds,
    "a deep folder": lambda one: any(
        path.count(b"/") > 30 for commit in one.commits for path in commit.files
    ),
    "a wide folder": lambda one: any(len(commit.files) > 100 for commit in one.commits),
    "another encoding": lambda one: any(commit.encoding for commit in one.commits),
    "an empty message": lambda one: any(not commit.message for commit in one.commits),
    "leading blank lines": lambda one: any(commit.message.startswith(b"\n") for commit in one.commits),
    "no line break at the end": lambda one: any(commit.message == b"no newline" for commit in one.commits),
    "CRLF": lambda one: any(b"\r\n" in commit.message for commit in one.commits),
    "an odd author": lambda one: any(commit.author not in AUTHORS[:2] for commit in one.commits),
    "a tag of a tree": lambda one: any(tag.kind == "tree" for tag in one.tags),
    "a tag of a blob": lambda one: any(tag.kind == "blob" for tag in one.tags),
    "a tag of a tag": lambda one: any(tag.kind == "tag" for tag in one.tags),
    "an object whose id begins like that of a commit": lambda one: any(
        tag.kind == "lookalike" for tag in one.tags
    ),
    "a branch called like a text": lambda one: "x.diff" in one.branches,
    "a branch called like a full ref": lambda one: "refs/heads/x" in one.branches,
    "a branch called like an id": lambda one: bool({"abcd", "0123456"} & one.branches.keys()),
    "notes": lambda one: bool(one.notes),
    ".gitmodules": lambda one: any(b".gitmodules" in commit.files for commit in one.commits),
    ".gitattributes": lambda one: any(b".gitattributes" in commit.files for commit in one.commits),
}
