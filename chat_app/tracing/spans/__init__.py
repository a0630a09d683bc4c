"""OpenTelemetry spans and timings of turns."""
