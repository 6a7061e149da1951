import unittest

from muster._yaml import YAMLError, dump, load


class TestYAML(unittest.TestCase):
    def test_what_configurations_hold_is_read(self) -> None:
        for text, want in [
            ("", None),
            ("a: 1\nb: two\n", {"a": 1, "b": "two"}),
            ("---\na: {b: [1, 2.5, x], c: ~}\n", {"a": {"b": [1, 2.5, "x"], "c": None}}),
            ("a:\n- 1\n- b: 2\n  c: 3\n-\n  - 4\n", {"a": [1, {"b": 2, "c": 3}, [4]]}),
            ("a:\n  - x: {y: z}\n", {"a": [{"x": {"y": "z"}}]}),
            ("a: |\n  one\n    two\n\n  three\nb: 1", {"a": "one\n  two\n\nthree\n", "b": 1}),
            ("a: |-\n  one\n\n", {"a": "one"}),
            ("a: |+\n  one\n\n", {"a": "one\n\n"}),
            ("a: >\n  one\n  two\n\n  three\n", {"a": "one two\nthree\n"}),
            ("a: 'it''s' # no\n", {"a": "it's"}),
            ('a: "x\\n\\u00e9 # y"\n', {"a": "x\né # y"}),
            ("a: x#y\n", {"a": "x#y"}),
            ("a: http://h:80/p\n", {"a": "http://h:80/p"}),
            ("a: one\n  two\n", {"a": "one two"}),
            ("a: 012\nb: 1_0\nc: 0x1f\nd: 1e3\ne: .inf\nf: yes\ng: True\n", {"a": "012", "b": "1_0", "c": 31, "d": 1000.0, "e": float("inf"), "f": "yes", "g": True}),
            ("a: [1,\n  2]\nb: {\n  c: d\n}\n", {"a": [1, 2], "b": {"c": "d"}}),
            ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
            ('"quoted key": 1\n', {"quoted key": 1}),
            ("- a\n- b\n", ["a", "b"]),
            ("a: ''\nb:\n", {"a": "", "b": None}),
            ("a: |\n  # no comment\n  x\n", {"a": "# no comment\nx\n"}),
            ('{"json": [true, null, "x"], "n": {"m": 1.5}}', {"json": [True, None, "x"], "n": {"m": 1.5}}),
        ]:
            with self.subTest(text=text):
                self.assertEqual(load(text), want)

    def test_what_is_wrong_is_named_with_its_line(self) -> None:
        for text, line, problem in [
            ("a: 1\na: 2\n", 2, "twice"),
            ("a:\n\tb: 1\n", 2, "tab"),
            ("a: 1\n  b: 2\n", 2, "indented"),
            ("a: 1\nb\n", 2, "name: value"),
            ("a: b: c\n", 1, "second"),
            ('a: "x\n', 1, "closed"),
            ("a: [1\n", 1, "closed"),
            ("a: {b: 1, b: 2}\n", 1, "twice"),
            ("a: " + "[" * 100, 1, "deep"),
            ("a: @x\n", 1, "quotes"),
        ]:
            with self.subTest(text=text):
                with self.assertRaises(YAMLError) as c:
                    load(text)
                self.assertEqual(c.exception.line, line)
                self.assertIn(problem, str(c.exception))

    def test_what_is_written_is_read_back(self) -> None:
        for value in [
            {"a": 1, "b": [1, "2", None, True, 1.5], "c": {"d": {"e": []}}, "f": {}},
            {"command": "one\ntwo: three\n\n  four\n", "x": "no\nend", "y": "ends\n\n"},
            {"s": ["yes", "null", "1e3", "a: b", "#x", "", " lead", "trail ", "é", "tab\t", "-", "- x", "[", "'q'", '"', "&a", "*b", "x #y", "012"]},
            [{"a": [[1, 2], [3]]}, [], {}],
            {"needs: quoting": 1, "12": "key", "": "empty"},
            {"multi": "  indented first\nline\n"},
        ]:
            with self.subTest(value=value):
                self.assertEqual(load(dump(value)), value)

    def test_anything_is_a_value_or_a_refusal(self) -> None:
        import random

        chooser = random.Random(7)
        parts = ["a", ":", " ", "\n", "-", "[", "]", "{", "}", ",", "'", '"', "|", ">", "#", "&", "*", "!", "\t", "1", "  ", "b: ", "\\", "é", "---", "?"]
        for _ in range(20000):
            text = "".join(chooser.choice(parts) for _ in range(chooser.randint(1, 24)))
            try:
                load(text)
            except YAMLError as e:
                self.assertGreaterEqual(e.line, 1, text)
