"""The slide engine: crates that are pushed, tiles that slide, lamps that switch their neighbours, discs on pegs."""
