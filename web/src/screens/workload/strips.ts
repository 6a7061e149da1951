// What is drawn of each rank over time, as numbers: one strip each, all on the same grid.
import type { Metrics, MetricSeries, ReportedSeries } from '../../api/types'
import { bytes, figure, ms } from '../../lib/format'
import { T } from '../../texts'

export interface Strip { task: number; name: string; node: string; values: (number | null)[] }

/** What strips may show. top is the value that has the full color, of all that are known. */
export interface Sort { id: string; title: string; say: (v: number) => string; top: (known: number[]) => number }

const percent = (v: number): string => `${Math.round(v * 100)} %`
export const seconds = (v: number): string => (v < 1 ? `${figure(v * 1000)} ms` : `${figure(v)} s`)
export const perSecond = (v: number): string => `${bytes(Math.round(v))}/s`

const most = (known: number[]): number => known.reduce((a, b) => Math.max(a, b), 1e-9)

/** Twice the median: the first step of a run, which compiles, would leave all others pale. */
const twice = (known: number[]): number => Math.max(1e-9, 2 * ([...known].sort((a, b) => a - b)[known.length >> 1] ?? 0))

export const stepTime = 'step_seconds'

/** In the order in which they are offered: the first that is known is shown at first. */
export const sorts: Sort[] = [
  { id: 'gpu_utilization_ratio', title: T.$gpuUtilization, say: percent, top: () => 1 },
  { id: 'gpu_memory_bytes', title: T.$gpuMemory, say: bytes, top: most },
  { id: 'cpu_cores', title: T.$cpuCores, say: (v) => `${figure(v)} ${T.$cores}`, top: most },
  { id: 'memory_bytes', title: T.$memory, say: bytes, top: most },
  { id: 'network_bytes_per_second', title: T.$network, say: perSecond, top: most },
  { id: stepTime, title: T.$stepTime, say: seconds, top: twice },
]

/** One strip of each rank: the mean of its GPUs, where it is measured of these. */
export function strips(m: Metrics, metric: string): Strip[] {
  const by = new Map<number, MetricSeries[]>()
  for (const s of m.series) if (s.metric === metric && s.task !== undefined) by.set(s.task, [...(by.get(s.task) ?? []), s])
  return [...by].sort((a, b) => a[0] - b[0]).map(([task, all]) => ({
    task, name: `${all[0]!.role} ${task}`, node: all[0]!.node ?? '',
    values: Array.from({ length: Math.max(...all.map((s) => s.values.length)) }, (_, i) => {
      const vs = all.map((s) => s.values[i]).filter((v): v is number => v !== undefined && v !== null)
      return vs.length ? vs.reduce((a, b) => a + b, 0) / vs.length : null
    }),
  }))
}

/** How long a step took, of each rank that reports its steps, on the grid of what was measured. */
export function stepStrips(m: Metrics, reported: ReportedSeries[], attempt: number): Strip[] {
  const ranks = new Map(m.series.filter((s) => s.task !== undefined).map((s) => [s.task!, s]))
  const cells = Math.max(1, Math.round((ms(m.to) - ms(m.from)) / 1000 / m.stepSeconds))
  return reported.filter((s) => s.metric === '' && s.attempt === attempt).sort((a, b) => a.task - b.task).map((s) => ({
    task: s.task, name: `${ranks.get(s.task)?.role ?? T.$taskLower} ${s.task}`, node: ranks.get(s.task)?.node ?? '', values: stepTimes(s, ms(m.from) / 1000, m.stepSeconds, cells),
  }))
}

/** The mean time of a step in each cell: of what lies between two reports, as much as lies in the cell. null: no step ended. */
export function stepTimes(s: Pick<ReportedSeries, 'steps' | 'atSeconds'>, from: number, width: number, cells: number): (number | null)[] {
  const sum = Array.from({ length: cells }, () => [0, 0] as [number, number]) // seconds, and steps done in them
  for (let i = 1; i < s.steps.length; i++) {
    const [begun, ended] = [s.atSeconds[i - 1]!, s.atSeconds[i]!]
    const done = s.steps[i]! - s.steps[i - 1]!
    if (done <= 0 || ended <= begun) continue // it has begun again, or nothing is known of the time between
    for (let c = Math.max(0, Math.floor((begun - from) / width)); c < cells && from + c * width < ended; c++) {
      const part = Math.min(ended, from + (c + 1) * width) - Math.max(begun, from + c * width)
      if (part <= 0) continue
      sum[c]![0] += part
      sum[c]![1] += (part / (ended - begun)) * done
    }
  }
  return sum.map(([time, steps]) => (steps > 0 ? time / steps : null))
}
