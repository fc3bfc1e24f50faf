"""The two hooks of pushes: `pre-receive` checks the objects, `update` checks each ref.

git calls `pre-receive` once, while the objects of the push are in quarantine. It calls `update` for each ref
after the objects have arrived (githooks(5)). So `update` can test if one commit continues another. git
shows the reasons of a rejection to the client.

The hooks are stored once per storage, not in repositories. Only a push that needs them gets their path.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ingot_git.hooks.hook_questions import LATE, PUSH, UNKNOWN, process_name
from ingot_git.process.configuration import PROPOSALS
from ingot_git.process.errors import HooksNotRun

REFUSALS = "INGOT_REFUSALS"
PROCESS = "INGOT_PROCESS"
LATE_PUSH = "INGOT_LATE"
ANSWER_SECONDS = "INGOT_ANSWER_SECONDS"
REFUSES_ALL = "INGOT_REFUSES_ALL"
MAX_FILE_BYTES = "INGOT_MAX_FILE_BYTES"
OBJECT_COUNT = "INGOT_OBJECT_COUNT"
LFS_REPOSITORY = "INGOT_LFS_REPOSITORY"
LONGEST_ANSWER = 300.0
"""Seconds. The checks of a push have limits, so a process that needs more time has died."""
LONGEST = 64 * 1024
"""Bytes; Linux takes variables of at most 128 KiB."""
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_ASK = r"""#!/bin/sh
# Ask the process INGOT_PROCESS; each argument is a line. $answer becomes its reply; without a reply it stays.
ask() {
    folder=$(dirname "$0")/../questions/$INGOT_PROCESS
    # A killed process never answers. Without timeout(1), an operator must then end this hook.
    limit=$(command -v timeout >/dev/null && echo "timeout $INGOT_ANSWER_SECONDS")
    [ -p "$folder/asked" ] && own=$(mktemp -d "$folder/XXXXXXXX") || return
    # The write is limited, too: it waits if the FIFO of the process is full of questions.
    mkfifo -m 600 "$own/answer" && printf '%s\n' "$@" >"$own/question" && answered=$($limit sh -c '
        exec 3<>"$1/answer" && printf "%s\n" "${1##*/}" 1<>"$2/asked" && exec head -n 1 <&3
    ' sh "$own" "$folder") && answer=$answered
    rm -rf "$own"
}
# Decide again about a slow push, as the last step before refs move. INGOT_LATE exists only for slow pushes.
ask_if_late() {
    [ -e "$INGOT_LATE" ] || return 0
    answer="-UNKNOWN"
    ask LATE "${INGOT_LATE##*/}"
    [ "$answer" != "+" ] || return 0
    printf '%s\n' "${answer#-}" >&2
    exit 1
}
"""
_UPDATE = r"""
# $1 is the ref, $2 its old id, $3 its new id. A line of INGOT_REFUSALS has three columns, separated by tabs:
# a ref (or * for all); always, forced or asked; the reason. For "asked" the last column is a question.
tab=$(printf '\t')
asked=
printf '%s\n' "$INGOT_REFUSALS" | {
    while IFS="$tab" read -r ref when reason; do
        [ "$ref" = "$1" ] || [ "$ref" = "*" ] || continue
        if [ "$when" = forced ] && git merge-base --is-ancestor "$2" "$3" 2>/dev/null; then continue; fi
        if [ "$when" = asked ]; then
            answer="-UNKNOWN"
            ask "$1" "$2" "$3" "$reason"
            if [ "$answer" = "+" ]; then asked=yes; continue; fi
            reason=${answer#-}
        fi
        printf '%s\n' "$reason" >&2
        exit 1
    done
    # The answer took a while, so the push may be late now.
    [ -z "$asked" ] || ask_if_late
    exit 0
}
"""
_PRE_RECEIVE = r"""
# Input lines: old id, new id, ref. If the check of the new objects is incomplete, the push is rejected.
updates=$(cat)
if [ "$INGOT_REFUSES_ALL" = yes ]; then
    # A rejection here discards the objects; a rejection in `update` keeps them.
    printf '%s\n' "$INGOT_REFUSALS" |
        while IFS=$(printf '\t') read -r ref _ reason; do echo "$ref: $reason"; done >&2
    exit 1
fi
proposed=$(printf '%s\n' "$updates" | sed -n 's|^[0-9a-f]* \([0-9a-f]*\) PROPOSALS.*|\1|p')
if [ -n "$proposed" ]; then
    # Proposed commits become visible. So all their objects must arrive with the push or be visible already.
    # git appends the bases of deltas to the pack, and these may be hidden: count only objects that were sent.
    sent() {
        for index in "$GIT_QUARANTINE_PATH"/pack/*.idx; do
            [ ! -f "$index" ] ||
                git show-index <"$index" | sort -n | head -n "$INGOT_OBJECT_COUNT" | cut -d ' ' -f 2
        done
    }
    objects() { git rev-list --objects --no-object-names "$@"; }
    visible="--branches --tags --glob=refs/notes --glob=refs/pull"
    missing=$({
        sent | sed p
        printf '%s\n' "$proposed" | objects --not $visible --stdin && echo whole
    } | sort | uniq -u)
    # Only a walk through the whole history finds the objects of older commits.
    [ "$missing" = whole ] ||
        missing=$({ objects $visible | sed p; echo "$missing"; } | sort | uniq -u)
    if [ "$missing" != whole ]; then echo "the push lacks objects of a proposed commit" >&2; exit 1; fi
fi
new=$(printf '%s\n' "$updates" | while read -r _ id _; do case $id in *[!0]*) echo "$id" ;; esac; done)
[ -n "$new" ] || { ask_if_late; exit 0; }
if [ -n "$INGOT_LFS_REPOSITORY" ]; then
    answer="-UNKNOWN"
    ask PUSH "$INGOT_LFS_REPOSITORY" "$GIT_QUARANTINE_PATH" $new
    if [ "$answer" != "+" ]; then printf '%s\n' "${answer#-}" >&2; exit 1; fi
fi
[ "${INGOT_MAX_FILE_BYTES:-0}" -gt 0 ] || { ask_if_late; exit 0; }
found=$({
    printf '%s\n' "$new" | git rev-list --objects --no-object-names \
        --filter-print-omitted --filter-provided-objects \
        --filter="blob:limit=$((INGOT_MAX_FILE_BYTES + 1))" --not --all --stdin && echo whole
} | sed -n '/^[~w]/p')
if [ "$found" = whole ]; then ask_if_late; exit 0; fi
blob=$(printf '%s\n' "$found" | sed -n '1s/^~//p')
if [ -z "$blob" ]; then echo "the files of the push could not be checked" >&2; exit 1; fi
path=$(printf '%s\n' "$new" | git rev-list --objects --not --all --stdin | sed -n "s/^$blob //p" | head -n 1)
echo "the file ${path:-$blob} has $(git cat-file -s "$blob") bytes; $INGOT_MAX_FILE_BYTES are allowed" >&2
exit 1
"""
_HOOKS = {
    name: (_ASK + text)
    .replace("PROPOSALS", PROPOSALS)
    .replace("ask PUSH", f"ask {PUSH}")
    .replace("ask LATE", f"ask {LATE}")
    .replace("UNKNOWN", UNKNOWN)
    for name, text in {"pre-receive": _PRE_RECEIVE, "update": _UPDATE}.items()
}


class RefRefusal(msgspec.Struct, frozen=True):
    """The reason why a ref may not move. With ``forced_only`` it applies to forced updates only.

    With ``question`` the ref may move unless ``HookQuestions`` answers with a reason.
    """

    ref: str
    reason: str
    forced_only: bool = False
    question: str = ""

    @property
    def is_certain(self) -> bool:
        """True if the ref may not move, independent of the content of the push."""
        return not self.forced_only and not self.question

    def line(self) -> str:
        """Return the line of this refusal that the hook reads."""
        when = "asked" if self.question else "forced" if self.forced_only else "always"
        return f"{self.ref}\t{when}\t{_CONTROL.sub('?', self.question or self.reason)}"


def hooks_folder(root: Path, *, refuses_refs: bool = True) -> Path:
    """Return the folder with the hooks below ``root``. Write hooks that are missing or outdated. Blocks.

    Without ``refuses_refs`` the folder has no `update` hook, which would run for each ref.

    Raises:
        HooksNotRun: git cannot execute the hooks. It would skip them and accept every push (githooks(5)).
    """
    folder = root / ("hooks" if refuses_refs else "hooks-of-files")
    for name in ("pre-receive", "update") if refuses_refs else ("pre-receive",):
        script, text = folder / name, _HOOKS[name]
        if not (script.is_file() and script.read_text() == text and os.access(script, os.X_OK)):
            folder.mkdir(exist_ok=True)
            descriptor, new = tempfile.mkstemp(dir=folder)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
            Path(new).chmod(0o700)
            Path(new).replace(script)
        if not os.access(script, os.X_OK):
            raise HooksNotRun(
                f"{root} does not allow programs to run, but pushes need hooks: mount it without noexec"
            )
    return folder


def hook_environment(
    refusals: Sequence[RefRefusal],
    max_file_bytes: int = 0,
    object_count: int = 0,
    *,
    refuses_all: bool = False,
    lfs_repository: int = 0,
    late: Path | None = None,
) -> dict[str, str]:
    """Return the environment variables for the hooks.

    If the refusals do not fit into one variable, all refs of the push are rejected.

    Args:
        refusals: reasons and questions for refs.
        max_file_bytes: the limit for one file; 0 for no limit.
        object_count: see ``Push``.
        refuses_all: none of the refs may move, independent of the content of the push.
        lfs_repository: the id of the repository if this process must check its LFS files, else 0.
        late: the path of ``HookQuestions.question_if_late``.
    """
    # git accepts no ref names with control characters.
    text = "\n".join(one.line() for one in refusals if not _CONTROL.search(one.ref))
    if len(text.encode(errors="surrogateescape")) > LONGEST:
        reason = f"{len(refusals)} of these refs may not be pushed; push the others without them"
        if any(one.question for one in refusals):
            reason = "these are too many refs for the rules that protect them; push fewer at once"
        text = f"*\talways\t{reason}"
    return {
        REFUSALS: text,
        REFUSES_ALL: "yes" if refuses_all or text.startswith("*") else "",
        PROCESS: process_name(),
        ANSWER_SECONDS: str(LONGEST_ANSWER),
        MAX_FILE_BYTES: str(max_file_bytes),
        OBJECT_COUNT: str(object_count),
        LFS_REPOSITORY: str(lfs_repository or ""),
        LATE_PUSH: str(late or ""),
    }
