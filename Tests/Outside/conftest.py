import os
import shutil
import signal

import pytest

from daemon import ROOT, Daemon

LIMIT = int(os.environ.get("RULED_TEST_LIMIT", "1800"))


def pytest_configure(config):
    def end(*_):
        pytest.fail(f"the test took longer than {LIMIT} s")

    signal.signal(signal.SIGALRM, end)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test that hangs fails where it waits."""
    signal.alarm(LIMIT)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.fixture
def start(tmp_path_factory):
    """Starts daemons, and ends them after the test."""
    daemons = []

    def start(**options):
        daemons.append(Daemon(tmp_path_factory.mktemp("r"), **options))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.stop()


@pytest.fixture
def tool():
    """The path of a program: an installed one, or the one that scripts/install-dependencies has unpacked."""

    def tool(name):
        tools = ROOT / ".build" / "tools"
        found = shutil.which(name) or shutil.which(name, path=f"{tools}/usr/bin:{tools}/usr/sbin")
        if found is None:
            pytest.skip(f"{name} is not installed; scripts/test-outside gets it where there is a network")
        return found

    return tool
