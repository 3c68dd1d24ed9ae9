"""A real S3 server, moto's, with a server in front of it that checks each signature, and fails as a test tells it to."""

import hashlib
import http.client
import http.server
import logging
import ssl
import threading
import urllib.parse

import boto3
import httpx
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

KEY, SECRET, TOKEN = "AKIDEXAMPLE0123456789", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "token/of+a=session"
REGION, BUCKET = "eu-central-1", "snapshots"


def expected(method, url, headers):
    """The parts of the Authorization header that botocore, which shares no code with libcurl, makes for a request as it was received."""
    names = fields(headers["authorization"])[1]["SignedHeaders"].split(";")
    query = urllib.parse.urlsplit(url).query
    request = AWSRequest(
        method=method, url=url.split("?")[0], params=dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
        headers={name: headers[name] for name in names},
    )
    request.context["timestamp"] = headers["x-amz-date"]
    auth = S3SigV4Auth(Credentials(KEY, SECRET), "s3", REGION)
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return "AWS4-HMAC-SHA256", {
        "Credential": auth.scope(request),
        "SignedHeaders": auth.signed_headers(auth.headers_to_sign(request)),
        "Signature": signature,
    }


def fields(authorization):
    """The parts of an Authorization header, whatever stands between them."""
    algorithm, rest = authorization.split(" ", 1)
    return algorithm, dict(part.strip().split("=", 1) for part in rest.split(","))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def refuse(self, status, code, message="as the test wants it", **headers):
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        self.reply(status, {"content-length": str(len(body)), **headers}, body)

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        store = self.server.store
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        name = urllib.parse.urlsplit(self.path).path.split("/", 2)[-1]
        with store.lock:
            store.requests.append((self.command, self.path, headers))
            fault = store.fault(self.command, name) if store.fault else None
        problem = store.problem(self.command, self.path, headers, body)
        if problem:
            return self.refuse(403, *problem)
        if isinstance(fault, int):
            return self.refuse(fault, "SlowDown", "reduce your request rate", retry_after="1")
        connection = http.client.HTTPConnection("127.0.0.1", store.port, timeout=180)
        # Short pages, so that each list has several.
        path = f"{self.path}&max-keys=5" if "list-type=2" in self.path else self.path
        connection.request(self.command, path, body, {name: value for name, value in headers.items() if name != "expect"})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in ("transfer-encoding", "connection", "content-length")}
        kept["content-length"] = str(len(content))
        if answer.status == 200 and content and fault == "cut":
            self.reply(200, kept, content[: len(content) // 2])
            self.close_connection = True
            return
        if answer.status == 200 and content and fault == "damage":
            middle = len(content) // 2
            content = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        self.reply(answer.status, kept, content)

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = serve


class ObjectStore:
    """A server of S3 with one bucket."""

    def __init__(self, tls=None):
        self.requests, self.lock, self.refused = [], threading.Lock(), []
        # Gives for a method and the name of an object a status to answer, "cut" or "damage"; None to do as the client asks.
        self.fault = None
        self.token = None
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.moto.start()
        self.port = self.moto.get_host_and_port()[1]
        # All of moto's servers in a process have the same buckets.
        httpx.post(f"http://127.0.0.1:{self.port}/moto-api/reset", timeout=180).raise_for_status()
        self.front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.front.daemon_threads = True
        self.front.store = self
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.front.server_address[1]}"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{tls}/server.pem", f"{tls}/server.key")
            self.front.socket = context.wrap_socket(self.front.socket, server_side=True)
        threading.Thread(target=self.front.serve_forever, daemon=True).start()
        self.client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{self.port}", region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=SECRET
        )
        self.client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})

    def problem(self, method, path, headers, body):
        """What S3 would refuse in a request."""
        if "authorization" not in headers:
            return "AccessDenied", "the request is not signed"
        if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
            return "XAmzContentSHA256Mismatch", "the digest is not that of the body"
        if headers.get("x-amz-security-token") != self.token:
            return "InvalidToken", "the provided token is malformed or otherwise invalid"
        sent, wanted = fields(headers["authorization"]), expected(method, f"http://{headers['host']}{path}", headers)
        needed = {"host", "x-amz-content-sha256", "x-amz-date"} | ({"x-amz-security-token"} if self.token else set())
        if sent != wanted or not needed <= set(sent[1]["SignedHeaders"].split(";")):
            self.refused.append((sent, wanted))
            return "SignatureDoesNotMatch", "the request signature we calculated does not match the signature you provided"
        return None

    @property
    def names(self):
        """The names of all objects, the store asked directly."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def whole(self):
        """The snapshots that have their list."""
        return {name.rsplit("/", 1)[0] for name in self.names if name.endswith("/SNAPSHOT")}

    def stop(self):
        self.front.shutdown()
        self.front.server_close()
        self.moto.stop()
