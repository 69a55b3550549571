"""The front door: `open`, the `Runtime` with its noun groups, the catalogue of operations, rights, settings."""
