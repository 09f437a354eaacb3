"""Precision plans: which dtype the forward pass runs in, and loss scaling where its range is too small for gradients.

Weights, gradients and optimizer state stay float32 in every plan; matrix products run in the plan's dtype.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from quintain.models.quantised import quantise
from quintain.registry import register
from quintain.types import QuintainError, check

log = logging.getLogger("quintain.learn")
_said: set[str] = set()
MALLOC = {-3: 1 << 25, -1: 1 << 29}  # glibc's M_MMAP_THRESHOLD (32 MiB is its largest) and M_TRIM_THRESHOLD, in bytes
ORDERED_CUBLAS = (":4096:8", ":16:8")  # workspaces with which cuBLAS adds in one order


class DeviceError(QuintainError):
    """A device was named that torch does not know."""


@dataclass(slots=True, kw_only=True)
class LossScale:
    """Dynamic loss scaling: the loss is multiplied by `value` before backward so that small gradients survive fp16.

    After an overflow the step is skipped and `value` is multiplied by `backoff`; after `growth_interval` clean steps
    in a row it is multiplied by `growth`. Gradients are divided by `value` before they are clipped.

    Args:
        value: scale now, > 0.
        growth: factor, > 1.
        backoff: factor, in (0, 1).
        growth_interval: clean steps before growing.
        floor: the scale is never below this; an overflow at the floor is a real divergence, not one of range.

    Example:
        >>> scale = LossScale(value=8.0, growth_interval=2)
        >>> [scale.update(overflow) for overflow in (True, False, False)]
        [4.0, 4.0, 8.0]

    Reference: arXiv 1710.03740.
    """

    value: float = 65536.0
    growth: float = 2.0
    backoff: float = 0.5
    growth_interval: int = 2000
    floor: float = 1.0
    clean: int = field(default=0)

    def __post_init__(self) -> None:
        check(self.value >= self.floor > 0, f"loss scale is {self.value}; it must be >= the floor {self.floor} > 0")
        check(self.growth > 1, f"growth is {self.growth}; it must be > 1")
        check(0 < self.backoff < 1, f"backoff is {self.backoff}; it must lie in (0, 1)")
        check(self.growth_interval >= 1, f"growth_interval is {self.growth_interval}; it must be >= 1")

    def update(self, overflow: bool) -> float:
        """Take note of one step, and return the scale of the next."""
        if overflow:
            self.value, self.clean = max(self.floor, self.value * self.backoff), 0
            return self.value
        self.clean += 1
        if self.clean == self.growth_interval:
            self.value, self.clean = self.value * self.growth, 0
        return self.value

    def state(self) -> dict[str, float]:
        """What a checkpoint keeps."""
        return {"value": self.value, "clean": self.clean}

    def load(self, state: Mapping[str, float]) -> None:
        """Continue from `state()`."""
        self.value, self.clean = float(state["value"]), int(state["clean"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """A plan: `dtype` of the matrix products, the loss scale if the plan has one, and whether linear layers are `quantised`."""

    name: str
    dtype: torch.dtype
    scale: LossScale | None = None
    quantised: bool = False

    def prepare(self, model: nn.Module) -> nn.Module:
        """The model as this plan computes with it, in engine and learner alike; low-rank factors are added afterwards."""
        return quantise(model) if self.quantised else model

    def cast(self, device: torch.device) -> torch.autocast:
        """The context of a forward pass; float32 leaves everything as it is."""
        lower = self.dtype != torch.float32
        return torch.autocast(device.type, self.dtype if lower else torch.bfloat16, enabled=lower)


@register("precision", "fp32")
def fp32() -> Precision:
    """float32 throughout: the choice on a CPU, where it agrees with the engine to 1e-6."""
    return Precision(name="fp32", dtype=torch.float32)


@register("precision", "bf16")
def bf16() -> Precision:
    """Products in bfloat16: faster on GPUs, and on CPUs from a width of about 512; logprobs are off by about 1e-3."""
    return Precision(name="bf16", dtype=torch.bfloat16)


@register(
    "precision",
    "fp16",
    methods={
        "FP16 in RL": {
            "cases": ("precision_rounding", "loss_scaling"),
            "confidence": "code",
            "shown": "tests/unit/learn/test_precision.py::test_scaling_the_loss_does_not_change_the_clipped_step",
        }
    },
    paper="2510.26788",
)
def fp16(scale: float = 65536.0, growth_interval: int = 400) -> Precision:
    """Products in float16 with dynamic loss scaling: an eighth of bf16's rounding, for GPUs; very slow on a CPU.

    Args:
        scale: loss scale to begin with.
        growth_interval: clean steps before the scale doubles.
    """
    return Precision(name="fp16", dtype=torch.float16, scale=LossScale(value=scale, growth_interval=growth_interval))


@register(
    "precision",
    "fp8",
    methods={
        "Jet-RL": {
            "confidence": "paper",
            "shown": "tests/unit/models/test_quantised.py::test_the_same_flow_on_both_sides_leaves_no_mismatch",
        }
    },
    paper="2601.14243",
)
def fp8() -> Precision:
    """Linear layers in FP8 (e4m3), emulated, in the learner and in its local engine alike: the precision flow is one (Jet-RL)."""
    return Precision(name="fp8", dtype=torch.float32, quantised=True)


def rounding(logits: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits [..., V] rounded to `dtype`, in their own type, and the errors of logprobs [..., V] that come of it, in nats.

    Example:
        >>> rounding(torch.tensor([1.0, 2.0]), torch.bfloat16)[1].tolist()
        [0.0, 0.0]
    """
    rounded = logits.to(dtype).to(logits.dtype)
    return rounded, torch.log_softmax(rounded, -1) - torch.log_softmax(logits, -1)


