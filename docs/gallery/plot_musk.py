"""
Molecules
=========

Is it a musk?
"""

import matplotlib.pyplot as plt

from setrbm.datasets import load_musk1

bags, y = load_musk1()
plt.hist(bags.sizes)
plt.show()
