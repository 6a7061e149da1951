import './spark.css'
import type { MetricSeries } from '../api/types'
import { through } from './plot'
import { T } from '../texts'

const [width, height] = [96, 18]

/** Parts of a whole over time as a line no larger than a word, with the last. */
export function Spark({ of: s }: { of: MetricSeries | undefined }) {
  if (!s) return <span class="none">{T.$notMeasured}</span>
  const v = s.values as (number | null)[]
  const d = through(v, (i) => (i / Math.max(1, v.length - 1)) * (width - 2), (x) => height - 1.5 - Math.min(1, x) * (height - 3))
  return <span class="spark"><svg width={width} height={height} aria-hidden="true"><path class="ground" d={`M0 ${height - 0.5}H${width}`} /><path d={d} /></svg><span>{s.last == null ? '–' : Math.round(s.last * 100) + '%'}</span></span>
}
