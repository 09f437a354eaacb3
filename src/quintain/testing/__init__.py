"""What tests of worlds, envs and parts stand on; your own may import it too."""

from quintain.testing.cases import run_case

__all__ = ["run_case"]
