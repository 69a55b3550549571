"""The project's own gate over histories and figures: what runs on which store, drills of faults, benchmarks; thin."""
