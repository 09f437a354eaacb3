"""Engines: whatever turns tokens into tokens. Each file matches the `Engine` port and registers its factory."""
