// What is drawn of a workload that has begun: of the present while it runs, and its
// curves for as long as there is the workload.
import type { Workload } from '../../api/types'
import { useReported } from '../../work/reported'
import { workloadPath } from '../../lib/router'
import { cellOf, gridOf } from '../../work/cells'
import { Trials } from '../../work/trials'
import { Curves } from './curves'
import { Matrix } from './matrix'
import { Running } from './running'
import { T } from '../../texts'

const isArray = (w: Workload): boolean => (w.spec as { array?: unknown } | undefined)?.array !== undefined

export function Figures({ w }: { w: Workload }) {
  const { data } = useReported(w)
  const grid = gridOf(w)
  const series = (data?.series ?? []).filter((s) => s.attempt === w.attempt)
  const tasks = [...new Set(series.map((s) => s.task))]
  const states = new Map((w.attempts[w.attempts.length - 1]?.tasks ?? []).map((t) => [t.index, t.state]))
  const array = grid || isArray(w)
  const shown = tasks.length > 1 && array
    ? <Trials title={T.$results} file={w.name} missing={data?.missing ?? []} all={tasks.map((n) => ({
      id: String(n), name: `task ${n}`, to: workloadPath(w.project, w.name, `logs&attempt=${w.attempt}&task=${n}`), given: grid ? cellOf(grid, n) : {}, series: series.filter((s) => s.task === n), ...(states.has(n) ? { state: states.get(n)! } : {}),
    }))} />
    : <Curves w={w} reported={data} />
  const curves = <>{array && <Matrix w={w} />}{shown}</>
  return w.phase === 'Running' ? <Running w={w} reported={data}>{curves}</Running> : curves
}
