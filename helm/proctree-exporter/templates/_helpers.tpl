{{- define "proctree-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* As all charts do: a release that has the chart's name in its own is not called so twice. */}}
{{- define "proctree-exporter.fullname" -}}
{{- $name := include "proctree-exporter.name" . -}}
{{- $whole := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $whole .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "proctree-exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "proctree-exporter.serviceAccountName" -}}
{{- default (.Values.serviceAccount.create | ternary (include "proctree-exporter.fullname" .) "default") .Values.serviceAccount.name -}}
{{- end -}}

{{/* By these a DaemonSet knows its pods: they can never change. */}}
{{- define "proctree-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "proctree-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "proctree-exporter.labels" -}}
{{- $own := include "proctree-exporter.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/component" "metrics" -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- mergeOverwrite (deepCopy .Values.commonLabels) $own | toYaml -}}
{{- end -}}

{{/*
Metadata of a resource. Context: root, and where they differ from the usual: name, namespace, labels,
annotations, clusterWide.
*/}}
{{- define "proctree-exporter.metadata" -}}
metadata:
  name: {{ .name | default (include "proctree-exporter.fullname" .root) }}
  {{- if not .clusterWide }}
  namespace: {{ .namespace | default (include "proctree-exporter.namespace" .root) }}
  {{- end }}
  labels:
    {{- mergeOverwrite (deepCopy (.labels | default dict)) (include "proctree-exporter.labels" .root | fromYaml) | toYaml | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "proctree-exporter.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end -}}
{{- end -}}

{{/*
A hash of what a running exporter cannot change (exporter/config/fixed.py, and the first target
that needs the API server or the kernel's events). The rest it reads again, without a restart.
*/}}
{{- define "proctree-exporter.fixedAtStart" -}}
{{- $fixed := omit .Values.config "targets" "exclude" "static_labels" "keep_gone" | deepCopy -}}
{{- with $fixed.histograms }}{{ $_ := set $fixed "histograms" (omit . "buckets" "native") }}{{ end -}}
{{- range .Values.config.targets -}}
{{- if kindIs "map" . -}}
{{- if hasKey . "kubernetes" }}{{ $_ := set $fixed "asks the API" true }}{{ end -}}
{{- if hasKey . "spans" }}{{ $_ := set $fixed "has spans" true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $fixed | sha256sum -}}
{{- end -}}

{{/* Of the metrics' port. */}}
{{- define "proctree-exporter.scheme" -}}
{{- if .Values.webConfig.secretName }}{{ .Values.webConfig.scheme }}{{ else }}http{{ end -}}
{{- end -}}

{{/* A probe: what the values say, and how to ask. Context: root, probe, path. */}}
{{- define "proctree-exporter.probe" -}}
{{- $web := .root.Values.webConfig -}}
{{- toYaml .probe }}
{{- if not (or .probe.httpGet .probe.tcpSocket .probe.exec) }}
{{- if and $web.secretName $web.authentication }}
tcpSocket:
  port: metrics
{{- else }}
httpGet:
  path: {{ .path }}
  port: metrics
  scheme: {{ include "proctree-exporter.scheme" .root | upper }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
How to scrape, for ServiceMonitor and PodMonitor. Series of containers have `namespace`, `pod` and `container`
of their own, so ours must not be put beside or before them. Context: root, monitor.
*/}}
{{- define "proctree-exporter.endpoint" -}}
port: metrics
path: /metrics
scheme: {{ include "proctree-exporter.scheme" .root }}
honorLabels: true
{{- range $key := list "interval" "scrapeTimeout" "tlsConfig" "basicAuth" "authorization" }}
{{- with get $.monitor $key }}
{{ dict $key . | toYaml }}
{{- end }}
{{- end }}
relabelings:
  - targetLabel: job
    replacement: proctree-exporter
  - sourceLabels: [__meta_kubernetes_pod_node_name]
    targetLabel: node
  - sourceLabels: [__meta_kubernetes_pod_name]
    targetLabel: exporter_pod
  - regex: namespace|pod|container|service|endpoint
    action: labeldrop
  {{- with .monitor.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "proctree-exporter.scraping" -}}
selector:
  matchLabels:
    {{- include "proctree-exporter.selectorLabels" .root | nindent 4 }}
namespaceSelector:
  matchNames: [{{ include "proctree-exporter.namespace" .root }}]
scrapeProtocols:
  {{- toYaml .monitor.scrapeProtocols | nindent 2 }}
scrapeClassicHistograms: {{ .monitor.scrapeClassicHistograms }}
{{- if kindIs "bool" .monitor.scrapeNativeHistograms }}
scrapeNativeHistograms: {{ .monitor.scrapeNativeHistograms }}
{{- end }}
{{- with .monitor.sampleLimit }}
sampleLimit: {{ int64 . }}
{{- end }}
{{- end -}}
