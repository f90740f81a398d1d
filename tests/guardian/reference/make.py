"""Reference values for the statistics of `guardian eval`, by scikit-learn, statsmodels and SciPy.

    pip install scikit-learn statsmodels && python make.py > values.json
"""

import json
import random

from scipy.stats import binomtest
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

random.seed(20261123)
curves = []
for size, ties in [(20, 0), (200, 1), (1000, 2), (57, 1), (3, 3)]:
    steps = []
    for at in range(size):
        harmful = at < 1 or (at > 1 and random.random() < 0.3)
        probability = min(1.0, max(0.0, random.gauss(0.6 if harmful else 0.35, 0.2)))
        steps.append((round(probability, ties) if ties else probability, harmful))
    truth = [int(harmful) for _, harmful in steps]
    scores = [probability for probability, _ in steps]
    curves.append({
        "steps": steps,
        "auroc": roc_auc_score(truth, scores),
        "average_precision": average_precision_score(truth, scores),
        "brier": brier_score_loss(truth, scores),
    })
# The last two again, with weights.
for curve in curves[-2:]:
    steps = [(*step, random.choice([0.25, 1, 3])) for step in curve["steps"]]
    scores, truth, weights = zip(*((probability, int(harmful), weight) for probability, harmful, weight in steps))
    curves.append({
        "steps": steps,
        "auroc": roc_auc_score(truth, scores, sample_weight=weights),
        "average_precision": average_precision_score(truth, scores, sample_weight=weights),
        "brier": brier_score_loss(truth, scores, sample_weight=weights),
    })
intervals = []
for some, of in [(0, 5), (5, 5), (1, 267), (0, 267), (187, 384), (7, 902), (500, 20000)]:
    low, high = proportion_confint(some, of, method="wilson")
    intervals.append({"some": some, "of": of, "low": low, "high": high})
changes = []
for broken, mended in [(0, 1), (3, 0), (1, 9), (12, 30), (100, 140), (2000, 1900)]:
    changes.append({"broken": broken, "mended": mended, "p": binomtest(broken, broken + mended).pvalue})
p = [change["p"] for change in changes]
print(json.dumps({
    "curves": curves, "intervals": intervals, "changes": changes, "holm": list(multipletests(p, method="holm")[1]),
}))
