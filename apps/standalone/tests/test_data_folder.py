"""The data folder: its lock, its permissions and its secrets.

What an operator can fix is one line on stderr.
"""

import pytest

from .ingot_command import ingot


def test_a_data_folder_has_one_server_at_a_time(running):
    error = ingot("up", "--port", "0", "--data", str(running.folder)).error_line

    assert error == f"ingot: {running.folder} is in use by another `ingot up`"


@pytest.mark.parametrize("below", ["a-file/data", "a-file"])
def test_a_folder_that_cannot_be_created(tmp_path, below):
    (tmp_path / "a-file").touch()

    error = ingot("up", "--port", "0", "--data", str(tmp_path / below)).error_line

    assert error.startswith(f"ingot: cannot use {tmp_path / below} as data folder: ")


def test_a_folder_that_cannot_be_written(tmp_path):
    error = ingot("up", "--port", "0", "--data", "/proc/sys").error_line

    assert error.startswith("ingot: cannot use /proc/sys as data folder: ")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"service_keys": {"identity": "short"}}'])
def test_secrets_that_cannot_be_read(folder, content):
    folder.mkdir()
    (folder / "secrets.json").write_text(content)

    error = ingot("up", "--port", "0", "--data", str(folder)).error_line

    assert error.startswith(f"ingot: cannot read {folder / 'secrets.json'}: ")


def test_lost_secrets_are_not_replaced(start, folder):
    start().wait_ready().stop()
    (folder / "secrets.json").unlink()

    error = ingot("up", "--port", "0", "--data", str(folder)).error_line

    assert error.startswith(f"ingot: {folder / 'secrets.json'} is missing")
    assert not (folder / "secrets.json").exists()
