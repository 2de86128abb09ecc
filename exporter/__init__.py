"""proctree-exporter: counts and times the system calls of whole process trees, exactly."""

__version__ = "0.1.0"
