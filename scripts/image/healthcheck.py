#!/opt/proctree-exporter/bin/python
"""Whether the exporter of this container answers: the image's HEALTHCHECK.

It finds the exporter among the processes that it sees (with the host's PIDs, all of the node's) by
its cgroup, and its address in its arguments. Any answer will do: with TLS a refused handshake is
one as well, and with passwords a 401, because keys and passwords are not known here. Whether it is
in sync with its trees is what /-/ready tells.
"""

from __future__ import annotations

import argparse
import os
import socket
import ssl
import sys
from pathlib import Path

TIMEOUT_S = 4
REQUEST = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
ANYWHERE = {"": "localhost", "::": "::1", "0.0.0.0": "127.0.0.1"}


def exporter() -> argparse.Namespace:
    """What the `serve` that runs in this container was told."""
    known = argparse.ArgumentParser(allow_abbrev=False)
    known.add_argument("--web.listen-address", dest="address", default=":9847")
    known.add_argument("--web.config.file", dest="web_config")
    here = Path("/proc/self/cgroup").read_bytes()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = [os.fsdecode(w) for w in (process / "cmdline").read_bytes().split(b"\0")]
            if "serve" in words and (process / "cgroup").read_bytes() == here:
                return known.parse_known_args(words)[0]
        except OSError:  # it has ended
            continue
    sys.exit("no exporter runs in this container")


def answers(address: tuple[str, int], tls: bool) -> bool:
    """OSError if nobody listens there, or nothing comes in time."""
    context = ssl._create_unverified_context()
    try:
        with socket.create_connection(address, TIMEOUT_S) as stream:
            if tls:
                stream = context.wrap_socket(stream)
            stream.sendall(REQUEST)
            return stream.recv(7) == b"HTTP/1."
    except ssl.SSLError as error:
        return error.reason != "WRONG_VERSION_NUMBER"  # that is no TLS


def main() -> None:
    told = exporter()
    host, _, port = told.address.rpartition(":")
    host = host.strip("[]")
    address = (ANYWHERE.get(host, host), int(port))
    try:
        if not (told.web_config and answers(address, tls=True)) and not answers(address, tls=False):
            sys.exit(f"{told.address} does not speak HTTP")
    except OSError as error:
        sys.exit(f"{told.address} does not answer: {error}")


main()
