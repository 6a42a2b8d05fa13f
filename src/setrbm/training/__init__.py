"""Training: sources of labelled sets, the loop over epochs, early stopping, progress. Knows no engine's insides."""

from setrbm.training.loop import Trainee, train
from setrbm.training.monitor import Epoch, Monitor, Monitors, PrintingMonitor
from setrbm.training.schedule import HISTORY, Outcome, Schedule, nothing_learned
from setrbm.training.sources import InMemory, Part, Source, Streamed, hold_out
from setrbm.training.start import initial_params

__all__ = [
    "HISTORY",
    "Epoch",
    "InMemory",
    "Monitor",
    "Monitors",
    "Outcome",
    "Part",
    "PrintingMonitor",
    "Schedule",
    "Source",
    "Streamed",
    "Trainee",
    "hold_out",
    "initial_params",
    "nothing_learned",
    "train",
]
