"""etcd and kube-apiserver as processes that tests may kill and start again."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.caller import until
from tests.harness import PATIENCE_S, free_port
from tests.integration.kube.certificates import authority, signed

ETCD, APISERVER = shutil.which("etcd"), shutil.which("kube-apiserver")
MISSING = None if ETCD and APISERVER else "kube-apiserver or etcd is not on PATH: use make tools"
ADMIN = "the-token-of-the-administrator"


class Cluster:
    """A control plane; its methods speak to it as its administrator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = authority(folder, "ca")
        self._pair = signed(folder, "apiserver", by=self.ca)
        self._accounts = signed(folder, "accounts", by=self.ca)  # signs tokens
        (folder / "tokens.csv").write_text(f"{ADMIN},admin,1,system:masters\n")
        self.port, self._etcd_port, self._peer_port = free_port(), free_port(), free_port()
        self._etcd: subprocess.Popen[bytes] | None = None
        self._apiserver: subprocess.Popen[bytes] | None = None
        self._trust = ssl.create_default_context(cafile=str(self.ca.certificate))

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it answers."""
        if not self._etcd:
            etcd = f"http://127.0.0.1:{self._etcd_port}"
            peer = f"http://127.0.0.1:{self._peer_port}"
            self._etcd = self._spawn(
                ETCD, f"--data-dir={self.folder / 'etcd'}", f"--listen-client-urls={etcd}",
                f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
            )  # fmt: skip
        self._apiserver = apiserver = self._spawn(
            APISERVER, f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--tls-cert-file={self._pair.certificate}",
            f"--tls-private-key-file={self._pair.key}",
            f"--token-auth-file={self.folder / 'tokens.csv'}", "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._accounts.certificate}",
            f"--service-account-signing-key-file={self._accounts.key}",
            "--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
            # Nobody makes the account that this one would give to each pod.
            "--disable-admission-plugins=ServiceAccount",
        )  # fmt: skip

        def ready() -> bool:
            assert apiserver.poll() is None, self._log(APISERVER).read_text()[-4000:]
            try:
                self.call("GET", "/readyz")
                self.call("GET", "/api/v1/namespaces/default")
            except (OSError, ValueError):
                return False
            return True

        until(ready, "kube-apiserver is ready", 4 * PATIENCE_S)

    def kill_apiserver(self) -> None:
        _kill(self._apiserver)

    def stop(self) -> None:
        _kill(self._apiserver)
        _kill(self._etcd)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer; of PATCH, a merge. Raises urllib's HTTPError and URLError."""
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {ADMIN}", "Content-Type": content},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=PATIENCE_S, context=self._trust) as answer:
            text = answer.read()
        return json.loads(text) if text.startswith(b"{") else text

    def account(self, name: str) -> None:
        """A ServiceAccount that may do nothing."""
        metadata = {"name": name, "namespace": "default"}
        self.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": metadata})

    def allow(self, name: str) -> None:
        """What an exporter needs, and no more."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
        self.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": subjects}
        self.call("POST", f"{rbac}/clusterrolebindings", binding)

    def namespace(self, name: str) -> None:
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def token(self, account: str) -> str:
        path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
        return str(self.call("POST", path, {"spec": {}})["status"]["token"])

    def compact(self) -> None:
        """Makes etcd forget all but the newest version of everything."""
        revision = self._etcd_call("kv/range", {"key": "AA=="})["header"]["revision"]
        self._etcd_call("kv/compaction", {"revision": revision, "physical": True})

    def _etcd_call(self, what: str, body: object) -> Any:
        url = f"http://127.0.0.1:{self._etcd_port}/v3/{what}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), PATIENCE_S) as answer:
            return json.load(answer)

    def _spawn(self, binary: str | None, *arguments: str) -> subprocess.Popen[bytes]:
        assert binary
        with self._log(binary).open("ab") as log:
            return subprocess.Popen([binary, *arguments], stdout=log, stderr=log)

    def _log(self, binary: str | None) -> Path:
        return self.folder / f"{Path(binary or '').name}.log"


def _kill(process: subprocess.Popen[bytes] | None) -> None:
    if process:
        process.kill()
        process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """One that is ready; it is ended at the end."""
    it = Cluster(folder)
    try:
        it.start()
        yield it
    finally:
        it.stop()
