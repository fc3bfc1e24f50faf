"""Searches the files of a commit with git-grep(1), with bounded work."""

import asyncio
import contextlib
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pygit2

from ingot_git.history.lfs_pointers import LONGEST_POINTER, read_pointer
from ingot_git.history.named_refs import named_root
from ingot_git.history.object_data import list_files
from ingot_git.process.command import MIB, GitArgs, clean_environment
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.process.errors import GitFailed, GitTimedOut, InvalidName, ObjectNotFound
from ingot_git.process.streaming import stream_git
from ingot_git.refs.trees import Entry, entry_at
from ingot_git.storage.read_cache import ReadCache

LARGEST = 512 * 1024
"""Bytes; a larger file is not searched."""
MOST_MEASURED = 20_000
"""Files of a tree whose sizes are read. git searches further files of any size, until a limit ends it."""
MOST_EXCLUDED = 100
"""Large files that git is told to skip."""
MOST_LINES = 20
"""Lines per file."""
MOST_FILES = 1_000
MOST_OUTPUT = 4 * MIB
LONGEST_LINE = 400
"""Characters of a line that are returned, from a little before its first match."""
LEAD = 80
"""Characters before the first match of a clipped line."""
MAX_CPU = CpuLimit(0.5)
_SECONDS = 5.0
_MEMORY = 256 * MIB
_GLOB = re.compile(r"([*?\[\]\\])")
_RESET = b"\x1b[m"
_PLAIN = ("filename", "lineNumber", "separator", "selected", "context", "column", "function")
_NO_MATCH, _FATAL = 1, 128


class CodeQuery(msgspec.Struct, frozen=True):
    """A search: a text, or an extended regular expression as git-grep(1) reads it.

    ``path`` is a folder or a file, ``extension`` the end of names without its dot. Empty values match all
    files.
    """

    text: str
    is_regexp: bool = False
    ignores_case: bool = True
    path: str = ""
    extension: str = ""


class SearchedCommit(msgspec.Struct, frozen=True):
    """A commit, its tree, and the paths of its large files, which are not searched.

    ``complete`` is False if the commit has too many files to find all large ones.
    """

    commit: str
    tree: str
    large: tuple[str, ...]
    complete: bool


class MatchingLine(msgspec.Struct):
    """A line. ``matches`` has start and end of each match in ``text``, in characters.

    Of a long line, ``text`` is only a part.
    """

    number: int
    text: str
    matches: list[tuple[int, int]]


class MatchingFile(msgspec.Struct):
    """A file with its first matching lines, up to MOST_LINES."""

    path: str
    oid: str
    lines: list[MatchingLine]


class CodeMatches(msgspec.Struct):
    """Files with matches, ordered by path.

    ``complete`` is False if a limit ended the search, or large files were skipped.
    """

    files: list[MatchingFile]
    complete: bool


def commit_to_search(repo: pygit2.Repository, name: str, cache: ReadCache) -> SearchedCommit:
    """Return the commit of a branch, tag or commit id, with its large files. Raises RefNotFound."""
    commit, tree = named_root(repo, name)
    searched: SearchedCommit | None = cache.listings.get((tree, "searched"))
    if searched is None:
        files, complete = list_files(repo, tree, cache)
        large = [entry.path for entry in files[:MOST_MEASURED] if _size(repo, entry) > LARGEST]
        searched = SearchedCommit(
            commit, tree, tuple(large[:MOST_EXCLUDED]), complete and len(files) <= MOST_MEASURED
        )
        cache.listings.put((tree, "searched"), searched, size=len(searched.large) + 1)
    return msgspec.structs.replace(searched, commit=commit)


async def search_code(git_dir: Path, searched: SearchedCommit, query: CodeQuery) -> CodeMatches:
    """Return the matches in text files. The files have no ids yet, and may be LFS pointers.

    ``without_pointers`` adds the ids, and removes the pointers.

    Raises:
        InvalidName: git cannot read the regular expression, or needs too much memory for it.
    """
    color = secrets.token_bytes(3)  # so no file has it
    start = b"\x1b[38;2;%d;%d;%dm" % tuple(color)
    output, complete = await _run(git_dir, searched, query, f"#{color.hex()}")
    return await asyncio.to_thread(_read, output, searched, start, complete=complete)


