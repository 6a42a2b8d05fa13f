"""JSON lines of page texts: what is read, and how each fault is named by file, line and field."""

import gzip
import json

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from setrbm import ClassSetRBM
from setrbm.datasets import read_pages, read_sets
from setrbm.text import PageWords

RECORDS = [
    {"bag": "a", "label": "bill", "pages": ["Dear Sir,", "Amount: 40 €"], "date": "2011-01-01"},
    {"bag": "b", "label": "letter", "pages": [""]},
    {"bag": "c", "label": " bill ", "pages": ["one", "two", "three"]},
]


def written(folder, *lines, name="mail.jsonl"):
    """Write lines, given as text or as what they hold, and return the path."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return folder / name


def record(**changed):
    """Return a sound line with some fields changed; None leaves one out."""
    fields = {"bag": "a", "label": "bill", "pages": ["one"]} | changed
    return {name: value for name, value in fields.items() if value is not None}


# --- what is read ---


@pytest.mark.parametrize("name", ["mail.jsonl", "mail.ndjson", "MAIL.JSONL", "mail.jsonl.gz", "mail.ndjson.gz"])
def test_documents_labels_and_ids_are_read_from_every_kind_of_file(tmp_path, name):
    path = written(tmp_path, *RECORDS, name=name)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    texts = read_pages(path)
    assert texts.documents == [record["pages"] for record in RECORDS]
    assert texts.y.tolist() == ["bill", "letter", "bill"]
    assert texts.ids.tolist() == ["a", "b", "c"]
    assert repr(texts) == "PageTexts(3 documents, 6 pages)"


def test_blank_lines_and_a_byte_order_mark_do_not_count(tmp_path):
    path = written(tmp_path, "\ufeff" + json.dumps(RECORDS[0]), "", "  ", RECORDS[1])
    assert read_pages(path).ids.tolist() == ["a", "b"]


def test_without_ids_the_lines_are_numbered(tmp_path):
    path = written(tmp_path, record(bag=None), "", record(bag=None))
    assert read_pages(path).ids.tolist() == [1, 3]


def test_fields_may_have_other_names(tmp_path):
    path = written(tmp_path, {"id": 7, "class": True, "texts": ["one"]}, {"id": 8, "class": False, "texts": ["two"]})
    texts = read_pages(path, bag="id", label="class", pages="texts")
    assert (texts.documents, texts.ids.tolist(), texts.y.tolist()) == ([["one"], ["two"]], [7, 8], [True, False])


def test_labels_are_not_read_unless_needed(tmp_path):
    path = written(tmp_path, record(label=None), record(bag="b", label=[1]))
    assert read_pages(path, with_labels=False).y is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2], np.array([1, 2])),
        ([1.0, 2.0], np.array([1, 2])),
        ([1, 2.5], np.array([1.0, 2.5])),
        ([True, False], np.array([True, False])),
        (["1", "x"], np.array(["1", "x"], dtype=object)),
    ],
)
def test_labels_keep_their_type(tmp_path, labels, expected):
    path = written(tmp_path, *(record(bag=k, label=label) for k, label in enumerate(labels)))
    np.testing.assert_array_equal(read_pages(path).y, expected, strict=True)


def test_odd_values_in_other_fields_do_not_matter(tmp_path):
    line = '{"pages": ["one"], "label": "bill", "score": NaN, "id": 1e999, "more": {"pages": [[[]]]}}'
    assert read_pages(written(tmp_path, line)).documents == [["one"]]


def test_a_long_line_is_read(tmp_path):
    page = "word " * 4_000_000
    assert read_pages(written(tmp_path, record(pages=[page]))).documents == [[page]]


def test_parts_are_chosen_by_position_mask_and_slice(tmp_path):
    texts = read_pages(written(tmp_path, *RECORDS))
    assert texts[1] == [""]
    for key in ([2, 0], np.array([2, 0]), slice(None, None, -2)):
        assert texts[key].ids.tolist() == ["c", "a"]
    chosen = texts[np.array([True, False, True])]
    assert (chosen.documents, chosen.y.tolist()) == ([RECORDS[0]["pages"], RECORDS[2]["pages"]], ["bill", "bill"])
    assert read_pages(written(tmp_path, *RECORDS), with_labels=False)[:1].y is None


def test_texts_go_into_pipelines_and_cross_validation(tmp_path):
    lines = [{"label": "ab"[k % 2], "pages": ["some page", ["invoice due", "please cancel"][k % 2]]} for k in range(8)]
    texts = read_pages(written(tmp_path, *lines))
    model = make_pipeline(PageWords(), ClassSetRBM(4, scale=None, learning_rate=0.3, max_epochs=30, random_state=0))
    assert model.fit(texts, texts.y).score(texts, texts.y) == 1.0
    assert cross_val_score(model, texts, texts.y, cv=2).mean() == 1.0


# --- what is refused ---


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Every line must be one JSON object. Cannot read line 2 of '.*': Expecting .* at column 2."),
        ("bag,label,pages", "Cannot read line 2 of '.*': Expecting value at column 1"),
        pytest.param("[" * 100_000, "Cannot read line 2 of '.*': .*(recursion|overflow)", id="deep"),
        pytest.param("1" * 5000, "Cannot read line 2 of '.*': Exceeds the limit", id="digits"),
        ("[]", "Every line must be one JSON object. Got a list in line 2 of '.*'."),
        ("null", "Got null in line 2"),
        ("7.5", "Got a number in line 2"),
        ('"text"', "Got text in line 2"),
        ('{"label": "a", "label": "b", "pages": ["x"]}', "Cannot read line 2 of '.*': the name 'label' occurs twice."),
        (record(pages=None), "must have a value in the field 'pages'. Got 'bag', 'label' in line 2 of '.*'. Name the"),
        ({}, "Every line must have a value in the field 'pages'. Got no field in line 2 of "),
        (
            {"Pages": ["x"]},
            "Got 'Pages' in line 2 of '.*'; the nearest is 'Pages'. Name the field: pages=... in Python, --pages on",
        ),
        ('{"pages": null}', "Got null in line 2 of '.*'. Fill it in, or leave the line out."),
        (record(pages="one"), r"The field 'pages' must be a list of texts. Got text in line 2 of '.*'. One page is \["),
        (record(pages={"1": "one"}), "must be a list of texts. Got an object in line 2 of '.*'.$"),
        (
            record(pages=[]),
            "Every document must have at least one page. Got none in line 2 of '.*'. Leave the line out",
        ),
        (
            record(pages=["one", None]),
            "Every page must be text. Got null for page 2 in the field 'pages' of line 2 of .* without text is \"\".",
        ),
        (record(pages=["one", 7]), "Got a number for page 2 in the field 'pages' of line 2 of '.*'.$"),
        (record(label=None), "Every line must have a value in the field 'label'. Got 'bag', 'pages' in line 2 of"),
        (record(label=" "), "in the field 'label'. Got empty text in line 2 of '.*'. Fill it in"),
        (record(label=["bill"]), "Labels must be text, numbers, or true or false. Got a list in the field 'label' of"),
        (
            record(label=7),
            "Labels must be .*, of one kind in all lines. Got text in line 1 and a number in the field 'lab",
        ),
        (record(label=True), "Got text in line 1 and true or false in the field 'label' of line 2 of"),
        ('{"pages": ["x"], "label": NaN}', "Labels must be text, .* Got the number nan in the field 'label' of line 2"),
        ('{"pages": ["x"], "label": 1e999}', "Got the number inf in the field 'label' of line 2"),
        ('{"pages": ["x"], "label": "\\ud83d"}', "Got text that is not valid Unicode in the field 'label' of line 2"),
        (record(label=2**63), "Got a number of more than 64 bits in the field 'label' of line 2"),
        (record(bag=None), "Every line must have a value in the field 'bag'. Got 'label', 'pages' in line 2"),
        (record(bag=1.5), "Ids must be text or integers. Got the number 1.5 in the field 'bag' of line 2"),
        (record(bag=True), "Ids must be text or integers. Got true or false in the field 'bag' of line 2"),
        (record(bag=7), "Ids must be .*, of one kind in all lines. Got text in line 1 and a number in the field 'bag'"),
        (
            record(bag="first"),
            "Every document must have its own id. Got 'first' in lines 1 and 2 of '.*', field 'bag'.",
        ),
    ],
)
def test_a_bad_line_is_named_by_file_line_and_field(tmp_path, line, message):
    path = written(tmp_path, record(bag="first"), line)
    with pytest.raises(ValueError, match=message) as caught:
        read_pages(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must have at least one line with a JSON object. Got none"),
        (b"\n\n", "must have at least one line with a JSON object. Got none"),
        (b'{"pages": ["\xe9"]}\n', "must be text in UTF-8. Got the byte 0xe9 in line 1, byte 13"),
        (b"\x1f\x8b broken", "must be text in UTF-8"),
    ],
)
def test_a_file_that_is_not_text_is_refused(tmp_path, content, message):
    (tmp_path / "mail.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=f"mail.jsonl' {message}"):
        read_pages(tmp_path / "mail.jsonl")


def test_a_damaged_gzip_file_is_refused(tmp_path):
    path = written(tmp_path, *RECORDS, name="mail.jsonl.gz")
    for content in (path.read_bytes(), gzip.compress(path.read_bytes())[:-12]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="mail.jsonl.gz' must be a gzip file"):
            read_pages(path)


def test_a_missing_id_is_refused_where_the_field_was_named(tmp_path):
    with pytest.raises(
        ValueError, match="in the field 'id'. Got 'label', 'pages' in line 1 .* --bag on the command line"
    ):
        read_pages(written(tmp_path, record(bag=None)), bag="id")


def test_one_field_cannot_be_two_things(tmp_path):
    with pytest.raises(ValueError, match="bag, label and pages must be three fields. Got 'bag', 'pages' and 'pages'"):
        read_pages(written(tmp_path, *RECORDS), label="pages")


def test_files_are_known_by_their_names(tmp_path):
    with pytest.raises(
        ValueError, match=r"must end with one of .jsonl, .ndjson, .jsonl.gz, .ndjson.gz. Got 'mail.json'"
    ):
        read_pages("mail.json")
    with pytest.raises(FileNotFoundError, match="There is no file '.*none.jsonl'"):
        read_pages(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="A file of sets must hold numbers. Got '.*'. Read page texts with read_pages"):
        read_sets(written(tmp_path, *RECORDS))
