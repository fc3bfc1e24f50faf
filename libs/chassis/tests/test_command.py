"""Exit codes and output of commands."""

import os
import socket
import subprocess
import sys

import pytest
from litestar import Litestar

from ingot_chassis.command import run_command
from ingot_chassis.errors import CannotStart


async def fail(error):
    """As a command that uses the parts of a service does."""
    async with Litestar([]).lifespan():
        raise error


def test_what_an_operator_can_mend_is_one_line_while_an_app_runs(capsys):
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: fail(CannotStart("there is no shard b")))
    assert ended.value.code == 2
    assert capsys.readouterr().err == "ingot: there is no shard b\n"


def test_a_mistake_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError, match="ours"):
        run_command(lambda: fail(ZeroDivisionError("ours")))


APP = """
import socket
from ingot_chassis.errors import CannotStart

def create_app(settings):
    socket.create_connection((settings.host, settings.port), timeout=5).close()
    raise CannotStart("connected")
"""
MAIN = """
import sys
from pathlib import Path
from ingot_chassis.command import service_main
from ingot_chassis.settings import ServiceSettings

service_main("slow", ServiceSettings, scripts=Path(), arguments=sys.argv[1:])
"""


@pytest.mark.parametrize("command", ["serve", "work"])
def test_a_process_listens_before_the_code_of_its_service_is_read(command, tmp_path):
    """An early probe waits for the response. A refused one would come again only a second later."""
    (tmp_path / "ingot_slow").mkdir()
    (tmp_path / "ingot_slow" / "app.py").write_text(APP)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"INGOT_SLOW_PORT": str(port), "PYTHONPATH": str(tmp_path)}
    run = [sys.executable, "-c", MAIN, command]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "ingot: connected\n")
