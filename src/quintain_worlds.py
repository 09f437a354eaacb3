"""What verifiers finds by the id `quintain-worlds`; see `quintain.envs.adapters.verifiers`."""

from quintain.envs.adapters.verifiers import types

WorldTaskset, WorldEnv = types()
__all__ = ["WorldEnv", "WorldTaskset"]
