"""The story of docs/changing-rules.md, played as somebody would who has just cloned the project: each command prints what the page says."""

import contextlib
import os
import shutil
import subprocess
import time

from daemon import PROGRAMS, ROOT, hurry
from story import Shell, commands, says

PAGE = ROOT / "docs/changing-rules.md"


def daemons(folder):
    """The processes `ruled` that were started in a folder. Those of other tests may end at any time."""
    for process in subprocess.run(["pgrep", "-x", "ruled"], capture_output=True, text=True).stdout.split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if os.readlink(f"/proc/{process}/cwd") == str(folder):
                yield process


def test_the_story_of_changing_rules(tmp_path):
    for name in ("rules", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shell = Shell(tmp_path, {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})
    played = 0
    try:
        for command, expected in commands(PAGE.read_text()):
            found = shell.run(command)
            # A shadow follows a moment later.
            end = time.monotonic() + 180
            while command.endswith("status") and not says(found, expected) and time.monotonic() < end:
                for process in daemons(tmp_path / "var/story"):
                    hurry(process, "ruled-shadow")
                time.sleep(0.2)
                found = shell.run(command)
            assert says(found, expected), "\n".join([f"$ {command}", *found, "-- the page says:", *expected])
            played += 1
    finally:
        shell.end()
    assert played > 20
    assert "<mark>" in (tmp_path / "var/story/report.html").read_text()
