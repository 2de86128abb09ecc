"""The Resource of the exporter itself, with which its own health goes out."""

from __future__ import annotations

from collections.abc import Mapping

from exporter.model.resource import HOST_ID, HOST_NAME, INSTANCE, SERVICE_NAME, Place, Resource
from exporter.publish.otlp.names import SCOPE


def own_resource(
    place: Place, deployment: Mapping[str, str], service_name: str | None, version: str
) -> Resource:
    """What its deployment says of it (`Settings.resource`, `.service_name`), over what is known."""
    found = {
        HOST_NAME: place.host.name,
        HOST_ID: place.host.id,
        INSTANCE: place.host.id,
        "k8s.node.name": place.host.node,
        "service.version": version,
        **deployment,
        SERVICE_NAME: service_name or SCOPE,
    }
    return tuple(sorted((key, text) for key, text in found.items() if text))
