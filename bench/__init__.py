"""What the exporter costs, measured beside what else there is: `python -m bench`, as root.

All figures of one table come from one run on one machine. Nothing here fails because a figure is
bad: the table says what was reached.
"""
