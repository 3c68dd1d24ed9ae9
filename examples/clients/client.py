#!/usr/bin/env python3
"""Sends one event over the Unix socket, JSON-RPC lines, and prints where the link leads. Standard library only."""
import json
import os
import socket
import sys


def call(stream, method, params):
    """Sends a request and returns its result; raises an error that the daemon answers."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    stream.write(json.dumps(request).encode() + b"\n")
    stream.flush()
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("the daemon closed the connection before it answered")
    reply = json.loads(line)
    if "error" in reply:
        raise RuntimeError(f"{reply['error']['data']['code']}: {reply['error']['message']}")
    return reply["result"]


def main():
    path = os.environ.get("RULED_SOCKET", "/run/ruled/ruled.sock")
    event = {
        "type": "link.opened",
        "subject": "device:example-python",
        "data": {"url": "https://app.respirelyf.com/?dl_target=paywall", "logged_in": True, "onboarding_seen": True},
    }
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            connection.connect(path)
            with connection.makefile("rwb") as stream:
                outcome = call(stream, "event", event)
        for failure in outcome["failures"]:
            print(f"client.py: {failure['plugin']} failed: {failure['message']}", file=sys.stderr)
        print(outcome["decisions"]["deeplinks"]["destination"])
    except KeyError as error:
        sys.exit(f"client.py: the outcome has no {error}")
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"client.py: {error}")


if __name__ == "__main__":
    main()
