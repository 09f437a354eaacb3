"""Worlds of algorithms: what a procedure gives when it is carried out."""
