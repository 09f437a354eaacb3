"""The geometry engine: figures asked about in one answer, pieces to fit, mirrors and rays, tiles to swap; all truth in integers."""
