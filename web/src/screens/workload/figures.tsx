// What is drawn of a workload that has begun: of the present while it runs, and its
// curves for as long as there is the workload.
import type { Workload } from '../../api/types'
import { useReported } from '../../work/reported'
import { Curves } from './curves'
import { Running } from './running'

export function Figures({ w }: { w: Workload }) {
  const { data } = useReported(w)
  const curves = <Curves w={w} reported={data} />
  return w.phase === 'Running' ? <Running w={w} reported={data}>{curves}</Running> : curves
}
