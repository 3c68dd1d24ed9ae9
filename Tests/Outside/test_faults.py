"""Faults of Torture/nodes, thirty of all kinds and some at each step of a commit: one process could have given all replies that clients got."""

import ctypes.util
import re
import shutil
import subprocess

import pytest

from daemon import PROGRAMS, ROOT
from throwaway_postgres import is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None or shutil.which("cc") is None,
    reason="postgresql-15, libpq5 or a C compiler is not installed",
)


@pytest.mark.parametrize("kinds, wanted", [("all", 30), ("commits", 12)])
def test_faults_leave_no_difference(kinds, wanted):
    # As root the nodes have a network of their own, if this machine lets root make one.
    command = [ROOT / "Torture/nodes", "--kinds", kinds, "--faults", str(wanted), "--seed", "1497451732", "--programs", PROGRAMS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    faults, differences = re.search(r"seed \d+: (\d+) faults.* (\d+) differences", done.stdout).groups()
    assert int(faults) >= wanted and differences == "0"
