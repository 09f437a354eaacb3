"""One file or folder per engine: a state schema, a step, captions, pictures and an oracle."""
