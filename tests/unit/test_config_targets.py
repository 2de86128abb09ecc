"""What a good config means, whichever form it is written in."""

from __future__ import annotations

import pytest

from exporter.config.load import parse
from exporter.config.model import Config, Histograms, KubernetesApi, Limits, Target


def target(text: str, cgroup_root: str = "/sys/fs/cgroup") -> Target:
    (only,) = parse(f"- {text}", "c.yaml", cgroup_root).targets
    return only


def test_the_short_form_is_the_long_form_with_defaults() -> None:
    """A bare list means what the mapping with nothing but `targets` means, lines aside."""
    short = parse("- 4711\n- /system.slice/nginx.service\n", "c.yaml")
    assert short == Config(
        file="c.yaml",
        targets=(
            Target("pid:4711", "pid", 4711, None, True, None, 1),
            Target(
                "cgroup:/system.slice/nginx.service",
                "cgroup",
                None,
                "/system.slice/nginx.service",
                True,
                None,
                2,
            ),
        ),
        exclude=(),
        labels=None,
        pod_labels=(),
        keep_gone_ns=300_000_000_000,
        metadata_timeout_ns=10_000_000_000,
        kubernetes=KubernetesApi(None, None, None, None),
        histograms=Histograms("syscall", True, True, 2),
        limits=Limits(20_000, 64, 32_768, 32),
        otlp=None,
        self_cost=False,
        warnings=(),
    )
    assert parse("targets: [\n4711, \n/system.slice/nginx.service]", "c.yaml").targets == tuple(
        Target(t.name, t.kind, t.pid, t.cgroup, t.follow_forks, t.buckets, t.line + 1)
        for t in short.targets
    )


def test_every_setting_is_taken() -> None:
    """Each key of each section reaches the config; what is left out keeps its default."""
    config = parse(
        "{targets: [1], self_cost: true, limits: {trees: 4096, series: 1000, comms: 1},"
        " histograms: {by: both, classic: false, native: false, scale: 0}}",
        "c.yaml",
    )
    assert config.histograms == Histograms("both", False, False, 0)
    assert config.limits == Limits(1000, 4096, 32_768, 1)
    assert config.self_cost is True


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{name: ci, pid: 4711}", "ci"),
        ("{name: no, pid: 4711}", "no"),
        ("{name: 1:30, pid: 4711}", "1:30"),
        ("{name: '5', pid: 4711}", "5"),
        ("{name: größe 😀, pid: 4711}", "größe 😀"),
        ("{pid: 4711}", "pid:4711"),
        ("0o17", "pid:15"),
        ("{all: true}", "all"),
        ("{cgroup: /a}", "cgroup:/a"),
        ("//a//b/", "cgroup://a//b/"),
        ("/sys/fs/cgroup/a", "cgroup:/sys/fs/cgroup/a"),
    ],
)
def test_names(text: str, name: str) -> None:
    """A name is the text written, by YAML 1.2; without one, kind and root as they were written."""
    assert target(text).name == name


@pytest.mark.parametrize(
    ("written", "cgroup", "absolute"),
    [
        ("/", "/", False),
        ("/system.slice/x.service", "/system.slice/x.service", False),
        ("//system.slice///x.service/", "/system.slice/x.service", False),
        ("/sys/fs/cgroup", "/", True),
        ("/sys/fs/cgroup/", "/", True),
        ("/sys/fs//cgroup/unified/foo/", "/unified/foo", True),
        ("/sys/fs/cgroupfoo/x", "/sys/fs/cgroupfoo/x", False),
        ("/a..b/.c/...", "/a..b/.c/...", False),
        (r"/system-getty\x2d1.slice", r"/system-getty\x2d1.slice", False),
    ],
)
def test_cgroup_paths(written: str, cgroup: str, absolute: bool) -> None:
    """The path from the cgroup root, with single slashes; `absolute` tells how it was given."""
    assert (target(written).cgroup, target(written).absolute) == (cgroup, absolute)


@pytest.mark.parametrize("written", ["/host/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a/b"])
def test_one_config_for_host_and_container(written: str) -> None:
    """With the cgroup root mounted elsewhere, the host's spelling still means the same cgroup."""
    found = target(written, cgroup_root="/host/sys/fs/cgroup/")
    assert (found.cgroup, found.absolute) == ("/a/b", True)


def test_the_same_path_in_two_hierarchies_is_two_cgroups() -> None:
    """/cpu/a and /sys/fs/cgroup/cpu/a may differ on a v1 machine: both can be listed."""
    first, second = parse("- /cpu,cpuacct/a\n- /sys/fs/cgroup/cpu,cpuacct/a", "c.yaml").targets
    assert first.cgroup == second.cgroup
    assert (first.absolute, second.absolute) == (False, True)


def test_follow_forks() -> None:
    """`follow_forks: false` holds for a PID; `true` may be written anywhere, it is the default."""
    assert target("{pid: 5, follow_forks: false}").follow_forks is False
    assert target("{cgroup: /a, follow_forks: true}").follow_forks is True


def test_a_limit_that_is_just_reached_is_no_mistake() -> None:
    """As many targets as `limits.trees` says."""
    assert len(parse("{targets: [1, 2], limits: {trees: 2}}", "c.yaml").targets) == 2


@pytest.mark.parametrize("root", ["/", "/sys/fs/cgroup"])
def test_what_nothing_can_reach_is_warned_of(root: str) -> None:
    """The root cgroup holds every process and ranks before `all` and PID 1, and only these."""
    text = f"- {{all: true}}\n- {root}\n- 1\n- 2\n- {{pid: 3, follow_forks: false}}"
    assert [str(warning) for warning in parse(text, "c.yaml").warnings] == [
        f"c.yaml:{line}:3: target '{name}' can hold no process: the cgroup '/' on line 2 "
        "ranks before it and holds all; remove one of them"
        for line, name in ((1, "all"), (3, "pid:1"))
    ]


@pytest.mark.parametrize("text", ["- 1\n- all: true\n- /a", "- /\n- {pid: 1, follow_forks: false}"])
def test_no_warning_where_it_is_not_certain(text: str) -> None:
    """A target that some machine may give a process to is not warned of."""
    assert parse(text, "c.yaml").warnings == ()