def pick_device(name: str = "auto") -> torch.device:
    """The device to compute on: `cpu`, `cuda`, `cuda:N`, or `auto` for a GPU if there is one.

    Special cases: a GPU that was asked for and is absent is said once in the log, and the CPU is taken.

    Raises:
        DeviceError: torch does not know the name.
    """
    present = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if present else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(f"unknown device {name!r}; use auto, cpu, cuda or cuda:N") from error
    if device.type == "cuda" and not present:
        if name not in _said:
            _said.add(name)
            log.warning(
                "device %s is not there (torch %s sees no CUDA GPU); running on the CPU", name, torch.__version__
            )
        return torch.device("cpu")
    return device


def named(device: torch.device) -> str:
    """What a device is called in what is printed, with the GPU that it is where the driver tells."""
    with contextlib.suppress(RuntimeError, AssertionError):  # a GPU that is there and cannot be used
        return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else f"{device}"
    return f"{device}"


def set_device(device: torch.device) -> torch.device:
    """Set a GPU as runs use it, before its first product; a CPU is that way already.

    Sums are made in a set order wherever torch can, so that equal runs give equal bits; it warns where it cannot. Attention goes without
    cuDNN, which plans anew for each shape of a batch and made bf16 steps several times as long on an H200.
    """
    if device.type == "cuda":
        room = os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ORDERED_CUBLAS[0])
        if room not in ORDERED_CUBLAS:
            log.warning("CUBLAS_WORKSPACE_CONFIG is %s, with which products may differ; unset it", room)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # pyrefly: ignore
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def set_threads(count: int) -> None:
    """Use `count` threads for the matrix products of this process; 1 is immune to other processes on the same cores.

    Also lets the C library keep freed memory, up to 512 MiB: activations are freed and wanted again at every step, and
    fresh pages from the system cost a tenth of the time of a small model.
    """
    torch.set_num_threads(count)
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a C library without mallopt
            libc = ctypes.CDLL(None)
            for option, size in MALLOC.items():
                libc.mallopt(option, size)