def _read(output: bytes, searched: SearchedCommit, start: bytes, *, complete: bool) -> CodeMatches:
    """Return the matches in the output of git. ``start`` is the colour code before each match."""
    files: list[MatchingFile] = []
    for path, number, line in _records(output, f"{searched.commit}:".encode()):
        if not files or files[-1].path != path:
            if len(files) == MOST_FILES:
                complete = False
                break
            files.append(MatchingFile(path, "", []))
        files[-1].lines.append(_line(number, line, start))
    return CodeMatches(files, complete and not searched.large)


def without_pointers(
    repo: pygit2.Repository, searched: SearchedCommit, files: list[MatchingFile]
) -> list[MatchingFile]:
    """Return the files with their ids. LFS pointers and unreadable names are omitted."""
    files_of_text = []
    for file in files:
        with contextlib.suppress(ObjectNotFound, KeyError):
            file.oid = entry_at(repo, searched.tree, file.path).oid
            small = repo.odb.read_header(file.oid)[1] <= LONGEST_POINTER
            if not (small and read_pointer(repo.odb.read(file.oid)[1])):
                files_of_text.append(file)
    return files_of_text


async def _run(git_dir: Path, searched: SearchedCommit, query: CodeQuery, color: str) -> tuple[bytes, bool]:
    """Return the output of git, and False if a limit ended the search."""
    options = (
        "-I", "-n", "-z", "--full-name", "--color=always", "--threads=1", f"--max-count={MOST_LINES}",
        "-E" if query.is_regexp else "-F", *(["-i"] if query.ignores_case else []), "-f-",
    )  # fmt: skip
    colors = [("color.grep.match", color), *((f"color.grep.{part}", "normal") for part in _PLAIN)]
    chunks = stream_git(
        GitArgs("grep", options, (searched.commit,), pathspecs=_pathspecs(searched, query)),
        git_dir=git_dir,
        body=_pattern(query.text),
        environment=clean_environment(config=colors),
        time_limit=_SECONDS,
        max_memory=_MEMORY,
        max_cpu=MAX_CPU,
    )
    output = bytearray()
    try:
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                output += chunk
                if len(output) > MOST_OUTPUT:
                    return bytes(output[: output.rfind(b"\n", 0, MOST_OUTPUT) + 1]), False
    except GitTimedOut:
        return bytes(output[: output.rfind(b"\n") + 1]), False
    except GitFailed as error:
        if error.exit_code == _FATAL and not output:
            raise InvalidName("git cannot read this regular expression") from None
        return bytes(output[: output.rfind(b"\n") + 1]), error.exit_code == _NO_MATCH
    return bytes(output), True


async def _pattern(text: str) -> AsyncIterator[bytes]:
    yield f"{text}\n".encode()


def _pathspecs(searched: SearchedCommit, query: CodeQuery) -> tuple[str, ...]:
    path, ending = _escape(query.path), f"**/*.{_escape(query.extension)}" if query.extension else ""
    if path and ending:
        included = [f":(glob){path}/{ending}"]
    elif path:
        included = [f":(literal){query.path}"]
    else:
        included = [f":(glob){ending}"] if ending else []
    return (*included, *(f":(exclude,literal){large}" for large in searched.large))


def _escape(path: str) -> str:
    return _GLOB.sub(r"\\\1", path)


def _size(repo: pygit2.Repository, entry: Entry) -> int:
    try:
        return repo.odb.read_header(entry.oid)[1]
    except KeyError:
        return 0


def _records(output: bytes, prefix: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Yield path, number and content of each line of ``git grep -n -z``: path, NUL, number, NUL, line."""
    for record in output.split(b"\n"):
        path, _, rest = record.partition(b"\0")
        number, _, line = rest.partition(b"\0")
        if path.startswith(prefix) and number.isdigit():  # else the path contains a line break
            yield path.removeprefix(prefix).decode("utf-8", "replace"), int(number), line.rstrip(b"\r")


def _line(number: int, line: bytes, start: bytes) -> MatchingLine:
    """Return a line without git's colour codes, which surround each match."""
    first, *others = line.split(start)
    text, matches = first.decode("utf-8", "replace"), []
    for other in others:
        match, _, rest = other.partition(_RESET)
        begin = len(text)
        text += match.decode("utf-8", "replace")
        matches.append((begin, len(text)))
        text += rest.decode("utf-8", "replace")
    if len(text) > LONGEST_LINE:
        cut = max(0, matches[0][0] - LEAD) if matches else 0
        text = text[cut : cut + LONGEST_LINE]
        matches = [
            (begin - cut, min(end - cut, LONGEST_LINE))
            for begin, end in matches
            if begin - cut < LONGEST_LINE
        ]
    return MatchingLine(number, text, matches)
