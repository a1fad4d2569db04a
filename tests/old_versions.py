"""Tests that fail with old versions of the dependencies, by no fault of the package."""

import sklearn
from sklearn.utils.fixes import parse_version

if parse_version(sklearn.__version__) < parse_version("1.7"):
    FAILED_CHECKS = {
        "check_positive_only_tag_during_fit": "scikit-learn 1.6 takes a float off its own integers in this check"
    }
else:
    FAILED_CHECKS = {}
