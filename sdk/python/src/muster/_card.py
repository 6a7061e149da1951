"""How workloads look in a notebook. No scripts, nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple

if TYPE_CHECKING:
    from .models import Workload

_TONES = {
    "Completed": "#1a7f37",
    "Running": "#0969da",
    "Failed": "#cf222e",
    "Lost": "#cf222e",
    "TimedOut": "#cf222e",
    "Preempted": "#9a6700",
    "Stopped": "#6e7781",
    "Canceled": "#6e7781",
}


def percent(progress: Optional[Any]) -> Optional[float]:
    """How much of the steps is done, 0 to 100; None where nobody knows."""
    if not progress or not progress.get("total"):
        return None
    return max(0.0, min(100.0, 100.0 * float(progress["step"]) / float(progress["total"])))


def progress_line(w: "Workload") -> str:
    """One line that says how far it is, for terminals."""
    p = w.progress
    parts = ["%s %s" % (w.name, w.phase)]
    if w.pending and w.pending.get("reasons"):
        parts.append(str(w.pending["reasons"][0].get("message", "")))
    done = percent(p)
    if done is not None:
        full = int(done / 10)
        parts.append("■" * full + "□" * (10 - full) + " %d%%" % done)
    if p:
        parts.append("step %s" % p["step"])
        parts.extend("%s %.4g" % (k, v) for k, v in sorted((p.get("metrics") or {}).items())[:4])
    return "  ".join(parts)


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """An HTML table of plain values."""
    cell = "<td style='text-align:left;padding:2px 10px 2px 0'>%s</td>"
    out = ["<table><thead><tr>"]
    out.extend("<th style='text-align:left;padding:2px 10px 2px 0'>%s</th>" % escape(h) for h in head)
    out.append("</tr></thead><tbody>")
    for row in rows:
        out.append("<tr>%s</tr>" % "".join(cell % escape("" if v is None else str(v)) for v in row))
    out.append("</tbody></table>")
    return "".join(out)


def workload_card(w: "Workload") -> str:
    """The card of one workload."""
    tone = _TONES.get(w.phase, "#9a6700")
    why = w.message or w.reason
    if w.pending and w.pending.get("reasons"):
        why = str(w.pending["reasons"][0].get("message") or why)
    rows: List[Tuple[str, Any]] = [("Project", w.project), ("Kind", w.kind), ("User", w.user)]
    if w.gpus:
        rows.append(("GPUs", w.gpus))
    if w.attempt:
        rows.append(("Attempt", w.attempt))
    if w.exit_code is not None:
        rows.append(("Exit code", w.exit_code))
    for name, at in (("Created", w.created_at), ("Started", w.started_at), ("Ended", w.ended_at)):
        if at is not None:
            rows.append((name, at.strftime("%Y-%m-%d %H:%M:%S UTC")))
    bar = ""
    done, p = percent(w.progress), w.progress
    if done is not None and p:
        bar = (
            "<div style='background:#8884;border-radius:4px;height:8px;margin:6px 0'>"
            "<div style='background:%s;border-radius:4px;height:8px;width:%.1f%%'></div></div>"
            "<div>step %s of %s</div>" % (tone, done, int(p["step"]), int(p["total"]))
        )
    if p and p.get("metrics"):
        rows.extend((k, "%.6g" % v) for k, v in sorted(p["metrics"].items()))
    if w.checkpoint:
        rows.append(("Checkpoint", w.checkpoint.get("path")))
    body = "".join(
        "<tr><td style='text-align:left;padding:1px 12px 1px 0;opacity:.7'>%s</td>"
        "<td style='text-align:left'>%s</td></tr>" % (escape(k), escape(str(v)))
        for k, v in rows
    )
    return (
        "<div style='border:1px solid #8886;border-left:4px solid %s;border-radius:6px;padding:8px 12px;max-width:40em'>"
        "<div><b>%s</b> <span style='color:%s;font-weight:600'>%s</span></div><div>%s</div>%s<table>%s</table>%s</div>"
        % (tone, escape(w.name), tone, escape(w.phase), escape(why), bar, body, error_card(w))
    )


def error_card(w: "Workload") -> str:
    """The first error of a workload that failed; "" where there is none."""
    if w.phase != "Failed":
        return ""
    try:
        e = w.first_error()
    except Exception:
        # A card is shown as a matter of course; a server that is gone must not break it.
        return ""
    if not e:
        return ""
    where = "%s %s%s" % (e.get("role", "task"), e.get("task", 0), " on " + str(e["node"]) if e.get("node") else "")
    excerpt = "\n".join(str(x) for x in e.get("excerpt") or [])
    return "<div style='margin-top:6px'><b>%s</b> (%s): %s</div><pre style='max-height:16em;overflow:auto'>%s</pre>%s" % (
        escape(str(e.get("kind", ""))),
        escape(where),
        escape(str(e.get("title", ""))),
        escape(excerpt),
        "<div>%s</div>" % escape(str(e["hint"])) if e.get("hint") else "",
    )
