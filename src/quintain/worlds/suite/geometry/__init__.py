"""Worlds of plane geometry: areas, angles, circles, hulls, mirrors, packing."""
