"""The nats-server that `ingot up` starts."""

import site
import sys
from pathlib import Path

from .ingot_command import ingot, wait_ended

PYTHON_WITHOUT_NATS = """
import site, sys
for folder in {folders!r}:
    site.addsitedir(folder)
sys.path[:] = {path!r}
from ingot_standalone.__main__ import main
main()
"""


def test_the_server_of_a_killed_parent_is_replaced(start):
    first = start().wait_ready()
    children = first.children()
    first.kill()

    start().wait_ready()

    wait_ended(children)


def test_a_missing_nats_server_is_one_line(tmp_path, folder):
    programs = tmp_path / "bin"
    programs.mkdir()
    python = programs / "python"
    python.symlink_to(Path(sys.executable).resolve())
    code = PYTHON_WITHOUT_NATS.format(folders=site.getsitepackages(), path=sys.path)

    error = ingot(
        "up", "--port", "0", "--data", str(folder), command=(str(python), "-c", code), PATH=str(programs)
    ).error_line

    assert error.startswith("ingot: nats-server is not installed: ")
