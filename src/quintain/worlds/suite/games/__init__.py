"""Games against an opponent."""
