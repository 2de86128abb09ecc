"""The job: probes, trees, snapshots and a server, wired together; begun, kept going, ended."""

from __future__ import annotations

import logging
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from exporter import __version__
from exporter.config.fixed import fixed_at_start
from exporter.config.load import load
from exporter.config.model import Config
from exporter.costs import costs_of, shape_of
from exporter.errors import ConfigError, KernelError, ProctreeError, ServiceError
from exporter.kernel import fields, memory, privileges, procfs, sizes
from exporter.kernel.cgroupfs import Cgroups
from exporter.kernel.confinement import confine
from exporter.kernel.doorbell import Doorbell
from exporter.kernel.tracing import Tracing
from exporter.metadata.kubernetes import Settings as ApiSettings
from exporter.metadata.sources import Sources
from exporter.model.accounts import Accounts
from exporter.model.admission import Costs
from exporter.model.describe import describe_targets
from exporter.model.labeller import Labeller
from exporter.model.labels import DEFAULT_LABEL
from exporter.model.monitor import Monitor
from exporter.model.snapshot import Snapshot
from exporter.model.target import Target
from exporter.model.tracker import Paths, Tracker
from exporter.publish.flags import Flags
from exporter.publish.listen import Address
from exporter.publish.shape import Shape

if TYPE_CHECKING:
    from exporter.publish.server import Server
    from exporter.publish.web.current import Current
    from exporter.telemetry.opening import Otlp

log = logging.getLogger(__name__)

