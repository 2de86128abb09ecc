"""The head of an HTTP request: all of it but the length, made once."""

from __future__ import annotations

from urllib.parse import urlsplit

from exporter import __version__
from exporter.publish.otlp.endpoint import Endpoint
from exporter.publish.otlp.proxy import Proxy

USER_AGENT = f"proctree-exporter/{__version__}"


def head_of(endpoint: Endpoint, proxy: Proxy | None) -> bytes:
    """Up to the value of Content-Length, which is last.

    URL and headers are as settings allow them: ASCII without control characters.
    """
    target = urlsplit(endpoint.url).path or "/"
    headers = {name.lower(): value for name, value in endpoint.headers}
    if proxy and not endpoint.tls:
        target = f"http://{host_of(endpoint)}{target}"
        if proxy.authorization:
            headers["proxy-authorization"] = proxy.authorization
    lines = [
        f"POST {target} HTTP/1.1",
        f"host: {host_of(endpoint)}",
        f"user-agent: {USER_AGENT}",
        "content-type: application/x-protobuf",
        *(f"{name}: {value}" for name, value in headers.items()),
        *(["content-encoding: gzip"] if endpoint.gzip else []),
        "content-length: ",
    ]
    return "\r\n".join(lines).encode()


def tunnel_head_of(endpoint: Endpoint, proxy: Proxy) -> bytes:
    """Asks the proxy for a way to the endpoint, through which we then speak TLS."""
    where = host_of(endpoint, usual_port=True)
    lines = [f"CONNECT {where} HTTP/1.1", f"host: {where}", f"user-agent: {USER_AGENT}"]
    if proxy.authorization:
        lines.append(f"proxy-authorization: {proxy.authorization}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def host_of(endpoint: Endpoint, usual_port: bool = False) -> str:
    """Host and port as a URL has them; the scheme's own port only where it is wanted."""
    host, usual = endpoint.host, 443 if endpoint.tls else 80
    host = f"[{host}]" if ":" in host else host
    port = endpoint.port(usual)
    return f"{host}:{port}" if usual_port or port != usual else host
