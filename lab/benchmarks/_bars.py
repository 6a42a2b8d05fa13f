"""The bars: targets for speed, memory and start-up.

A bar that is missed stays, with its limit. One that was added because another was missed says so in its ``note``.
"""

from __future__ import annotations

from dataclasses import dataclass

RATIO, SECONDS, MIB, SETS_PER_SECOND, COUNT = "x", "s", "MiB", "sets/s", ""


@dataclass(frozen=True)
class Bar:
    """One target; ``benchmark`` names the file that measures it, ``note`` says when and why it was added later."""

    benchmark: str
    what: str
    limit: float
    at_most: bool = True
    unit: str = RATIO
    note: str = ""

    def is_met(self, value: float) -> bool:
        """Return whether a measured value meets the target."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.limit:g} {self.unit}".rstrip()


# 14,593 sets, 100 hidden units, float32, warm kernels, unless a line says otherwise.
BARS = {
    "torch-1": Bar(
        "peers",
        "sets per second ÷ PyTorch with autograd, one set per step",
        45,
        at_most=False,
        note="""
        met with 57.7 x on 2026-11-17 (and 8.14 x with 64 sets per step), missed on 2026-11-19 on a machine of the same
        name. In between, everything that is bound by Python's overhead became about twice as fast there (PyTorch with
        autograd from 2,577 to 5,403 sets/s, learnergy from 767 to 1,415, torchmil from 1,115 to 1,936). Ours had
        147,695 sets/s with two threads on one model and has 130,016 with one; on the later machine the second thread
        gained 3 % (decision 3), so it would not have met the target either.
        """,
    ),
    "torch-64": Bar("peers", "sets per second ÷ PyTorch with autograd, 64 sets per step", 6, at_most=False),
    "epoch-xor-hard": Bar("epoch", "epoch of XOR*, one set per step ÷ forward product", 1.4),
    "epoch-soft": Bar("epoch", "epoch of XOR soft and OR soft, one set per step ÷ forward product", 2.2),
    "predict": Bar("predict", "predict_proba ÷ forward product", 1.2),
    "hybrid": Bar("hybrid", "hybrid XOR epoch ÷ discriminative epoch", 15),
    "memory": Bar("memory", "growth of peak memory in a second fit, beyond four times the parameters", 64, unit=MIB),
    "scaling": Bar("scaling", "time for ten times the sets ÷ time for the sets", 10.5),
    "stream": Bar("stream", "epoch over 1,000,000 sets from disk ÷ from memory", 1.2),
    "musk": Bar(
        "musk", "Musk1, 5 x 10-fold, 6 learning rates, 400 epochs without early stopping, two cores", 90, unit=SECONDS
    ),
    "import": Bar("startup", "from setrbm import ClassSetRBM ÷ import sklearn.base", 1.2),
    "import-numba": Bar("startup", "numba modules loaded by the import", 0, unit=COUNT),
    "first-fit": Bar("startup", "first fit in a new environment, with compilation", 12, unit=SECONDS),
    "later-fit": Bar("startup", "first fit in a later process, without imports", 1, unit=SECONDS),
    "kernel-loop": Bar(
        "kernels", "miGraph kernel of Musk2: loop from the definition ÷ setrbm, two cores", 100, at_most=False
    ),
    "kernel-cdist": Bar("kernels", "miGraph kernel of Musk2: one cdist per pair of sets ÷ setrbm", 10, at_most=False),
    "gpu-elephant": Bar("gpu", "step of 1,200 models, Elephant, XOR*, on one H200", 0.17, unit="ms"),
    "gpu-musk2": Bar("gpu", "step of 1,200 models, Musk2, XOR*, on one H200", 1.0, unit="ms"),
    "gpu-large": Bar("gpu", "epoch over 16,808 mail-like sets, 256 per step, GPU time ÷ CPU time", 0.1),
    "busy": Bar("busy", "one busy process per core beside it: default number of threads ÷ n_jobs=1", 1.3),
    "musk-fit": Bar("fit", "fit of Musk1, one core: defaults ÷ former defaults", 2.5),
    "mail-fit": Bar("mail", "fit of XOR* on 14,593 pieces of mail, 100 hidden units, one core", 30, unit=SECONDS),
    "page-without-ocr": Bar(
        "documents", "page at 200 dpi without OCR: draw, layout, page types, one core", 0.15, unit=SECONDS
    ),
    "reading": Bar("documents", "reading scanned pages at 200 dpi ÷ tesserocr alone, all cores busy", 1.1),
    "ocr": Bar(
        "documents",
        "OCR of scanned pages at 200 dpi ÷ tesserocr alone, all cores busy",
        1.1,
        note="""
        added on 2026-11-18, hours after the target for all of reading was set and a first run had missed it with 1.38 x
        (no record of that run was kept). It shows what we add to tesserocr itself, without drawing the pages, their
        layout and the page types. Until 2026-11-19 this page showed it in place of the missed target.
        """,
    ),
    "text-layer-memory": Bar("documents", "growth of memory over 5,000 pages with a text layer", 64, unit=MIB),
    "ocr-memory": Bar("documents", "growth of memory over 500 pages by OCR", 64, unit=MIB),
    "dask-one": Bar("dask", "scoring files, one worker ÷ a bare process, sets per second", 0.8, at_most=False),
    "dask-two": Bar("dask", "scoring files, two workers ÷ one, sets per second", 1.6, at_most=False),
    "dask-task": Bar("dask", "overhead per task", 5, unit="ms"),
    "dask-reading": Bar("dask", "reading documents, two workers ÷ one", 1.6, at_most=False),
    "kernel-memory": Bar("kernels", "kernel of 3,000 mail-like sets, growth of memory beyond the input", 256, unit=MIB),
}
