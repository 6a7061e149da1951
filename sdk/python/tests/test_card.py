import io
import sys
import types
import unittest
from contextlib import redirect_stderr
from typing import Any, List

import muster
from muster._card import percent, progress_line, table
from muster._follow import _Show
from muster.models import parse_time

from .support import ServerCase, unique


def workload(**fields: Any) -> muster.Workload:
    raw = {"id": "x", "name": "<b>run</b>", "project": "p", "kind": "training", "user": "u", "priority": 80, "phase": "Running", "createdAt": "2026-01-02T03:04:05.678901Z"}
    return muster.Workload({**raw, **fields})


class TestCard(unittest.TestCase):
    def test_nothing_in_it_is_markup(self) -> None:
        html = workload(message="<script>alert(1)</script>", progress={"step": 1, "total": 4, "metrics": {"<i>": 0.5}}, checkpoint={"path": "<p>"})._repr_html_()
        for bad in ("<script", "<b>run", "<i>", "<p>"):
            self.assertNotIn(bad, html)
        self.assertIn("width:25.0%", html)
        self.assertIn("step 1 of 4", html)
        self.assertIn("2026-01-02 03:04:05 UTC", html)
        self.assertIn("&lt;td&gt;", table(["a"], [["<td>"]]))

    def test_progress(self) -> None:
        self.assertIsNone(percent(None))
        self.assertIsNone(percent({"step": 3}))
        self.assertEqual(percent({"step": 30, "total": 20}), 100)
        self.assertEqual(progress_line(workload(progress={"step": 1, "total": 2, "metrics": {"loss": 0.5}})), "<b>run</b> Running  ■■■■■□□□□□ 50%  step 1  loss 0.5")
        self.assertIn("no room", progress_line(workload(phase="Queued", pending={"reasons": [{"message": "no room"}]})))

    def test_a_line_changes_and_repeats_nothing(self) -> None:
        err = io.StringIO()
        with redirect_stderr(err):
            show = _Show()
            for phase in ("Queued", "Queued", "Running"):
                show(workload(phase=phase))
            show.end(workload(phase="Completed"))
        self.assertEqual([line.split()[-1] for line in err.getvalue().strip().split("\n")], ["Queued", "Running", "Completed"])

    def test_in_a_notebook_the_card_changes(self) -> None:
        shown: List[Any] = []

        class ZMQInteractiveShell:
            pass

        class Handle:
            def update(self, w: Any) -> None:
                shown.append(("update", w.phase))

        def display(w: Any, display_id: bool) -> Handle:
            shown.append(("display", w.phase))
            return Handle()

        ip, d = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ip.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
        d.display = display  # type: ignore[attr-defined]
        sys.modules.update({"IPython": ip, "IPython.display": d})
        try:
            show = _Show()
            show(workload(phase="Queued"))
            show(workload())
        finally:
            del sys.modules["IPython"], sys.modules["IPython.display"]
        self.assertEqual(shown, [("display", "Queued"), ("update", "Running")])

    def test_times(self) -> None:
        for text, want in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+00:00"),
            ("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.500000+00:00"),
            ("2026-01-02T03:04:05.123456789+02:00", "2026-01-02T03:04:05.123456+02:00"),
            ("2026-01-02T03:04:05-07:00", "2026-01-02T03:04:05-07:00"),
        ]:
            at = parse_time(text)
            assert at is not None
            self.assertEqual(at.isoformat(), want)
        self.assertIsNone(parse_time(None))


class TestErrorCard(ServerCase):
    def test_it_shows_the_first_error(self) -> None:
        w = self.done(self.client.run("echo; python3 -c 'raise ValueError(\"<x>\")'", name=unique()))
        html = w._repr_html_()
        self.assertIn("ValueError: &lt;x&gt;", html)
        self.assertIn("Python exception", html)
        self.assertNotIn("<x>", html)
