// What tasks have reported of themselves, as the server keeps it.
import { params, workloadURL } from '../api/client'
import type { ReportedSeries, Workload } from '../api/types'
import type { Reported } from '../api/types'
import { count } from '../lib/format'
import { rowNamed } from '../live/store'
import { useLive, type Live } from '../live/fetch'
import type { Trace } from '../ui/curve'
import { phrase, T } from '../texts'

/** The curves of one workload; they are read anew while it says more. */
export const useReported = (w: Workload, points = 256): Live<Reported> => useReportedIf(w, true, points)

/** The same, as long as somebody wants it. */
export const useReportedIf = (w: Workload, wanted: boolean, points = 256): Live<Reported> => useLive<Reported>(
  wanted ? workloadURL(w.project, w.name) + '/reported' + params({ points }) : null, () => rowNamed(w.project, w.name)?.revision, 3000,
)

/** Names of the numbers that were reported: those that people look at first, then the rest. */
export function metricsOf(all: ReportedSeries[]): string[] {
  const rank = (m: string): number => {
    const at = [/(^|[/_.])loss$/i, /loss/i, /acc|top|f1|auc|bleu|reward|score/i, /(^|[/_.])(lr|learning)/i].findIndex((r) => r.test(m))
    return at < 0 ? 9 : at
  }
  return [...new Set(all.map((s) => s.metric))].filter(Boolean).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
}

/** Which way a number is better, by its name: -1 where less of it is, 1 where more is, 0 where nobody can tell. */
export const better = (metric: string): number => (/loss|err|perplexity|ppl|nll|mse|mae|rmse|wer|fid/i.test(metric) ? -1 : /acc|top[-_]?\d|f1|auc|bleu|rouge|reward|score|precision|recall|throughput|tokens|per_s|iou|\bmap\b|mfu/i.test(metric) ? 1 : 0)

/** The best that a series has been, and at which step. */
export const bestOf = (s: ReportedSeries, way = better(s.metric)): [number, number] => (way > 0 ? [s.max, s.maxStep] : [s.min, s.minStep])

/** Curves over steps of one number. Where a step comes again, what came later counts. */
export function traceOf(s: ReportedSeries, name: string, hue: number, faint = false): Trace {
  const xs: number[] = []
  const ys: number[] = []
  s.steps.forEach((step, i) => {
    while (xs.length > 0 && xs[xs.length - 1]! >= step) {
      xs.pop()
      ys.pop()
    }
    xs.push(step)
    ys.push(s.values[i]!)
  })
  return { id: `${s.id}/${s.attempt}/${s.task}`, name, xs, ys, hue, faint }
}

const underMost = 4 // lines below which what they are of is drawn, too

/** Traces as running means, which forget what came before by a weight from 0 to 1; few of them lie over what they are of. The first points count as much as any. */
export function smooth(all: Trace[], weight: number): Trace[] {
  if (weight <= 0) return all
  const means = all.map((t): Trace => {
    let [sum, parts] = [0, 0]
    return { ...t, ys: t.ys.map((v) => {
      sum = weight * sum + (1 - weight) * v
      parts = weight * parts + (1 - weight)
      return sum / parts
    }) }
  })
  return all.length > underMost ? means : [...all.map((t) => ({ ...t, id: t.id + '/raw', faint: true, raw: true })), ...means]
}

export const stepText = (v: number): string => phrase(T.$stepStep, { step: count(Math.round(v)) })

/** Steps of each second of late, and when the last report came, in ms since 1970; undefined: nobody can tell. */
export function paceOf(s: ReportedSeries | undefined): { perSecond: number; last: number } | undefined {
  if (!s || s.steps.length < 2) return undefined
  const n = s.steps.length - 1
  const end = s.atSeconds[n]!
  let i = n - 1
  // A tenth of what was seen, and at least ten reports, so that one slow step is not taken for the pace.
  while (i > 0 && (n - i < 10 || end - s.atSeconds[i]! < Math.min(600, (end - s.atSeconds[0]!) / 10)) && s.steps[i - 1]! < s.steps[i]!) i--
  const took = end - s.atSeconds[i]!
  const went = s.steps[n]! - s.steps[i]!
  return took > 0 && went > 0 ? { perSecond: went / took, last: end * 1000 } : undefined
}
