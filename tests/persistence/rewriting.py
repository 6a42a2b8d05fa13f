"""Model files changed on purpose, with a checksum that fits."""

import copy
import json

from safetensors.numpy import save_file

from setrbm.persistence import model_file


def contents(path):
    """Return the header and the arrays of a model file."""
    stored = model_file.read(path)
    return {"format": model_file.FORMAT, "kind": stored.kind, **stored.description}, stored.arrays


def write(path, header, arrays):
    """Write a model file with a checksum that fits."""
    header["digest"] = model_file.digest(header, arrays)
    save_file(arrays, path, metadata={model_file.METADATA: json.dumps(header)})


def rewrite(path, change):
    """Change the header and the arrays of a model file in place."""
    header, arrays = contents(path)
    arrays = copy.deepcopy(arrays)
    change(header, arrays)
    write(path, header, arrays)
