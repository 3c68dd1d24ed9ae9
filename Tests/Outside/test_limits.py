"""Tests that hang: they are ended and named."""

import os
import subprocess
import sys

import pytest

from daemon import ROOT, eventually

RUNNER = """#!/usr/bin/env bash
echo '◇ Test "is well" started.'
echo '✔ Test "is well" passed after 0.001 seconds.'
{then}
echo '✔ Test run with 1 tests in 1 suites passed after 0.001 seconds.'
"""


def run(folder, then, limit=600):
    """What scripts/run-tests says of tests that do this."""
    (folder / "ruledPackageTests.xctest").write_text(RUNNER.format(then=then))
    (folder / "ruledPackageTests.xctest").chmod(0o755)
    command = [ROOT / "scripts/run-tests", folder, folder / "log"]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env={**os.environ, "RULED_TEST_LIMIT": f"{limit}"})


def test_a_swift_test_that_hangs_is_named_and_ended_with_what_it_started(tmp_path):
    done = run(tmp_path, f"sleep 1000 & echo $! >{tmp_path}/child; echo '◇ Test \"hangs\" started.'; wait", limit=45)
    assert done.returncode == 1
    assert 'nothing happened for 45 s; the last one was: ◇ Test "hangs" started.' in done.stdout
    child = int((tmp_path / "child").read_text())
    eventually(lambda: subprocess.run(["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True).stdout.strip() in ("", "Z"))


@pytest.mark.parametrize("then, code", [("", 0), ("echo '✘ Test \"fails\" recorded an issue'; exit 1", 1), ("exit 0", 1)])
def test_swift_tests_that_end_are_reported(tmp_path, then, code):
    done = run(tmp_path, then)
    assert done.returncode == code
    assert ('"fails" recorded an issue' in done.stdout) == ("fails" in then)


def test_an_outside_test_that_hangs_fails_where_it_waits_and_the_next_one_runs(tmp_path):
    (tmp_path / "test_it.py").write_text("import time\n\ndef test_waits():\n    time.sleep(1000)\n\ndef test_goes_on():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", tmp_path]
    environment = {**os.environ, "RULED_TEST_LIMIT": "45", "PYTHONPATH": str(ROOT / "Tests/Outside")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)
    assert "time.sleep(1000)" in done.stdout and "the test took longer than 45 s" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
