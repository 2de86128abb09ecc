"""What the chart makes of values: reviewed once, then held still; and good for the exporter."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exporter import __version__
from exporter.cli import run
from tests.harness import COMMAND, ROOT
from tests.helm.chart import (
    CHART,
    VALUES,
    config,
    container,
    documents,
    helm,
    needs_helm,
    one,
    refusal,
    render,
)
from tests.integration.kube.certificates import authority

pytestmark = needs_helm
GOLDEN = ROOT / "tests/helm/golden"
each = pytest.mark.parametrize("name", VALUES)


@each
def test_golden(name: str) -> None:
    """Not a byte changes unnoticed; `GOLDEN=write` accepts what is there now."""
    manifests, golden = render(VALUES[name]), GOLDEN / f"{name}.yaml"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(manifests)
    assert manifests == golden.read_text()


@each
def test_lint_has_nothing_to_say(name: str) -> None:
    """`helm lint --strict`."""
    said = helm("lint", "--strict", CHART, "-f", VALUES[name])
    assert "1 chart(s) linted, 0 chart(s) failed" in said


@each
def test_check_accepts_the_config(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file in the ConfigMap is one that the exporter takes; what it names is mounted."""
    mounted = {"/etc/otlp/ca.crt": authority(tmp_path, "ca").certificate}
    text = config(render(VALUES[name]))
    for path, here in mounted.items():
        text = text.replace(path, str(here))
    file = tmp_path / "config.yaml"
    file.write_text(text)
    assert run(["check", f"--config.file={file}"]) == 0, capsys.readouterr().err


@each
def test_the_arguments_are_a_command_line(name: str) -> None:
    """All flags are known: what is missing here is only what is mounted in a pod."""
    command = [*COMMAND, *container(render(VALUES[name]))["args"]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "/etc/proctree-exporter/" in done.stderr, done.stderr


@each
def test_no_more_privileges_than_needed(name: str) -> None:
    """Never privileged, nor on the host's network; nothing is written, and no more gained."""
    pod = one(render(VALUES[name]), "DaemonSet")["spec"]["template"]["spec"]
    assert (pod["hostPID"], pod["hostNetwork"]) == (True, False)
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (exporter,) = pod["containers"]
    security = exporter["securityContext"]
    assert not security["privileged"] and not security["allowPrivilegeEscalation"]
    assert security["readOnlyRootFilesystem"]
    assert security["capabilities"]["drop"] == ["ALL"]
    paths = {v["name"] for v in pod["volumes"] if "hostPath" in v}
    assert all(m["readOnly"] for m in exporter["volumeMounts"] if m["name"] in paths)


def test_by_default_four_capabilities_and_one_path_of_the_host() -> None:
    """What goes beyond that has to be asked for."""
    manifests = render(VALUES["defaults"])
    pod = one(manifests, "DaemonSet")["spec"]["template"]["spec"]
    paths = [v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v]
    assert paths == ["/sys/fs/cgroup"]
    security = container(manifests)["securityContext"]
    assert security["capabilities"]["add"] == ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH"]
    (rule,) = one(manifests, "ClusterRole")["rules"]
    assert rule == {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}


def test_names_fit_together() -> None:
    """Whatever names are given: selectors find the pods, references what they refer to."""
    for name in VALUES:
        manifests = render(VALUES[name])
        daemonset = one(manifests, "DaemonSet")
        pod = daemonset["spec"]["template"]
        selectors = [daemonset["spec"]["selector"]["matchLabels"]]
        for kind in ("Service", "PodMonitor", "ServiceMonitor", "NetworkPolicy"):
            for found in (d for d in documents(manifests) if d["kind"] == kind):
                selector = found["spec"].get("selector") or found["spec"]["podSelector"]
                selectors.append(selector.get("matchLabels", selector))
        assert all(s.items() <= pod["metadata"]["labels"].items() for s in selectors)
        volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
        assert volumes["config"]["configMap"]["name"] == daemonset["metadata"]["name"]
        assert {m["name"] for m in container(manifests)["volumeMounts"]} == volumes.keys()
        account = one(manifests, "ServiceAccount")["metadata"]
        (subject,) = one(manifests, "ClusterRoleBinding")["subjects"]
        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
        assert pod["spec"]["serviceAccountName"] == account["name"]


def test_the_config_is_where_a_reload_sees_it() -> None:
    """The folder of the ConfigMap is mounted: a file alone (`subPath`) would never change."""
    exporter = container(render({}))
    (mount,) = [m for m in exporter["volumeMounts"] if m["name"] == "config"]
    assert mount == {"name": "config", "mountPath": mount["mountPath"], "readOnly": True}
    assert f"--config.file={mount['mountPath']}/config.yaml" in exporter["args"]


def test_probes_go_with_the_web_config() -> None:
    """HTTP, HTTPS, and the open port alone where a certificate or a password is asked for."""
    secret = {"secretName": "web"}
    ways: dict[str, dict[str, Any]] = {
        "HTTP": {},
        "HTTPS": {**secret, "authentication": False},
        "HTTP again": {**secret, "authentication": False, "scheme": "http"},
        "port": secret,
    }
    for way, web in ways.items():
        rendered = container(render({"webConfig": web}))
        for name, path in (("startup", "healthy"), ("liveness", "healthy"), ("readiness", "ready")):
            probe = rendered[f"{name}Probe"]
            if way == "port":
                assert probe["tcpSocket"] == {"port": "metrics"} and "httpGet" not in probe
            else:
                get = {"path": f"/-/{path}", "port": "metrics", "scheme": way.split()[0]}
                assert probe["httpGet"] == get and "tcpSocket" not in probe


def test_monitors_scrape_as_our_labels_want_it() -> None:
    """Labels of series go first, and none of ours is in their way; both kinds of histograms."""
    for kind, value, key in (
        ("PodMonitor", "podMonitor", "podMetricsEndpoints"),
        ("ServiceMonitor", "serviceMonitor", "endpoints"),
    ):
        spec = one(render({value: {"enabled": True}}), kind)["spec"]
        (endpoint,) = spec[key]
        assert endpoint["honorLabels"] is True
        assert [r.get("targetLabel") for r in endpoint["relabelings"]] == [
            "job", "node", "exporter_pod", None,
        ]  # fmt: skip
        assert endpoint["relabelings"][-1]["action"] == "labeldrop"
        assert spec["scrapeProtocols"][0] == "PrometheusProto"
        assert spec["scrapeClassicHistograms"] is True


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ('{"serviceMonitor": {"enabled": true}, "podMonitor": {"enabled": true}}', "scraped twice"),
        ('{"serviceMonitor": {"enabled": true}, "service": {"enabled": false}}', "service.enabled"),
    ],
)
def test_values_that_contradict_each_other_are_refused(values: str, says: str) -> None:
    """What no schema can say is said by the chart."""
    assert says in refusal("template", "r", CHART, "-f", "-", stdin=values)


