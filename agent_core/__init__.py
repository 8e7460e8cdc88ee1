"""The part of Deskhand that knows neither Qt nor torch: look, ask the model, decide, act, record."""

__version__ = "0.1.0"
