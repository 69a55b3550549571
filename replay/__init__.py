"""The project's own gate over histories and figures: which histories run where, drills of faults, benchmarks. Thin on purpose."""
