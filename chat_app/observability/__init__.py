"""Metrics and logs of the served app: ids in every log line, JSON logs, an access log, Prometheus metrics.

Neither labels nor log lines contain text of a question or an answer. Labels contain no id either.
"""
