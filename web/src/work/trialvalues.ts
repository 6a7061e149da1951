// Tries of the same thing with other values, and what came of each.
import type { ReportedSeries } from '../api/types'
import type { Stateful } from '../ui/status'
import { bestOf, better } from './reported'

/** Something that a try took, such as time; value is in the unit of its title. */
export interface Took { id: string; title: string; value: number | undefined; text: string }

/** One try; given are the values in which tries differ, alike those in which they do not. */
export interface Trial { id: string; name: string; to: string; given: Record<string, unknown>; alike?: Record<string, unknown>; took?: Took[]; state?: string; of?: Stateful; series: ReportedSeries[] }

export const text = (v: unknown): string => (v === undefined || v === null ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v))

/** What of a number counts: the best it has been, what it was last, the least, the most. */
export type Kind = 'best' | 'last' | 'min' | 'max'

/** A number over all attempts; the best of which nobody can tell what is better is the last. */
export function valueOf(t: Trial, metric: string, kind: Kind = 'best'): number | undefined {
  const way = better(metric)
  const all = t.series.filter((s) => s.metric === metric)
  if (all.length === 0) return undefined
  if (kind === 'last' || (kind === 'best' && way === 0)) return all[all.length - 1]!.last
  if (kind === 'max') return Math.max(...all.map((s) => s.max))
  if (kind === 'min') return Math.min(...all.map((s) => s.min))
  const vs = all.map((s) => bestOf(s, way)[0])
  return way > 0 ? Math.max(...vs) : Math.min(...vs)
}

/** Tries in the order of a number, the best first; those that say nothing of it come last. */
export function ranked(all: Trial[], metric: string, down = better(metric) > 0): Trial[] {
  const v = (t: Trial): number => valueOf(t, metric) ?? NaN
  return [...all].sort((a, b) => {
    const [x, y] = [v(a), v(b)]
    return Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : down ? y - x : x - y
  })
}
