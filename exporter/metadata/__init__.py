"""What is known of containers beside their cgroups; each source keeps itself current."""
