"""Questions about drawn graphs."""
