"""The cards engine: betting, banking, bluffing and patience games over one deck and one painter."""
