"""From pages to vectors: words as OCR leaves them, grid, layout, page types, all together, and in files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from made_pages import document, mail, page
from setrbm import ClassSetRBMCV, load, save
from setrbm.datasets.mail_plan import PAGE_TYPES
from setrbm.text import PageWords
from setrbm_mail import (
    Document,
    DocumentFeatures,
    Documents,
    PageGrid,
    PageLayout,
    PageTypes,
    document_classifier,
)
from setrbm_mail.features.blocks import grid_of, pages_of
from setrbm_mail.features.document_features import BLOCKS
from setrbm_mail.features.page_types import detectors, looks_of
from setrbm_mail.features.words import clean_words
from setrbm_mail.pages import LAYOUT, THUMBNAIL, Page


@pytest.mark.parametrize(
    ("words", "cleaned"),
    [
        (["Claim,", "(CLAIM)", "“claim”"], ["claim", "claim", "claim"]),
        (["c1aim", "c0ntract", "5ent"], ["claim", "contract", "sent"]),
        (["12.03.2020", "1,250.00", "A1", "40"], []),
        (["reim-", "bursement", "-"], ["reimbursement"]),
        (["\ufb01le", "\uff21\uff22\uff23"], ["file", "abc"]),
        (["well-known", "e-mail"], ["well-known", "e-mail"]),
        (["end-"], ["end"]),
        ([], []),
    ],
)
def test_words_are_cleaned_of_what_varies_with_ocr(words, cleaned):
    assert clean_words(words) == cleaned


def test_the_grid_is_the_mean_darkness_of_each_cell():
    rng = np.random.default_rng(0)
    thumbnail = rng.integers(0, 256, THUMBNAIL).astype(np.uint8)
    one = page()
    one = Page(**{**one.__dict__, "thumbnail": thumbnail})
    grid = grid_of([one]).reshape(8, 6)
    for row in range(8):
        for column in range(6):
            cell = thumbnail[4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
            assert grid[row, column] == pytest.approx(1.0 - cell.mean() / 255.0)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 5), (7, 0), (2, 4)])
def test_a_feature_of_the_grid_is_named_after_its_row_and_column(row, column):
    one = page()
    one.thumbnail[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 0
    bags = PageGrid().transform([document("a", one)])
    assert bags.feature_names[bags.X[0] > 0.0].tolist() == [f"gray {row + 1},{column + 1}"]


@pytest.mark.parametrize(("block", "n"), [(PageGrid, 48), (PageLayout, 17), (PageTypes, 18)])
def test_the_blocks_have_the_sizes_of_the_paper_and_names(block, n):
    documents, _ = mail(6)
    bags = block().fit_transform(documents)
    assert bags.shape == (6, n)
    assert bags.sizes.tolist() == [len(one) for one in documents]
    assert bags.feature_names.tolist() == block().get_feature_names_out().tolist()
    assert len(set(bags.feature_names)) == n
    assert (bags.X >= 0.0).all() and (bags.X <= 1.0).all()


def test_all_blocks_together_are_the_blocks_side_by_side():
    documents, y = mail(30)
    features = DocumentFeatures(blocks=BLOCKS)
    bags = features.fit_transform(documents, y)
    words = PageWords().fit([[" ".join(clean_words(one.words)) for one in doc.pages] for doc in documents], y)
    n_words = len(words.words_)
    assert bags.shape[1] == n_words + 48 + 17 + 18
    assert bags.feature_names[:n_words].tolist() == words.words_.tolist()
    dense = bags.X.toarray()
    for start, block in ((n_words, PageGrid), (n_words + 48, PageLayout), (n_words + 65, PageTypes)):
        expected = block().transform(documents).X
        np.testing.assert_allclose(dense[:, start : start + expected.shape[1]], expected, rtol=1e-6)
        names = block().get_feature_names_out()
        assert bags.feature_names[start : start + len(names)].tolist() == names.tolist()
    np.testing.assert_array_equal(features.transform(documents).X.toarray(), dense)


def test_words_are_the_only_features_unless_others_are_asked_for():
    documents, y = mail(30)
    words = DocumentFeatures(blocks=("words",)).fit_transform(documents, y)
    assert DocumentFeatures().fit_transform(documents, y).feature_names.tolist() == words.feature_names.tolist()
    assert document_classifier(None)[0].blocks == ("words",)
    assert document_classifier(None, blocks=("words", "types"))[0].blocks == ("words", "types")


@pytest.mark.parametrize("left_out", BLOCKS)
def test_any_block_can_be_left_out(left_out):
    documents, y = mail(30)
    everything = DocumentFeatures(blocks=BLOCKS).fit(documents, y).get_feature_names_out()
    rest = DocumentFeatures(blocks=tuple(one for one in BLOCKS if one != left_out)).fit(documents, y)
    own = DocumentFeatures(blocks=(left_out,)).fit(documents, y).get_feature_names_out()
    assert set(rest.get_feature_names_out()) == set(everything) - set(own)


def test_the_order_in_which_blocks_are_asked_for_does_not_matter():
    documents, y = mail(30)
    one, other = (DocumentFeatures(blocks=blocks).fit_transform(documents, y) for blocks in (BLOCKS, BLOCKS[::-1]))
    assert one.feature_names.tolist() == other.feature_names.tolist()
    np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())


def test_the_words_that_were_passed_are_not_fitted(tmp_path):
    documents, y = mail(30)
    words = PageWords(weights="binary", pairs=False)
    features = DocumentFeatures(words=words).fit(documents, y)
    assert features.words is words
    assert vars(words) == vars(PageWords(weights="binary", pairs=False))
    save(features, tmp_path / "features.safetensors")
    again = load(tmp_path / "features.safetensors")
    assert vars(again.words) == vars(words)
    assert again.words_.words_.tolist() == features.words_.words_.tolist()


@pytest.mark.parametrize("blocks", [(), ("word",), "words", ("words", "words"), None])
def test_unknown_blocks_are_refused(blocks):
    with pytest.raises(ValueError, match="blocks must be one or more of 'words', 'grid', 'layout', 'types'"):
        DocumentFeatures(blocks=blocks).fit(*mail(6))


def test_what_is_no_document_is_refused():
    with pytest.raises(
        TypeError, match="X must be Documents, as read_documents returns them. Got an object of class str"
    ):
        DocumentFeatures().fit(["text"], [0])
    with pytest.raises(
        ValueError, match="Got 1 without pages of 2 documents, the first at index 1. Use documents.readable"
    ):
        pages_of([document("a", page("text")), document("b")])
    with pytest.raises(ValueError, match="There must be at least one document"):
        pages_of([])


@pytest.mark.parametrize("was_fitted", [False, True])
def test_a_failed_fit_changes_nothing(was_fitted):
    features, (documents, y) = DocumentFeatures(blocks=("grid", "words")), mail(6)
    if was_fitted:
        features.fit(documents, y)
    before = vars(features).copy()
    with pytest.raises(ValueError, match="Got 1 without pages of 1 documents"):
        features.set_params(blocks=("layout",)).fit([document("a")])
    assert vars(features) == before | {"blocks": ("layout",)}


@pytest.mark.parametrize("blocks", [("words",), BLOCKS])
def test_a_pipeline_learns_documents_and_survives_a_file(blocks, tmp_path):
    documents, y = mail(60)
    model = make_pipeline(DocumentFeatures(blocks=blocks), ClassSetRBMCV.for_text(random_state=0)).fit(documents, y)
    new, truth = mail(60, seed=1)
    assert (model.predict(new) == truth).mean() > 0.9
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    assert clone(again[0]).get_params()["blocks"] == blocks


@pytest.mark.parametrize("blocks", [("words",), ("grid", "types")])
def test_features_of_some_blocks_survive_a_file(tmp_path, blocks):
    documents, y = mail(30)
    features = DocumentFeatures(blocks=blocks).fit(documents, y)
    save(features, tmp_path / "features.safetensors")
    again = load(tmp_path / "features.safetensors")
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(again.transform(documents).X.toarray(), features.transform(documents).X.toarray())


def test_detectors_see_thumbnail_layout_text_and_words():
    layout = np.linspace(0.0, 1.0, len(LAYOUT))
    looks = looks_of([page("the Invoice 12", dark=0.5, layout=layout)], ("claim", "invoice"))
    assert looks.shape == (1, 16 * 12 + 17 + 5 + 2)
    np.testing.assert_allclose(looks[0, :192], 1.0 - page(dark=0.5).thumbnail[0, 0] / 255.0)
    np.testing.assert_allclose(looks[0, 192:209], layout, atol=1e-6)
    assert looks[0, -2:].tolist() == [0.0, 1.0]
    assert looks[0, 210] == pytest.approx(2 / 12)


def test_scores_of_page_types_lie_between_0_and_1_and_tell_a_blank_page():
    scores = detectors().scores([page(), page("dear customer your invoice total amount due", dark=0.05)])
    assert scores.shape == (2, len(PAGE_TYPES))
    assert ((scores >= 0.0) & (scores <= 1.0)).all()
    blank = list(PAGE_TYPES).index("blank page")
    assert scores[0, blank] > scores[1, blank]


def golden_pages():
    """Pages with thumbnails, layouts and words that use every part of what the detectors see."""
    down, across = np.indices(THUMBNAIL)
    lines = np.where((down % 4 == 1) & (across > 3) & (across < 20), 90, 250)
    ruled = np.where((down % 6 == 0) | (across % 8 == 0), 40, 255)
    looks = {
        "": (np.full(THUMBNAIL, 255), 0.0),
        "Dear customer, please find your invoice 12,50 Total amount due 40 EUR": (lines, 0.1),
        "Name Date of birth Policy No. A12 Signature X": (ruled, 0.3),
        "PAY to the order of 1250 DOLLARS": (255 - 3 * down - 2 * across, 0.6),
    }
    return [
        replace(page(text, layout=level * np.linspace(0.0, 1.0, len(LAYOUT))), thumbnail=thumbnail.astype(np.uint8))
        for text, (thumbnail, level) in looks.items()
    ]


# Of the detectors that come with the package, one row per page of golden_pages.
GOLDEN = [
    [0.0274, 0.2201, 0.0624, 0.0003, 0.0033, 0.0002, 0.0, 0.0001, 0.075,
     0.0077, 0.0033, 0.0733, 0.2039, 0.0266, 0.0, 0.0003, 0.0655, 0.999],
    [0.0004, 0.9827, 0.0, 0.0001, 0.9938, 0.997, 0.0014, 0.4971, 0.0006,
     0.0, 0.0, 0.2146, 0.1982, 0.0727, 0.1544, 0.0472, 0.961, 0.0521],
    [0.038, 0.0001, 0.0009, 0.0, 0.0013, 0.0, 0.0482, 0.0007, 0.0,
     0.0, 1.0, 0.1007, 0.0, 0.0391, 1.0, 0.4683, 0.9997, 0.0311],
    [0.0, 0.8827, 0.0, 0.0, 0.0192, 0.0, 1.0, 0.0045, 0.0004,
     0.0, 0.4772, 0.0, 0.0002, 0.9938, 1.0, 1.0, 0.8759, 0.0],
]  # fmt: skip


def test_the_detectors_that_come_with_the_package_give_their_known_scores():
    np.testing.assert_allclose(detectors().scores(golden_pages()), GOLDEN, rtol=0, atol=1e-4)


def test_labels_in_another_order_than_the_documents_are_refused():
    read = Documents([Document(name, [], []) for name in "cab"])
    labels = pd.Series([0, 1, 1], index=list("abc"))
    with pytest.raises(ValueError, match="in another order: .* Use y.loc.X.ids"):
        DocumentFeatures().fit(read, labels)
    part = train_test_split(read, random_state=0)[0]
    assert isinstance(part, Documents) and len(part) == 2
