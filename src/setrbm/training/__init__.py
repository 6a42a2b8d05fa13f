"""Training: sources of labeled sets, the loop over epochs, early stopping, monitors. Knows no engine's insides."""

from setrbm.training.early_stopping import HISTORY as HISTORY
from setrbm.training.early_stopping import Outcome as Outcome
from setrbm.training.early_stopping import Schedule as Schedule
from setrbm.training.early_stopping import nothing_learned as nothing_learned
from setrbm.training.loop import Training as Training
from setrbm.training.loop import train as train
from setrbm.training.monitor import Epoch as Epoch
from setrbm.training.monitor import Monitor as Monitor
from setrbm.training.monitor import Monitors as Monitors
from setrbm.training.monitor import Phase as Phase
from setrbm.training.monitor import PrintingMonitor as PrintingMonitor
from setrbm.training.sources import InMemory as InMemory
from setrbm.training.sources import Part as Part
from setrbm.training.sources import Source as Source
from setrbm.training.sources import Streamed as Streamed
from setrbm.training.sources import folds as folds
from setrbm.training.sources import hold_out as hold_out
