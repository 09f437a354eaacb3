"""Our worlds in the shapes of other libraries, and their environments as envs of ours; no peer is imported before it is asked for."""
