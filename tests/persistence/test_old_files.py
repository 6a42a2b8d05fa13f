"""The promise of docs/guide/saving.md: this version reads the files of all earlier formats.

The files under ``tests/data/models`` were written by ``make_model_files.py`` when each format was current. They must
never be written again: a change that fails here would make users' files unreadable.
"""

import json
from importlib.util import find_spec

import numpy as np
import pytest
from make_model_files import FOLDER, METHODS, N_CHECKED, OF_PAGES, input_of, plain

from setrbm import Bags, load, save
from setrbm.persistence.model_file import FORMAT, read
from setrbm.persistence.table import names

FILES = sorted(FOLDER.glob("format*/*.safetensors"))
needs_mail = pytest.mark.skipif(find_spec("setrbm_mail") is None, reason="needs the package setrbm-mail")
PARAMETERS = [
    pytest.param(path, id=f"{path.parent.name}-{path.stem}", marks=[needs_mail] if path.stem in OF_PAGES else [])
    for path in FILES
]


def record(path):
    return json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_file_of_an_earlier_version_gives_the_same_outputs(path):
    stored = record(path)
    bags = Bags.from_list([np.array(one) for one in stored["sets"]], feature_names=stored["names"])
    X = input_of(path.stem, bags)[:N_CHECKED]
    model = load(path)
    for name, expected in stored["outputs"][path.stem].items():
        got = plain(getattr(model, name)(X))
        if name == "predict":
            assert got.tolist() == expected
        else:
            # Other versions of BLAS add in another order.
            tolerance = 1e-6 if got.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("path", PARAMETERS)
def test_an_old_file_can_be_saved_in_the_present_format(path, tmp_path):
    model = load(path)
    save(model, tmp_path / "again")
    assert read(tmp_path / "again").description["format"] == FORMAT
    assert str(load(tmp_path / "again").get_params()) == str(model.get_params())


def test_there_is_a_file_of_every_kind_in_the_present_format():
    folder = FOLDER / f"format{FORMAT}"
    assert {read(path).kind for path in folder.glob("*.safetensors")} == set(names())
    assert {path.parent.name for path in FILES} == {f"format{k}" for k in range(1, FORMAT + 1)}


def test_every_file_has_outputs_to_compare_with():
    for path in FILES:
        assert set(record(path)["outputs"][path.stem]) & set(METHODS)


def test_the_first_format_kept_losses_and_gives_scores_now():
    model = load(FOLDER / "format1" / "ClassSetRBMCV.safetensors")
    assert model.best_score_ < 0.0
    assert model.cv_results_["mean_test_score"].max() == model.best_score_
    assert model.calibration_temperature_ == 1.0
