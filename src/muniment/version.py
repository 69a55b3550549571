"""The one place that knows which release this is; pyproject.toml reads it from here."""

__version__ = "0.1.0"
