"""The store of a single daemon becomes that of a cluster, and back."""

import ctypes.util
import subprocess

import httpx
import pytest

from daemon import PROGRAMS, Daemon, eventually
from throwaway_postgres import Postgres, is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None,
    reason="postgresql-15 or libpq5 is not installed",
)


@pytest.fixture
def database(tmp_path):
    database = Postgres(tmp_path / "db")
    yield database
    database.stop()


def states(daemon):
    subjects = daemon.http.get("/v1/subjects").raise_for_status().json()["subjects"]
    return {subject: daemon.http.get(f"/v1/subjects/{subject}").raise_for_status().json() for subject in subjects}


def owns(daemon):
    """Whether the daemon decides: a node follows the log until it owns it, and closes its connections then."""
    try:
        return daemon.http.get("/v1/subjects").status_code == 200
    except httpx.TransportError:
        return False


def serve(daemon, text):
    """Lets a daemon go on with another store."""
    kept = [line for line in daemon.configuration.read_text().splitlines() if not line.startswith(("store", "cluster", "durability"))]
    daemon.configuration.write_text("\n".join([*kept, text]) + "\n")
    daemon.restart()
    eventually(lambda: owns(daemon))


def run(daemon, *words):
    """Runs ruled with the daemon's configuration; gives exit code and output."""
    done = subprocess.run([PROGRAMS / "ruled", "--config", daemon.configuration, *words], capture_output=True, text=True, timeout=180)
    return done.returncode, done.stdout + done.stderr


def test_the_store_of_a_single_daemon_becomes_a_clusters_and_a_single_daemons_again(tmp_path, database):
    daemon = Daemon(tmp_path)
    for number in range(200):
        daemon.event("app.launched", f"device:{number % 20}", {"platform": "ios"}, id=str(number))
    before = states(daemon)
    first = daemon.event("app.launched", "device:1", {"platform": "ios"}, id="1")
    assert first["duplicate"]
    daemon.stop()
    single, node = f"rocksdb:{tmp_path}/store", f'store = "{database.url}"\ndurability = "primary"\ncluster = {{ node = "a", lease = "60s", folder = "{tmp_path}/node" }}'
    code, text = run(daemon, "--import", tmp_path / "store")
    assert code == 2 and "--import fills the log of a cluster" in text
    daemon.configuration.write_text(daemon.configuration.read_text().replace(f'store = "{single}"', node))
    code, text = run(daemon, "--import", tmp_path / "store")
    assert code == 0 and " entries, " in text, text
    code, text = run(daemon, "--import", tmp_path / "store")
    assert code == 2 and "is not empty" in text

    serve(daemon, node)
    assert states(daemon) == before
    assert daemon.event("app.launched", "device:1", {"platform": "ios"}, id="1") == first
    daemon.event("app.launched", "device:new", {"platform": "ios"})
    before = states(daemon)
    daemon.stop()

    serve(daemon, f'store = "rocksdb:{tmp_path}/node"')
    assert states(daemon) == before
    daemon.stop()
    daemon.configuration.write_text(daemon.configuration.read_text().replace(f'store = "rocksdb:{tmp_path}/node"', node))
    code, text = run(daemon)
    assert code == 2 and "that of a single daemon" in text