def test_dashboards_come_from_files(tmp_path: Path) -> None:
    """A ConfigMap for each JSON file of dashboards/, byte by byte, labelled for the sidecar."""
    chart = shutil.copytree(CHART, tmp_path / "chart", ignore=shutil.ignore_patterns("dashboards"))
    (chart / "dashboards").mkdir()
    texts = {"one": '{"title": "{{ pod }}"}\n', "two": '{\n  "panels": []\n}\n'}
    for name, text in texts.items():
        (chart / f"dashboards/{name}.json").write_text(text)
    manifests = render({"dashboards": {"enabled": True}}, chart)
    maps = {
        document["metadata"]["name"]: document["data"]
        for document in documents(manifests)
        if document["metadata"]["labels"].get("grafana_dashboard") == "1"
    }
    assert maps == {f"r-proctree-exporter-{n}": {f"{n}.json": t} for n, t in texts.items()}


def test_the_chart_has_our_version() -> None:
    """By default it installs the image of the exporter that it comes with."""
    shown = helm("show", "chart", CHART)
    assert f"\nappVersion: {__version__}\n" in f"\n{shown}"
    assert container(render({}))["image"].endswith(f":{__version__}")


def test_notes_fit_the_values() -> None:
    """Who is not scraped is told how; who is, is not."""
    notes = {
        value: helm("install", "r", CHART, "--dry-run=client", f"--set=podMonitor.enabled={value}")
        for value in ("true", "false")
    }
    assert "Nobody scrapes it yet" in notes["false"]
    assert "Nobody scrapes it yet" not in notes["true"]
