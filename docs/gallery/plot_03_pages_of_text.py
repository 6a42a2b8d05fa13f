"""
Letters with several pages
==========================

Which department should a letter go to, and which of its pages says so? A letter is a
set of pages, and often only one of them matters: the others are terms and conditions,
forms or advertisements. Here the letters are made from lists of words; with your own
texts only the first cell changes.
"""

# %%
# Made-up letters
# ---------------
# A letter has 2 to 5 pages. One page has a few words of the letter's topic. All pages
# have general words, and now and then a word of any topic.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from setrbm import ClassSetRBMCV
from setrbm.text import PageWords

TOPICS = {
    "invoice": "amount due payment invoice total tax bank transfer balance price",
    "complaint": "broken disappointed refund damaged complaint repair faulty return",
    "cancellation": "cancel terminate contract end notice subscription expire stop",
}
GENERAL = """
    dear sir company customer office street number date letter please find enclosed
    information service page terms conditions apply offer new product website summer
    season thank you kind regards team member question order contact address copy
    reference general agreement section paragraph law privacy data
"""
OF_TOPIC = {topic: words.split() for topic, words in TOPICS.items()}
OF_ANY_TOPIC = " ".join(TOPICS.values()).split()


def make_page(rng, topic=None):
    """Return a page of 40 to 80 words; about one in twelve is of the topic, if any."""
    words = rng.choice(GENERAL.split(), rng.integers(40, 81)).astype(object)
    stray = rng.random(len(words)) < 1 / 50
    words[stray] = rng.choice(OF_ANY_TOPIC, stray.sum())
    if topic:
        of_topic = rng.random(len(words)) < 1 / 12
        words[of_topic] = rng.choice(OF_TOPIC[topic], of_topic.sum())
    return " ".join(words)


def make_letters(n_letters, seed):
    """Return for each letter a list of its pages, and its topic."""
    rng = np.random.default_rng(seed)
    letters, topics = [], rng.choice(list(TOPICS), n_letters)
    for topic in topics:
        pages = [make_page(rng) for _ in range(rng.integers(2, 6))]
        pages[rng.integers(len(pages))] = make_page(rng, topic)
        letters.append(pages)
    return letters, topics


train_letters, y_train = make_letters(150, seed=0)
test_letters, y_test = make_letters(300, seed=1)
print(train_letters[0][0][:120], "...")

# %%
# Train and test
# --------------
# ``PageWords`` turns each letter into a set with one sparse vector of word weights per
# page. Its vocabulary is that of the training letters, and is a part of the model.

model = make_pipeline(
    PageWords(), ClassSetRBMCV.for_text(n_hidden=30, random_state=0)
).fit(train_letters, y_train)
accuracy = model.score(test_letters, y_test)
print(f"accuracy {accuracy:.3f} on {len(test_letters)} new letters")

# %%
# Which page, which words?
# ------------------------
# Three letters. Left: the drop of each page, which is the decrease in the
# log-probability of the topic if the page is left out. An orange page decided: without
# it another topic is predicted. Right: the words that contributed most; a negative
# contribution is evidence against the topic.

test = model[:-1].transform(test_letters)
shown = [
    int(np.flatnonzero((y_test == topic) & (test.sizes >= 4))[0]) for topic in TOPICS
]
explanation = model[-1].explain(test[shown])
figure, grid = plt.subplots(3, 2, figsize=(7.5, 7.0), layout="constrained")
for (left, right), one in zip(grid, explanation, strict=True):
    pages = np.arange(1, len(one.drop) + 1)
    left.barh(pages, one.drop, color=np.where(one.decided, "#D55E00", "#56B4E9"))
    left.set(ylabel="page", yticks=pages, title=f'predicted "{one.classes[0]}"')
    left.invert_yaxis()
    words, weights = zip(*one.top_features(5)[0], strict=True)
    right.barh(words, weights, color="#0072B2")
    right.invert_yaxis()
    right.set_title("words")
grid[-1, 0].set_xlabel("drop in log-probability without the page")
grid[-1, 1].set_xlabel("contribution of the word")
plt.show()
