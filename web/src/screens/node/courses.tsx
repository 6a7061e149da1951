import type { Metrics, MetricSeries, Node } from '../../api/types'
import { bytes, figure, ms } from '../../lib/format'
import { oneOf, remembered } from '../../lib/prefs'
import type { Live } from '../../live/fetch'
import { Card, Failure, Loading } from '../../ui/basics'
import { figures, Plot, rowsOfLines, stretches, Stretches, Twin, type Line } from '../../ui/plot'
import { SaveChart } from '../../ui/savechart'
import { phrase, T } from '../../texts'

/** Up to when the page looks back. */
export const stretch = remembered<string>('node.since', '1h', oneOf(...stretches))

const percent = (v: number): string => Math.round(v * 100) + '%'

interface Course { title: string; lines: Line[]; rows: { name: string; of: MetricSeries }[]; text: (v: number, step?: number) => string; most?: number; note: string }

const values = (s: MetricSeries): (number | null)[] => s.values as (number | null)[]

/** The mean of several series, step by step. */
function mean(all: MetricSeries[]): (number | null)[] {
  return Array.from({ length: all[0]?.values.length ?? 0 }, (_, i) => {
    const known = all.map((s) => s.values[i]).filter((v): v is number => v != null)
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null
  })
}

/** The charts that there is something for. */
function courses(m: Metrics, n: Node): Course[] {
  const of = (metric: string): MetricSeries[] => m.series.filter((s) => s.metric === metric)
  const out: Course[] = []
  const perGPU = (metric: string, title: string, text: (v: number) => string, most?: number): void => {
    const all = of(metric)
    if (all.length === 0) return
    const rows = all.map((s) => ({ name: phrase(T.$gpuGpu, { gpu: s.deviceIndex ?? '?' }), of: s }))
    const thin = rows.map((r): Line => ({ id: r.of.device ?? r.name, name: r.name, values: values(r.of), look: all.length > 1 ? 'thin' : 'area' }))
    out.push({ title, text, rows, lines: all.length > 1 ? [...thin, { id: 'mean', name: T.$mean, values: mean(all), look: 'main' }] : thin,
      note: all.length > 1 ? T.$thinLinesEachGPUThickLine : '', ...(most ? { most } : {}) })
  }
  perGPU('gpu_utilization_ratio', T.$gpuUtilization, percent, 1)
  perGPU('gpu_memory_bytes', T.$gpuMemoryUsed, bytes, Math.max(...n.devices.map((d) => d.memoryBytes), 0))
  const whole = (metric: string, title: string, total: number, text: (v: number, step?: number) => string): void => {
    const s = of(metric).find((x) => x.device === undefined)
    if (!s) return
    out.push({ title, text, most: total, rows: [{ name: title, of: s }], note: T.$scaleTheNodesTotal, lines: [{ id: 'used', name: T.$used, values: values(s), look: 'area' }] })
  }
  whole('cpu_cores', T.$cpuCoresUsed, n.cpu.total / 1000, figure)
  whole('memory_bytes', T.$memoryUsed, n.memory.total, bytes)
  perGPU('gpu_temperature_celsius', T.$gpuTemperature, (v) => Math.round(v) + ' °C')
  perGPU('gpu_power_watts', T.$gpuPower, (v) => Math.round(v) + ' W')
  return out
}

/** What the node used over time. */
export function Courses({ n, of: { data: m, error, again } }: { n: Node; of: Live<Metrics> }) {
  const all = m ? courses(m, n) : []
  return (
    <Card title={T.$trend} class="wide" aside={<Stretches chosen={stretch.value} choose={(s) => (stretch.value = s)} />}>
      {error && !m ? <Failure error={error} again={again} /> : !m ? <Loading rows={3} />
        : all.length === 0 ? <p class="muted">{T.$noMeasurementsYetTheFirst}</p> : (
          <div class="courses">
            {all.map((c) => (
              <section key={c.title} class="course-of plot">
                <h3>{c.title}{c.note && <span> · {c.note}</span>} <SaveChart of={c.title} file={`${n.name}-${c.title}`.replace(/[^\w.-]+/g, '-')} name={`${n.name}: ${c.title}`} rows={() => rowsOfLines(ms(m.from), m.stepSeconds, c.lines)} /></h3>
                <Plot binary={c.text === bytes} label={c.title} from={ms(m.from)} step={m.stepSeconds} lines={c.lines} {...(c.most ? { most: c.most } : {})} format={c.text} height={130} young />
                <Twin label={c.title} head={[T.$metric, T.$last, T.$mean, T.$min, T.$max]} rows={figures(c.rows, c.text)} />
              </section>
            ))}
          </div>
        )}
      {m && m.missing.length > 0 && <p class="muted missing">{m.missing.join('; ')}</p>}
    </Card>
  )
}
