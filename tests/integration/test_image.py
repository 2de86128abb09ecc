"""The image does its work as a DaemonSet's container: confined, and exact all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from exporter.kernel.procfs import parse_status
from tests import harness
from tests.caller import Caller, caller
from tests.harness import workload
from tests.image import CAPABILITIES, CGROUPS, CONFIG, Contained, daemonset, image, podman
from tests.kernel.cgroup_tree import cgroup, version_2
from tests.kernel.trees import until

GROUP = f"proctree-image-{os.getpid()}"


@pytest.fixture(scope="module")
def it() -> Iterator[Caller]:
    with caller() as process:
        yield process


@pytest.fixture(scope="module")
def group() -> Iterator[Path]:
    with cgroup(version_2() / GROUP / "web") as place:
        yield place


@pytest.fixture(scope="module")
def running(it: Caller, group: Path) -> Iterator[Contained]:
    """Follows a process and a cgroup of the node, by the numbers and paths that the node has."""
    config = f"[{{name: it, pid: {it.pid}}}, {{name: web, cgroup: /{GROUP}/web}}]"
    with daemonset(config, "--web.enable-lifecycle") as exporter:
        yield exporter


def test_a_process_outside_is_followed_by_its_pid(running: Contained, it: Caller) -> None:
    """Each of its calls counts, once."""
    before = running.scrape().calls("it", "getppid")
    it.call(10_007)
    scrape = running.scrape()
    assert scrape.calls("it", "getppid") - before == 10_007
    assert scrape.timed("it", "getppid") == scrape.calls("it", "getppid")
    assert scrape.lost() == 0


def test_a_cgroup_outside_is_followed_by_its_path(
    running: Contained, group: Path, tmp_path: Path
) -> None:
    """As the node has it, though the container's own cgroup namespace begins elsewhere."""
    host, own = (Path(f"/proc/{pid}/ns/cgroup").readlink() for pid in ("self", running.pid))
    assert own != host
    contained = harness.build("contained", tmp_path)
    enter = f"echo $$ > {group}/cgroup.procs; exec {contained} 3 1009 end"
    with workload(Path("sh"), "-ec", enter) as tree:
        tree.expect("done")
        assert tree.end() == 0
    scrape = until(running, lambda scrape: scrape.value("proctree_target_up", target="web") == 0)
    assert scrape.calls("web", "getpgid") == 4 * 1009
    assert scrape.lost() == 0


def test_it_is_confined(running: Contained) -> None:
    """No capability beyond the four, none of them for good, filtered calls, no child left over."""
    numbers = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "PERFMON": 38, "BPF": 39}
    status = parse_status(Path(f"/proc/{running.pid}/status").read_text())
    assert int(status["CapBnd"], 16) == sum(1 << numbers[name] for name in CAPABILITIES)
    assert int(status["CapEff"], 16) & 1 << numbers["PERFMON"] == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()
    assert children == ""


def test_it_writes_nothing(running: Contained) -> None:
    """The root is read-only, /tmp included. What differs are the places to mount at."""
    config = running.config.read_text()
    running.config.write_text(config + "\n")
    running.reload()
    places = [Path(CGROUPS), *Path(CGROUPS).parents[:-1]]
    assert running.written() == {"C /etc", *(f"A {place}" for place in places)}


def test_the_healthcheck_finds_it(running: Contained) -> None:
    """Healthy, at an address that is not the default, among all processes of the node; and
    unhealthy while it does not answer."""
    assert running.health() == 0
    os.kill(running.pid, signal.SIGSTOP)
    try:
        assert running.health() == 1
    finally:
        os.kill(running.pid, signal.SIGCONT)


def test_sigterm_ends_it(running: Contained) -> None:
    """With status 0, and not by the kill that follows when it takes too long."""
    podman("stop", "--time=60", running.name)
    assert running.process.wait() == 0


def test_the_healthcheck_with_tls(tmp_path: Path) -> None:
    """Keys and passwords of others are not needed to see that it answers."""
    key, certificate = _certificate(tmp_path)
    web = f"tls_server_config: {{cert_file: /web/{certificate}, key_file: /web/{key}}}"
    (tmp_path / "web.yaml").write_text(web)
    options = ("--pid=host", f"--volume={tmp_path}:/web:ro")
    flag = "--web.config.file=/web/web.yaml"
    with daemonset("[1]", flag, options=options, ready=False) as exporter:
        while "https://" not in exporter.log:  # until it says where it listens
            assert exporter.process.poll() is None, exporter.log
            time.sleep(0.05)
        assert exporter.health() == 0


def _certificate(folder: Path) -> tuple[str, str]:
    names = "key.pem", "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=localhost", "-keyout", names[0], "-out", names[1]],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return names


def refusal(*options: str, capabilities: Iterable[str] = CAPABILITIES) -> str:
    """The one line it says before it ends with status 3."""
    with daemonset("[1]", capabilities=capabilities, options=options, ready=False) as exporter:
        assert exporter.process.wait() == 3
        (line,) = [line for line in exporter.log.splitlines() if "systemd" not in line]  # Podman's
        return line


@pytest.mark.parametrize("missing", ["BPF", "PERFMON"])
def test_without_a_capability_that_is_needed(missing: str) -> None:
    """It ends with status 3 and one line that names the capability."""
    rest = [capability for capability in CAPABILITIES if capability != missing]
    assert f"CAP_{missing} missing" in refusal("--pid=host", capabilities=rest)


def test_without_the_nodes_pids() -> None:
    """It would follow others than were meant, and says how to mend that: exit status 3."""
    line = refusal()
    assert "hostPID" in line
    assert "--pid=host" in line


def test_the_config_of_the_image_is_good() -> None:
    """What is served without a config of one's own."""
    limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
    command = ("check", f"--config.file={CONFIG}")
    said = podman("run", "--rm", "--network=none", "--read-only", *limits, image(), *command)
    assert said
