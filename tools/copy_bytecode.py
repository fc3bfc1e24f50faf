"""Copy the bytecode of one environment to another one with the same files: `tools/copy_bytecode.py FROM TO`.

uv installs links to the files of its cache. Their time and size are equal, so their bytecode is valid in
every environment. Without it each process of a first test run would compile hundreds of modules again.
"""

import shutil
import sys
import sysconfig
from importlib.util import cache_from_source
from pathlib import Path


def packages(environment: str) -> Path:
    """Return the folder of the packages of an environment. It may be missing."""
    return Path(sysconfig.get_path("purelib", vars={"base": environment, "platbase": environment}))


def main() -> None:
    there, here = map(packages, sys.argv[1:])
    for source in here.rglob("*.py"):
        original = there / source.relative_to(here)
        compiled = Path(cache_from_source(original))
        if compiled.is_file() and original.samefile(source):
            copy = Path(cache_from_source(source))
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled, copy)


main()
