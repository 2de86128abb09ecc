"""The pods of this node, known from the Kubernetes API by list and watch.

Built on the standard library's http.client and ssl: on top of what the exporter imports anyway,
urllib3 costs 2.6 MiB of resident memory more than these do, and the official `kubernetes` client
42 MiB, and the part that matters here - what to do when the server is away, slow or wrong - is ours
in any case. HTTP and TLS are imported when the first `PodWatch` is made; other configs pay nothing.
"""

from exporter.metadata.kubernetes.settings import Settings
from exporter.metadata.kubernetes.store import Pods
from exporter.metadata.kubernetes.watch import PodWatch

__all__ = ["PodWatch", "Pods", "Settings"]
