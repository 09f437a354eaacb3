"""What tests of worlds, envs and parts stand on; your own may import it too."""
