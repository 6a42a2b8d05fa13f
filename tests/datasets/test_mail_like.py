import numpy as np
import pytest

from setrbm.datasets import make_mail_like
from setrbm.datasets.mail_like import COLLECTIONS
from setrbm.datasets.mail_plan import NOWHERE, ONE_PAGE, PAGE_TYPES, TWO_PAGES, class_shares

N_WORDS = 10_000


@pytest.fixture(scope="module")
def mail():
    return make_mail_like(2000, random_state=0, return_plan=True)


def words_of(bags):
    return bags.X[:, :N_WORDS]


def test_pages_have_10000_binary_words_and_83_values_between_0_and_1(mail):
    bags, _, _ = mail
    assert bags.shape == (2000, N_WORDS + 48 + 17 + 18)
    assert bags.n_vectors == round(2000 * 102_071 / 14_593)
    assert bags.is_sparse and bags.dtype == np.float32
    assert set(words_of(bags).data) == {1.0}
    values = bags.X[:, N_WORDS:].data
    assert values.min() > 0.0 and values.max() <= 1.0
    assert len(np.unique(values)) > 1000
    assert bags.feature_names[N_WORDS] == "gray 0,0" and bags.feature_names[-1] == "detector: blank page"


@pytest.mark.parametrize("collection", ["DsDe", "DsUs"])
def test_a_whole_collection_has_the_paper_s_number_of_sets_pages_and_classes(collection):
    n_sets, n_pages, settings = COLLECTIONS[collection]
    bags, y = make_mail_like(collection=collection, random_state=0, n_words=200, words_per_page=5.0)
    assert (len(bags), bags.n_vectors) == (n_sets, n_pages)
    assert len(np.unique(y)) == settings.n_classes == {"DsDe": 11, "DsUs": 6}[collection]


def test_set_sizes_are_log_normal_and_words_follow_zipf(mail):
    bags, _, _ = mail
    logs = np.log(bags.sizes)
    assert np.abs(((logs - logs.mean()) ** 3).mean() / logs.std() ** 3) < 0.5
    assert bags.sizes.max() > 5 * np.median(bags.sizes)
    counts = np.sort(np.asarray(words_of(bags).sum(axis=0)).ravel())[::-1]
    assert counts[0] > 5 * counts[200] > 10 * counts[5000]


def test_classes_have_skewed_shares_and_a_few_labels_are_wrong():
    _, y, plan = make_mail_like(20_000, random_state=1, return_plan=True, n_words=200, words_per_page=5.0)
    shares = np.bincount(plan.true_classes) / len(y)
    np.testing.assert_allclose(shares, class_shares(COLLECTIONS["DsDe"][2]), atol=0.012)
    assert shares[0] > 4 * shares[-1]
    assert (y != plan.true_classes).mean() == pytest.approx(0.02, abs=0.004)


def test_evidence_is_on_one_page_on_two_or_nowhere(mail):
    bags, _, plan = mail
    n_evidence = np.add.reduceat(plan.evidence, bags.offsets[:-1])
    assert (n_evidence == plan.kinds).all()
    assert {NOWHERE, ONE_PAGE, TWO_PAGES} == set(plan.kinds)
    for k in range(len(bags)):
        subjects = plan.subjects[bags.offsets[k] : bags.offsets[k + 1]]
        true, found = plan.true_classes[k], set(subjects[subjects >= 0])
        assert found == {NOWHERE: set(), ONE_PAGE: {true}, TWO_PAGES: {true - 1, true - 2}}[plan.kinds[k]]
    # Only every third class is a compound of the two before it.
    assert set(plan.true_classes[plan.kinds == TWO_PAGES]) == {2, 5, 8}


def test_pages_about_one_subject_share_words_and_other_pages_do_not(mail):
    bags, _, plan = mail
    X = words_of(bags)
    same_type = plan.types == plan.types[plan.subjects == 0][0]
    parts = (same_type & (plan.subjects == 0), same_type & ~plan.evidence)
    about, rest = (np.asarray(X[rows].mean(axis=0)).ravel() for rows in parts)
    typical = about > rest + 0.15
    assert 20 <= typical.sum() <= 60
    assert about[typical].mean() > 5 * rest[typical].mean()


def test_pages_without_evidence_are_the_same_in_every_class(mail):
    _, _, plan = mail
    page_class = np.repeat(plan.true_classes, np.diff(plan.offsets))
    of_class = [np.bincount(plan.types[~plan.evidence & (page_class == k)], minlength=18) for k in (0, 1)]
    np.testing.assert_allclose(*(counts / counts.sum() for counts in of_class), atol=0.03)


def test_the_detector_of_a_page_s_type_answers_most(mail):
    bags, _, plan = mail
    detectors = bags.X[:, -len(PAGE_TYPES) :].toarray()
    assert (detectors.argmax(axis=1) == plan.types).mean() > 0.95


def test_misread_words_are_lost_or_read_as_rare_words():
    clean, noisy = (
        make_mail_like(1000, random_state=0, word_errors=(errors, errors))[0].X[:, :N_WORDS] for errors in (0.0, 0.5)
    )
    assert noisy.nnz < 0.95 * clean.nnz
    rare = slice(N_WORDS // 2, None)
    assert noisy[:, rare].nnz > 1.3 * clean[:, rare].nnz


def test_mail_depends_on_the_seed_only(mail):
    bags, y, _ = mail
    again, y_again = make_mail_like(2000, random_state=0)
    assert (again.X != bags.X).nnz == 0
    assert (y == y_again).all()
    assert make_mail_like(2000, random_state=1)[0].X.nnz != bags.X.nnz


def test_another_problem_has_other_words_for_its_subjects():
    typical = []
    for problem in (0, 0, 1):
        bags, _, plan = make_mail_like(1500, random_state=len(typical), return_plan=True, problem=problem)
        about = np.asarray(words_of(bags)[plan.subjects == 0].mean(axis=0)).ravel()
        rest = np.asarray(words_of(bags)[~plan.evidence].mean(axis=0)).ravel()
        typical.append(set(np.argsort(rest - about)[:30]))
    assert len(typical[0] & typical[1]) > 20
    assert len(typical[0] & typical[2]) < 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_sets": 3}, "one set of each class. Got 3 sets, 11 classes"),
        ({"n_classes": 2}, "n_classes must be at least 3"),
        ({"pages_per_set": 0.5}, "pages_per_set must lie between 1 and inf. Got 0.5"),
        ({"words_per_page": 9000}, "words_per_page must lie between 1 and 5000"),
        ({"evidence_share": 1.5}, "evidence_share must lie between 0 and 1"),
        ({"two_pages": 0.7, "nowhere": 0.5}, "nowhere must lie between 0 and 0.3. Got 0.5"),
        ({"word_errors": (0.5, 0.1)}, "two shares in increasing order"),
        ({"collection": "DsFr"}, "collection must be one of 'DsDe', 'DsUs'. Got 'DsFr'"),
    ],
)
def test_impossible_mail_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_mail_like(**{"n_sets": 30} | settings)


def test_an_unknown_setting_is_named():
    with pytest.raises(TypeError, match="Settings of mail are n_classes, .* Got 'pages'"):
        make_mail_like(30, pages=3)
