"""Algorithms: a paper is one composition of parts, under its name."""

from quintain.algorithms.control import bapo, clip_cov, kl_cov, r2vpo
from quintain.algorithms.dapo import dapo
from quintain.algorithms.dppo import dppo, minirl
from quintain.algorithms.dr_grpo import dr_grpo
from quintain.algorithms.grpo import grpo
from quintain.algorithms.guarded import aepo_guess, capo, drpo, safe
from quintain.algorithms.likelihood import (
    direct_advantage_guess,
    dpo,
    dsrl_guess,
    fcp,
    nsr,
    prerl_guess,
    rl_co,
    trimpi_guess,
    variational,
)
from quintain.algorithms.mismatch import decoupled_ppo, geo_rejection, icepop, tis
from quintain.algorithms.ppo import ppo, ppo_max
from quintain.algorithms.record import Algorithm, assemble, preset
from quintain.algorithms.reinforce import reinforce
from quintain.algorithms.rloo import rloo
from quintain.algorithms.sequences import fiberpo_apc_guess, fiberpo_guess, gmpo, gspo, minpro
from quintain.algorithms.soft import cispo, rift, sapo
from quintain.algorithms.steering import ace_guess, epo, vcpo

__all__ = [
    "Algorithm",
    "assemble",
    "preset",
    "reinforce",
    "grpo",
    "dr_grpo",
    "rloo",
    "dapo",
    "ppo",
    "ppo_max",
    "dppo",
    "minirl",
    "gspo",
    "gmpo",
    "minpro",
    "fiberpo_guess",
    "fiberpo_apc_guess",
    "cispo",
    "sapo",
    "rift",
    "r2vpo",
    "bapo",
    "vcpo",
    "capo",
    "drpo",
    "safe",
    "aepo_guess",
    "nsr",
    "prerl_guess",
    "dsrl_guess",
    "fcp",
    "trimpi_guess",
    "variational",
    "dpo",
    "direct_advantage_guess",
    "rl_co",
    "ace_guess",
    "epo",
    "clip_cov",
    "kl_cov",
    "decoupled_ppo",
    "tis",
    "icepop",
    "geo_rejection",
]
