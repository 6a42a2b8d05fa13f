"""The bars: what speed, memory and start-up must hold, fixed before anything was measured."""

from __future__ import annotations

from dataclasses import dataclass

RATIO, SECONDS, MIB, SETS_A_SECOND, COUNT = "x", "s", "MiB", "sets/s", ""


@dataclass(frozen=True)
class Bar:
    """One limit; ``benchmark`` names the file that measures it."""

    benchmark: str
    what: str
    limit: float
    at_most: bool = True
    unit: str = RATIO

    def is_met(self, value: float) -> bool:
        """Return whether a measured value keeps the limit."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g} {self.unit}".rstrip()


# 14,593 sets, 100 hidden units, float32, warm kernels, unless a line says otherwise.
BARS = {
    "epoch-xor-hard": Bar("epoch", "one epoch, XOR*, one set per step ÷ the forward product alone", 1.4),
    "epoch-soft": Bar("epoch", "one epoch, XOR soft and OR soft, one set per step ÷ the forward product alone", 2.2),
    "torch-1": Bar("peers", "sets per second ÷ torch with autograd at one set per step", 45, at_most=False),
    "torch-64": Bar("peers", "sets per second ÷ torch with autograd at 64 sets per step", 6, at_most=False),
    "predict": Bar("predict", "predict_proba ÷ the forward product alone", 1.2),
    "hybrid": Bar("hybrid", "hybrid XOR epoch ÷ discriminative epoch", 15),
    "memory": Bar("memory", "growth of peak memory in a second fit, beyond four times the parameters", 64, unit=MIB),
    "scaling": Bar("scaling", "time for ten times the sets ÷ time for one", 10.5),
    "stream": Bar("stream", "an epoch streamed from disk ÷ the same from memory, per set (1,000,000 sets)", 1.2),
    "musk": Bar(
        "musk", "Musk1, 5 x 10-fold, 6 learning rates, 400 epochs each with no early end, two cores", 90, unit=SECONDS
    ),
    "import": Bar("startup", "from setrbm import ClassSetRBM ÷ import sklearn.base", 1.2),
    "import-numba": Bar("startup", "modules of numba that import loads", 0, unit=COUNT),
    "first-fit": Bar("startup", "first fit ever, compilation included", 12, unit=SECONDS),
    "later-fit": Bar("startup", "first fit of a later process, beyond imports", 1, unit=SECONDS),
    "kernel-loop": Bar(
        "kernels", "miGraph kernel of Musk2: the loop from the definition ÷ ours, two cores", 100, at_most=False
    ),
    "kernel-cdist": Bar("kernels", "miGraph kernel of Musk2: one cdist a pair of sets ÷ ours", 10, at_most=False),
    "gpu-elephant": Bar("gpu", "a step of 1,200 models, Elephant, XOR*, on one H200", 0.17, unit="ms"),
    "gpu-musk2": Bar("gpu", "a step of 1,200 models, Musk2, XOR*, on one H200", 1.0, unit="ms"),
    "gpu-large": Bar("gpu", "an epoch of 16,808 mail-like sets, 256 per step, GPU ÷ CPU engine", 0.1),
    "kernel-memory": Bar("kernels", "kernel of 3,000 mail-like sets, growth of memory beyond the input", 256, unit=MIB),
}
