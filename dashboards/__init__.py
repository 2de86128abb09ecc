"""Grafana's dashboards, written as Python; `python -m dashboards.generate` makes the JSON."""
