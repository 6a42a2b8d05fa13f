"""
More sets than memory holds
===========================

How do I train on data that do not fit in memory? Write the sets to files, called
shards, and give the estimator ``Shards`` in place of ``Bags``. Each pass maps one file
at a time into memory and shuffles the sets within it.
"""

# %%
# Write shards
# ------------
# Generated mail: a letter is a set of pages, a page is a sparse vector of words. In
# practice each part would come from a database or a parser, and ``write_shard`` would
# write one part at a time. Write the sets in random order: a shard with sets of one
# class only teaches badly.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from setrbm import ClassSetRBM
from setrbm.datasets import make_mail_like
from setrbm.shards import write_shards

train, y_train = make_mail_like(6000, n_classes=4, random_state=0)
test, y_test = make_mail_like(1000, n_classes=4, random_state=1)
folder = tempfile.TemporaryDirectory()
shards = write_shards(folder.name, train, y_train, sets_per_shard=750)
sizes = [path.stat().st_size / 2**20 for path in sorted(Path(folder.name).iterdir())]
print(
    f"{train}:\n{len(sizes)} shards, {sum(sizes):.1f} MiB in all, "
    f"at most {max(sizes):.1f} MiB each"
)

# %%
# Train from disk and from memory
# -------------------------------
# The same settings both ways. ``fit`` needs no labels here, because the shards hold
# them.

settings = {
    "n_hidden": 30,
    "learning_rate": 0.01,
    "max_epochs": 10,
    "random_state": 0,
}
from_disk = ClassSetRBM(**settings).fit(shards)
from_memory = ClassSetRBM(**settings).fit(train, y_train)
print(
    f"from disk:   accuracy {from_disk.score(test, y_test):.3f} "
    f"on {len(test)} new letters"
)
print(f"from memory: accuracy {from_memory.score(test, y_test):.3f}")

# %%
# Predictions take shards as well, one file at a time:

print(from_disk.predict_proba(shards).shape)
folder.cleanup()

# %%
# The curves differ a little, because sets are shuffled within a shard instead of across
# all of them, and because the held-out sets are others. They end at about the same
# place.

figure, axes = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
for name, model, color, marker in (
    ("disk", from_disk, "#D55E00", "o"),
    ("memory", from_memory, "#0072B2", "s"),
):
    losses = model.history_["held_out_loss"]
    axes.plot(
        np.arange(1, len(losses) + 1),
        losses,
        marker=marker,
        color=color,
        label=f"trained from {name}",
    )
axes.set(xlabel="epoch", ylabel="log loss on held-out sets", ylim=(0, None))
axes.legend()
plt.show()
