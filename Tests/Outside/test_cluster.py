"""Three hosts of examples/cluster on this machine: acknowledged events survive the primary, and faults are made and mended."""

import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from daemon import PROGRAMS, ROOT, eventually

needs_namespaces = pytest.mark.skipif(os.getuid() != 0, reason="links can be cut as root only")


class Hosts:
    """What scripts/cluster has started."""

    def __init__(self, folder):
        self.folder = folder
        self.tried = 0
        self.acknowledged = []

    def run(self, *command, check=True):
        words = [ROOT / "scripts/cluster", "--folder", self.folder, *command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=180)
        assert not check or done.returncode == 0, done.stderr
        return done

    @property
    def status(self):
        return json.loads(self.run("status").stdout)

    @property
    def primary(self):
        return self.status["primary"]

    @property
    def standbys(self):
        return [name for name, host in self.status["hosts"].items() if host["role"] == "sync_standby"]

    def sql(self, statement, seconds=30):
        """A statement on the primary; whether it was acknowledged, and what it returned."""
        store = self.run("store").stdout.strip()
        command = [find("psql"), store, "-Atqc", statement]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return False, ""
        return done.returncode == 0, done.stdout.strip()

    def write(self):
        """Writes a new number; whether that was acknowledged within 5 s."""
        self.tried += 1
        done = self.sql(f"INSERT INTO written VALUES ({self.tried})", seconds=5)[0]
        if done:
            self.acknowledged.append(self.tried)
        return done

    def has_all(self):
        """Whether every number that was acknowledged is there, once; waits until the database answers."""
        answers = []

        def is_answered():
            # On a busy machine it takes seconds to ask three hosts one after the other which of them is the primary.
            answers.append(self.sql("SELECT number FROM written", seconds=30))
            return answers[-1][0]

        eventually(is_answered)
        rows = [int(line) for line in answers[-1][1].split()]
        return set(self.acknowledged) <= set(rows) and len(rows) == len(set(rows))

    def is_whole(self):
        """Whether a primary has two synchronous standbys that know it."""
        return self.primary is not None and len(self.standbys) == 2


def find(program):
    """The path of a program, or None."""
    places = ("/usr/lib/postgresql/15/bin", ROOT / ".build/tools/usr/bin", ROOT / ".build/tools/usr/lib/postgresql/15/bin")
    return shutil.which(program) or shutil.which(program, path=":".join(map(str, places)))


def links():
    """The names of this machine's network links and namespaces."""
    commands = (["ip", "-br", "link"], ["ip", "netns"])
    outputs = [subprocess.run(command, capture_output=True, text=True).stdout for command in commands]
    return {line.split()[0] for output in outputs for line in output.splitlines()}


pytestmark = pytest.mark.skipif(
    not all(map(find, ("pg_ctl", "psql", "patroni", "etcd"))),
    reason="PostgreSQL 15, Patroni or etcd is missing; scripts/install-dependencies --cluster gets them where there is a network",
)


@pytest.fixture(scope="module")
def hosts():
    # PostgreSQL's user can't enter the folders that pytest makes.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ruled-cluster-", dir="/tmp"))
    folder.chmod(0o755)
    hosts = Hosts(folder)
    before = links()
    try:
        hosts.run("up")
        assert hosts.sql("CREATE TABLE written (number bigint PRIMARY KEY)")[0]
        yield hosts
    finally:
        hosts.run("down")
    assert not folder.exists() and links() == before
    after = hosts.run("status", check=False)
    assert after.returncode == 1 and "run `up` first" in after.stderr


def test_what_was_acknowledged_survives_the_primary(hosts):
    for _ in range(3):
        eventually(hosts.write)
    old = hosts.primary
    hosts.run("kill", "primary")
    assert hosts.status["hosts"][old]["processes"] == 0
    # Patroni's ttl is 20 s, and its loop 5 s.
    eventually(lambda: hosts.primary not in (None, old))
    assert hosts.has_all()
    eventually(hosts.write)
    hosts.run("start", old)
    eventually(hosts.is_whole)
    assert hosts.has_all()


@needs_namespaces
def test_commits_go_on_without_a_standby_and_wait_without_both(hosts):
    eventually(hosts.is_whole)
    primary, standbys = hosts.primary, hosts.standbys
    hosts.run("cut", standbys[0])
    assert hosts.status["hosts"][standbys[0]]["cut"] == ["in", "out"]
    # The standby no longer holds up commits once wal_sender_timeout and Patroni's loop are over.
    eventually(hosts.write)
    hosts.run("stop", standbys[1])
    assert not hosts.write()
    hosts.run("resume", standbys[1])
    hosts.run("heal")
    assert all(not host["cut"] for host in hosts.status["hosts"].values())
    eventually(hosts.write)
    eventually(hosts.is_whole)
    assert hosts.has_all() and hosts.primary == primary


@needs_namespaces
def test_a_link_is_cut_one_way(hosts):
    eventually(hosts.is_whole)
    standby = hosts.standbys[0]
    hosts.run("cut", standby, "out")
    assert hosts.status["hosts"][standby]["cut"] == ["out"]
    eventually(lambda: standby not in hosts.standbys)
    # The host may have led etcd. Then it may take until Patroni's lock is over, and another round, until there is a primary.
    try:
        eventually(hosts.write)
    except AssertionError:
        pytest.fail(f"no write was acknowledged; {hosts.status}")
    hosts.run("heal")
    eventually(hosts.is_whole)
    assert hosts.has_all()


@pytest.mark.skipif(ctypes.util.find_library("pq") is None, reason="libpq5 is not installed")
def test_the_demonstration_finds_each_acknowledged_event_once():
    command = [ROOT / "scripts/cluster-demo", "--once", "--programs", PROGRAMS]
    before = links()
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lost, 0 doubled, 0 subjects out of order" in done.stdout
    assert done.stdout.count("took over") == 2
    assert links() == before
