"""The example for nginx, run by the real nginx in front of the real daemon: claimed hosts pass, and nothing else is to be reached."""

import subprocess

import httpx
import pytest

from daemon import ROOT, eventually, free_port

EXAMPLE = ROOT / "examples/nginx/ruled-sites.conf"
HOST = "app.respirelyf.com"
ASSOCIATION = "/.well-known/apple-app-site-association"

ECHO = """
plugin { name = "echo", version = "1" }
web "echo.example" (function(request) return { status = 200, body = json.encode(request) } end)
"""


@pytest.fixture
def sites(start):
    """A daemon with a listener for sites, and a client of that listener."""
    port = free_port()
    daemon = start(plugins={"echo": ECHO}, http=f'sites = "127.0.0.1:{port}"')
    return daemon, port, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=180)


def test_the_listener_for_sites_knows_claimed_hosts_alone(sites):
    daemon, port, client = sites
    reply = client.get(ASSOCIATION, headers={"host": HOST})
    assert reply.status_code == 200 and "applinks" in reply.json()
    token = {"authorization": f"Bearer {daemon.token}"}
    for host in (f"127.0.0.1:{port}", "localhost", "other.example", f"x.{HOST}", ""):
        for path in ("/", "/healthz", "/livez", "/metrics", "/openapi.json", "/v1/rules", "/v1/subjects", ASSOCIATION):
            reply = client.get(path, headers={"host": host, **token})
            assert reply.status_code == 404 and reply.json()["data"]["code"] == "not_found", (host, path)
        event = {"type": "a", "subject": "s"}
        assert client.post("/v1/events", json=event, headers={"host": host, **token}).status_code == 404
    assert daemon.http.get("/v1/subjects").json()["subjects"] == []
    # With a claimed host every path is the site's.
    assert client.get("/v1/rules", headers={"host": "Echo.Example.:80"}).json()["path"] == "/v1/rules"


@pytest.fixture
def nginx(sites, tmp_path, tool):
    """nginx with the example; its ports, and the certificate that it shows."""
    program = tool("nginx")
    http, https = free_port(), free_port()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
        + ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST},DNS:respirelyf.com,DNS:echo.example"]
        + ["-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
        check=True,
        capture_output=True,
    )
    text = EXAMPLE.read_text()
    for old, new in (
        ("listen 80", f"listen 127.0.0.1:{http}"),
        ("listen 443", f"listen 127.0.0.1:{https}"),
        ("127.0.0.1:8788", f"127.0.0.1:{sites[1]}"),
        ("proxy_connect_timeout 2s", "proxy_connect_timeout 180s"),
        ("proxy_read_timeout 10s", "proxy_read_timeout 180s"),
        ("/etc/ssl/certs/respirelyf.pem", str(tmp_path / "certificate")),
        ("/etc/ssl/private/respirelyf.key", str(tmp_path / "key")),
        ("respirelyf.com respirelyf.com", "respirelyf.com respirelyf.com echo.example"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "sites.conf").write_text(text)
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {tmp_path}/{name};" for name in names)
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;"
        f"events {{}} http {{ access_log off; {temporary} include {tmp_path}/sites.conf; }}"
    )
    process = subprocess.Popen([program, "-p", tmp_path, "-c", tmp_path / "nginx.conf"], stderr=subprocess.DEVNULL)

    def serves():
        assert process.poll() is None, (tmp_path / "error.log").read_text()
        try:
            return httpx.get(f"http://127.0.0.1:{http}/", headers={"host": HOST}, timeout=180).status_code == 308
        except httpx.TransportError:
            return False

    eventually(serves)
    yield http, https, tmp_path / "certificate"
    process.terminate()
    process.wait(180)


def visit(nginx, path, host=HOST, method="GET", **headers):
    """A request over TLS, as a browser that was given the host would send it."""
    _, port, certificate = nginx
    done = subprocess.run(
        ["curl", "-sS", "-i", "-X", method, "--cacert", certificate, "--resolve", f"{host}:{port}:127.0.0.1"]
        + [argument for name, value in headers.items() for argument in ("-H", f"{name.replace('_', '-')}: {value}")]
        + [f"https://{host}:{port}{path}"],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def test_claimed_hosts_pass_and_no_other(sites, nginx):
    daemon = sites[0]
    code, text = visit(nginx, ASSOCIATION)
    assert code == 0 and "200 OK" in text and "applinks" in text
    code, text = visit(nginx, "/YouTube?utm_source=a", host="respirelyf.com")
    assert code == 0 and "308" in text and "location: /youtube?utm_source=a" in text.lower()
    # The API of a claimed host is the site's.
    assert "Download on the App Store" in visit(nginx, "/v1/subjects")[1]
    # Another host in TLS, or in the Host header of a good connection, never reaches the daemon.
    assert visit(nginx, "/healthz", host="other.example")[0] != 0
    for host in ("other.example", "localhost", "127.0.0.1"):
        code, text = visit(nginx, "/healthz", Host=host)
        assert '"status"' not in text and "200 OK" not in text
    port = nginx[0]
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"http://127.0.0.1:{port}/healthz", headers={"host": "localhost"}, timeout=180)
    reply = httpx.get(f"http://127.0.0.1:{port}/a?b", headers={"host": HOST}, timeout=180)
    assert reply.status_code == 308 and reply.headers["location"] == f"https://{HOST}/a?b"
    assert daemon.http.get("/livez").status_code == 200


def test_the_handler_sees_the_visitor(nginx):
    code, text = visit(nginx, "/p?q=1", host="echo.example", X_Forwarded_For="6.6.6.6")
    assert code == 0 and '"x-forwarded-for":"127.0.0.1"' in text and '"host":"echo.example"' in text
    assert '"query_string":"q=1"' in text and "6.6.6.6" not in text
