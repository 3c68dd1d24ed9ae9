#!/usr/bin/env python3
"""Leases the effects of a sink, delivers them, and confirms what came of it. Standard library only.

The sink is configured with { lease = true }. deliver() prints the effects here; put your queue, bus or mailer there.
usage: RULED_SOCKET=PATH lease.py SINK [--once]
"""
import json
import os
import socket
import sys


class Temporary(Exception):
    """The effect can't be delivered now; it is leased again later."""


def deliver(effect):
    """Delivers an effect. It may come again with the same id, when an earlier confirmation was lost."""
    print(json.dumps(effect, separators=(",", ":")), flush=True)


def result(lease):
    """Delivers a leased effect and says what came of it."""
    try:
        deliver(lease["effect"])
    except Temporary as error:
        return {"lease": lease["lease"], "result": "retry", "error": str(error)}
    except Exception as error:  # a fault that another try would meet again
        return {"lease": lease["lease"], "result": "give_up", "error": str(error)}
    return {"lease": lease["lease"], "result": "delivered"}


def call(stream, method, params):
    """Sends a request and returns its result; raises an error that the daemon answers."""
    stream.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
    stream.flush()
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("the daemon closed the connection before it answered")
    reply = json.loads(line)
    if "error" in reply:
        raise RuntimeError(f"{reply['error']['data']['code']}: {reply['error']['message']}")
    return reply["result"]


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: lease.py SINK [--once]")
    path = os.environ.get("RULED_SOCKET", "/run/ruled/ruled.sock")
    once = "--once" in sys.argv[2:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(path)
            with connection.makefile("rwb") as stream:
                while True:
                    params = {"sink": sys.argv[1], "limit": 50, "seconds": 60, "wait": 0 if once else 30}
                    leases = call(stream, "lease", params)["leases"]
                    if leases:
                        call(stream, "confirm", {"leases": [result(lease) for lease in leases]})
                    elif once:
                        break
    except KeyboardInterrupt:
        pass
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"lease.py: {error}")


if __name__ == "__main__":
    main()