_TEND_EVERY_S = 1.0
_TEND_AT_MOST_S = 0.02


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `serve`."""

    config_file: str
    address: Address
    flags: Flags
    paths: Paths
    web_config_file: str = ""


class Service:
    """One exporter, from its config to its end. `run` returns when it is told to stop."""

    def __init__(self, options: Options) -> None:
        self._options = options
        # Plain flags: an Event's lock is not for signal handlers, which may interrupt its holder.
        self._stopping = self._reload_due = False
        self._ready = False
        self._scraped = False
        self._doorbell: Doorbell | None = None
        self._web: Current | None = None
        self._lock = threading.RLock()  # kernel and trees: one thread at a time

    # What the pages need: publish.site.Exporter

    def ready(self) -> bool:
        return self._ready

    def snapshot(self) -> Snapshot:
        with self._lock:
            self._scraped = True
            if self._doorbell:  # what came since is in this scrape
                self._tracker.tend(self._doorbell.take())
            snapshot = self._monitor.snapshot()
        if self._web and self._web.failing:
            return replace(snapshot, reload_successful=False)
        return snapshot

    def reload(self) -> None:
        """Raises ProctreeError, and goes on with the old config."""
        with self._lock:
            self._monitor.reload_successful = False  # until it is
            config = load(self._options.config_file, str(self._options.paths.cgroupfs))
            self._refuse_what_cannot_change(config)
            self._make_room(config)
            self._tracker.configure(config.targets, config.exclude)
            self._take_over(config)
        for warning in config.warnings:
            log.warning("%s", warning)
        log.info("config reloaded: %d targets", len(config.targets))

    def targets(self) -> list[dict[str, Any]]:
        with self._lock:
            snapshot = self._monitor.snapshot()
            following, members = self._tracker.following(), self._tracker.members()
            threads = self._tracker.threads()
            complete = not self._tracker.incomplete
        comm = partial(procfs.comm, self._options.paths.procfs)
        return describe_targets(snapshot, following, members, threads, comm, complete=complete)

    # The job

    def run(self) -> None:
        """Raises ConfigError, KernelError or ServiceError before it is ready; then only stops."""
        options, paths = self._options, self._options.paths
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_hangup)
        config = load(options.config_file, str(paths.cgroupfs))
        for warning in config.warnings:
            log.warning("%s", warning)
        self._config = config
        if options.web_config_file:
            self._web = _read_web(options.web_config_file)
        self._otlp = _otlp_of(config, paths)
        self._sends_spans = bool(self._otlp and self._otlp.exemplars)
        self._tells_of_events = config.tells_of_events and self._sends_spans
        costs = costs_of(config)
        privileges.require(sysfs=paths.sysfs)
        if not procfs.in_first_namespace(paths.procfs):
            raise KernelError(
                "this is not the machine's own PID namespace, so PIDs mean something else here:"
                " run with hostPID: true, or --pid=host"
            )
        size = sizes.plan(
            config.limits.trees, config.limits.processes, config.histograms.scale,
            sizes.possible_cpus(paths.sysfs), config.limits.comms,
            spans=self._tells_of_events,
        )  # fmt: skip
        kernel_fields = fields.read(paths.sysfs / "kernel/btf/vmlinux", platform.machine())
        tracing = Tracing(size, kernel_fields, config.self_cost)
        self._open_model(tracing, config, costs)
        self._doorbell = Doorbell(tracing.doorbell_fd)
        # Threads begin after bcc's child has ended, and with few privileges; low ports need more.
        server = self._open_server(shape_of(config))
        telemetry = self._otlp and self._otlp.open(
            tracing, self._monitor, self.snapshot, lambda: self._exposition.shape
        )
        self._tracker.configure(config.targets, config.exclude)
        tracing.attach()
        for lack in [*privileges.lacks(), *confine(tracing.doorbell_fd)]:
            log.warning("%s", lack)
        server.start()
        self._sources.start()
        try:
            self._take_over(config)
            if telemetry:
                telemetry.start()
            self._ready = True
            memory.settle()
            log.info(
                "following %d targets on %s://%s%s (privileges: %s)",
                len(config.targets), self._web().scheme if self._web else "http", server.address,
                options.flags.telemetry_path, privileges.held(),
            )  # fmt: skip
            self._tend()
        finally:
            server.stop()
            if telemetry:
                telemetry.stop()
            self._sources.stop()
            tracing.close()

    def _open_model(self, tracing: Tracing, config: Config, costs: Costs) -> None:
        """What the trees are, how they are called, and what is exposed of them."""
        paths, otlp = self._options.paths, self._otlp
        api = config.kubernetes
        self._asks_for_pods = _asks_for_pods(config)
        self._sources = Sources(
            paths.rootfs,
            ApiSettings(api.server, api.token_file, api.ca_file, api.node)
            if self._asks_for_pods
            else None,
        )
        labeller = Labeller(
            config.labels, config.metadata_timeout_ns, self._sources, needs_facts=otlp is not None
        )
        cgroups = Cgroups(paths.cgroupfs, paths.procfs)
        if not cgroups.sees_all:
            log.warning(
                "the cgroups at %s are cut off by a cgroup namespace: what is outside it is found"
                " when it is made, and not if it is there already: mount the node's /sys/fs/cgroup"
                " and give it as --path.cgroupfs", paths.cgroupfs,
            )  # fmt: skip
        self._tracker = Tracker(
            tracing, cgroups, paths, os.getpid(), labeller,
            self._sources,
        )  # fmt: skip
        self._accounts = Accounts(
            config.limits.series, costs, scale=config.histograms.scale,
            keep_gone_ns=config.keep_gone_ns, tree_labels=config.labels,
            pod_labels=config.pod_labels, exemplars=otlp.exemplars if otlp else None,
        )  # fmt: skip
        self._monitor = Monitor(
            tracing, self._tracker, self._accounts, labeller, config.histograms.scale,
            config.self_cost, _build_info(), self._sources if self._sources.asks_api else None,
            otlp.resources(labeller) if otlp else None,
        )  # fmt: skip

    def _open_server(self, shape: Shape) -> Server:
        """Imports HTTP and the client library only now: at the peak of memory, while bcc's child
        compiles, they are not there yet, and the child does not inherit them."""
        from exporter.model.web import Web
        from exporter.publish.exposition import Exposition
        from exporter.publish.server import Server
        from exporter.publish.site import Site

        self._exposition = Exposition(shape)
        site = Site(self, self._exposition, self._options.flags)
        return Server(self._options.address, site, current=self._web or Web)

    def _take_over(self, config: Config) -> None:
        self._accounts.keep_gone_ns = config.keep_gone_ns
        self._follow(config.targets, config)
        self._config = config
        self._exposition.shape = shape_of(config)
        self._watched = _identity(self._options.config_file)

    def _follow(self, targets: Sequence[Target], config: Config) -> None:
        """Once the tracker is configured: brings kernel and accounts in step with it."""
        self._tracker.sync()
        self._monitor.configure(targets, costs_of(config), time.time_ns())

    def _make_room(self, config: Config) -> None:
        """What goes must go first, where what comes needs its slots."""
        if self._tracker.room_for(config.targets):
            return
        stay = self._tracker.staying(config.targets)
        self._tracker.configure(stay, config.exclude)
        self._follow(stay, config)
        if not self._tracker.room_for(config.targets):
            self._monitor.reload_successful = False
            self._reload_due = True
            raise ServiceError(
                f"{config.file}: the targets that were taken off still hold their places"
                " (limits.trees): those that are new are followed once they are free"
            )

    def _tend(self) -> None:
        """The main loop: sleeps until the kernel rings, a signal comes or a second has passed."""
        assert self._doorbell
        while not self._stopping:
            if self._doorbell.wait(_TEND_EVERY_S):
                time.sleep(_TEND_AT_MOST_S)  # a storm of moves is carried in one go
            if self._stopping:
                return
            _guard("tending the trees", self._tend_once)
            if self._reload_due or self._file_changed():
                self._reload_due = False
                _guard("reload", self.reload)

    def _tend_once(self) -> None:
        with self._lock:
            self._tracker.tend(self._doorbell.take() if self._doorbell else ())
            self._monitor.tend()
            scraped, self._scraped = self._scraped, False
        if scraped:
            memory.trim()

    def _file_changed(self) -> bool:
        now = _identity(self._options.config_file)
        changed = now is not None and now != self._watched
        self._watched = now or self._watched
        return changed

    def _refuse_what_cannot_change(self, config: Config) -> None:
        """What is compiled into the kernel program, or sized, stays until a restart."""
        fixed, found = fixed_at_start(self._config), fixed_at_start(config)
        for key, old in fixed.items():
            if old != found[key]:
                raise ServiceError(
                    f"{config.file}: {key} is fixed at start (now {old}, found {found[key]}):"
                    " restart the exporter to change it"
                )
        if _asks_for_pods(config) and not self._asks_for_pods:
            raise ServiceError(
                f"{config.file}: the API server is asked for pods from the start on, or not at all:"
                " restart the exporter to follow its first target with 'kubernetes'"
            )
        if config.tells_of_events and self._sends_spans and not self._tells_of_events:
            raise ServiceError(
                f"{config.file}: spans of processes and calls need a part of the kernel's program"
                " that is loaded at start: restart the exporter for the first target with them"
            )
        if not self._monitor.room_for(config.targets, costs_of(config)):
            raise ServiceError(
                f"{config.file}: limits.series leaves no room for the new targets: what is exposed"
                " already is never taken back; restart the exporter, or raise limits.series"
            )
        if not self._tracker.room_for(config.targets, once_free=True):
            raise ServiceError(
                f"{config.file}: limits.trees ({config.limits.trees}) leaves no room for the new"
                " targets beside the trees that stay: take some off the list, or restart the"
                " exporter with a higher limit"
            )

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        if self._doorbell:
            self._doorbell.wake()

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        self._reload_due = True
        if self._doorbell:
            self._doorbell.wake()


def _asks_for_pods(config: Config) -> bool:
    """Whether anything in the config needs what only the API knows."""
    named = set(config.labels or ()) - {DEFAULT_LABEL}
    return bool(named or config.pod_labels or any(t.kubernetes for t in config.targets))


def _read_web(file: str) -> Current:
    """Raises ConfigError."""
    from exporter.config import web
    from exporter.publish.web.current import Current

    return Current(partial(web.load, file))


def _otlp_of(config: Config, paths: Paths) -> Otlp | None:
    """None where nothing is sent by OTLP; then nothing of it is imported."""
    if config.otlp is None:
        return None
    from exporter.telemetry.opening import Otlp

    return Otlp.of(config, paths, os.environ)


def _guard(what: str, work: Callable[[], None]) -> None:
    """A failing part is a log line, not the end of the exporter."""
    try:
        work()
    except ConfigError as error:
        for problem in error.problems:
            log.error("%s failed: %s", what, problem)
    except (ProctreeError, OSError) as error:
        log.error("%s failed: %s", what, error)
    except Exception:
        log.exception("%s failed", what)


def _identity(path: str) -> tuple[int, ...] | None:
    """Tells whether a file changed, by symlink swap too; None while it is not there."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def _build_info() -> dict[str, str]:
    return {
        "version": __version__,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
