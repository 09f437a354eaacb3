"""First-person worlds: a seat stands in a cell, turns by quarters, steps ahead, and sees what a fan of rays reaches."""
