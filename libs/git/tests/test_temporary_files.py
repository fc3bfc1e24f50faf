"""Files that killed processes leave in a repository are removed when no process can be writing to it."""

import os
import time

import pytest

from ingot_git.storage.temporary_files import remove_old_temporary_files

HOUR = 3600


@pytest.mark.parametrize("name", ["tmp_object_git2_ab438bac870db82b", "pack/tmp_pack_x", "ab/tmp_obj_x"])
def test_only_what_is_old_goes(tmp_path, name):
    file = tmp_path / "objects" / name
    file.parent.mkdir(parents=True)
    for age, stays in ((HOUR / 2, True), (2 * HOUR, False)):
        file.touch()
        os.utime(file, (time.time() - age,) * 2)
        remove_old_temporary_files(tmp_path)
        assert file.exists() is stays
