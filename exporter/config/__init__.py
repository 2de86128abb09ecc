"""The config file: YAML in, a `Config` or all of its mistakes out.

catalog.py   every key there is, one entry each: name, kind, default, meaning
kinds.py     what a value may be: how it is read, how JSON Schema says it; more of these in
             lists.py, words.py, label_names.py, paths.py, cgroup_path.py, buckets.py, duration.py,
             calls.py, endpoint.py
load.py      the way in: `load(path)` and `parse(text, file)`
model.py     what comes out: `Config`, `Target`, `Histograms`, `Limits`, `KubernetesApi`, `Otlp`
schema.py    JSON Schema, generated from the catalog

On the way: compose.py (YAML's events -> nodes.py, strictly; scalar.py says what plain text is),
section.py (one mapping against the catalog), targets.py, selectors.py and spans.py (one target),
otlp.py, assemble.py (the whole) with checks.py, pattern_checks.py and span_checks.py (what concerns
several targets at once). report.py collects the mistakes.

web*.py read --web.config.file, which has keys of its own: web.py is its way in.
"""
