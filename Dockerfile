# The image: Debian's Python and bcc with what they link, and a locked virtual environment.
#
#   podman build --format docker -t proctree-exporter .     (or: docker build -t proctree-exporter .)
#
# `make image` does that with labels and, where no registry can be reached, from a base of its own.
# docs/image.md says what is in it, and why.

# Where everything is taken from; nothing of it stays as such. Its packages are brought up to date.
ARG BASE=docker.io/library/debian:bookworm-slim@sha256:e899040a73d36e2b36fa33216943539d9957cba8172b858097c2cabcdb20a3e2

# What a machine needs to reach its mirrors comes as secrets, so that it is in no layer: settings of
# apt and of pip, certificates to trust. None of them is required.
FROM ${BASE} AS debian
RUN --mount=type=secret,id=apt,target=/etc/apt/apt.conf.d/99build,required=false \
    export DEBIAN_FRONTEND=noninteractive \
 && apt-get -qq update \
 && apt-get -qq upgrade \
 && apt-get -qq install --no-install-recommends \
        ca-certificates python3-bpfcc python3-seccomp python3-venv

FROM debian AS collected
COPY scripts/image/collect.py /build/
RUN /build/collect.py /image

FROM debian AS installed
WORKDIR /build
# requirements-grpc.txt has what OTLP over gRPC needs as well, 19 MB more.
ARG REQUIREMENTS=requirements.txt
COPY requirements*.txt ./
RUN --mount=type=secret,id=pip,target=/etc/pip.conf,required=false \
    --mount=type=secret,id=ca,required=false \
    python3 -m venv tools \
 && python3 -m venv --without-pip --system-site-packages /opt/proctree-exporter \
 && tools/bin/pip install --quiet --require-hashes -r requirements-build.txt \
 && tools/bin/pip --python /opt/proctree-exporter/bin/python \
        install --quiet --no-compile --require-hashes -r $REQUIREMENTS
COPY . ./
RUN tools/bin/pip wheel --quiet --no-deps --no-build-isolation --no-index . \
 && tools/bin/pip --python /opt/proctree-exporter/bin/python \
        install --quiet --no-compile --no-deps --no-index *.whl \
 && rm /opt/proctree-exporter/bin/[Aa]ctivate* \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/proctree-exporter

FROM scratch
COPY --from=collected /image /
COPY --from=installed /opt/proctree-exporter /opt/proctree-exporter
COPY scripts/image/healthcheck.py /opt/proctree-exporter/bin/healthcheck
COPY config/default.yaml /etc/proctree-exporter/config.yaml
COPY LICENSE /usr/share/doc/proctree-exporter/copyright

# The certificates are one file: OpenSSL's own folder of links is not here.
ENV PATH=/opt/proctree-exporter/bin:/usr/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt

# Root, because Kubernetes gives no other user the capabilities that are needed (docs/image.md).
USER 0:0
EXPOSE 9847
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["healthcheck"]
ENTRYPOINT ["proctree-exporter"]
CMD ["serve", "--config.file=/etc/proctree-exporter/config.yaml"]

# Last, because they change with each commit.
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=
LABEL org.opencontainers.image.title="proctree-exporter" \
      org.opencontainers.image.description="Counts and times the system calls of whole process trees, exactly, for Prometheus and OpenTelemetry" \
      org.opencontainers.image.licenses="GPL-2.0-only" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
