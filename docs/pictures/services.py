"""Six minutes of small services on this machine, and a Prometheus that has scraped them.

A database that syncs its file, a web server that opens files; after two minutes a batch job that
floods the same disk; after four an upstream that is gone, and a lock that nobody lets go.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.harness import ROOT, exporter, free_port
from tests.integration.collector import collector

#: What is shown, when the disk is flooded and when things break, and how long all was well before:
#: as long as the recording rules look back.
SECONDS, FLOOD, BREAK, BEFORE = 360, 120, 240, 270
_CONFIG = """
targets:
  - {{name: db, pid: {db}, spans: {{slower_than: 20ms}}}}
  - {{name: web, pid: {web}}}
  - {{name: batch, pidfile: {batch}}}
self_cost: true
otlp: {{traces: true, endpoint: "{endpoint}"}}
"""
_PROMETHEUS = """
global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 5s}}
storage: {{exemplars: {{max_exemplars: 100000}}}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: proctree
    scrape_native_histograms: true
    always_scrape_classic_histograms: true
    static_configs: [{{targets: ["{address}"]}}]
"""
_DB = """
import os, sys, time
file = os.open(sys.argv[1] + "/db", os.O_CREAT | os.O_RDWR)
while True:
    os.pwrite(file, b"x" * 4096, 0)
    os.fsync(file)
    time.sleep(0.02)
"""
_WEB = """
import fcntl, os, socket, sys, threading, time
folder, began = sys.argv[1], time.monotonic()
os.close(os.open(folder + "/page", os.O_CREAT | os.O_WRONLY))
def hold():
    lock = open(folder + "/lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    time.sleep(10**6)
def wait():
    fcntl.flock(open(folder + "/lock", "w"), fcntl.LOCK_EX)
broken = False
while True:
    with open(folder + "/page") as page:
        page.read()
    os.path.exists(folder + "/cache")
    if time.monotonic() - began > float(sys.argv[2]):
        if not broken:
            for does in (hold, wait):
                threading.Thread(target=does, daemon=True).start()
                time.sleep(0.2)
        broken = True
        with socket.socket() as upstream:
            upstream.connect_ex(("127.0.0.1", 9))
    time.sleep(0.02)
"""
_BATCH = """
import os, sys
file, piece = os.open(sys.argv[1] + "/batch", os.O_CREAT | os.O_RDWR), b"x" * (16 << 20)
while True:
    os.pwrite(file, piece, 0)
    os.fsync(file)
"""


@contextmanager
def running(*command: object, log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    with (log or Path("/dev/null")).open("wb") as stream:
        process = subprocess.Popen([*map(str, command)], stdout=stream, stderr=stream)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def service(text: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    with running(sys.executable, "-S", "-c", text, *arguments) as process:
        yield process


@contextmanager
def scraped() -> Iterator[str]:
    """The URL of the Prometheus, once the time is over."""
    (ROOT / "build").mkdir(exist_ok=True)  # a disk, where /tmp is often none
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=ROOT / "build")))
        backend = stack.enter_context(collector(folder))
        db = stack.enter_context(service(_DB, folder))
        web = stack.enter_context(service(_WEB, folder, BEFORE + BREAK))
        batch = folder / "batch.pid"
        config = _CONFIG.format(db=db.pid, web=web.pid, batch=batch, endpoint=backend.http)
        watched = stack.enter_context(exporter(config))
        port, settings = free_port(), folder / "prometheus.yml"
        rules = ROOT / "dashboards/rules/recording.yaml"
        settings.write_text(_PROMETHEUS.format(address=watched.address, rules=rules))
        stack.enter_context(running(
            ROOT / ".tools/bin/prometheus3", f"--config.file={settings}",
            f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage", log=folder / "log",
        ))  # fmt: skip
        began = time.time()
        time.sleep(BEFORE + FLOOD)
        batch.write_text(str(stack.enter_context(service(_BATCH, folder)).pid))
        time.sleep(began + BEFORE + SECONDS - time.time())
        yield f"http://127.0.0.1:{port}"
