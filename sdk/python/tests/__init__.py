"""Tests of the SDK: ``MUSTER_BIN=…/muster python3 -m unittest tests`` in sdk/python."""

import os
import unittest


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite, pattern: "str | None") -> unittest.TestSuite:
    """All files of tests here."""
    return loader.discover(os.path.dirname(os.path.abspath(__file__)), "test_*.py", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
