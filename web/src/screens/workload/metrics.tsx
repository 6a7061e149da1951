// What the ranks of an attempt used, each by itself, and which of them does least.
import { useMemo, useState } from 'preact/hooks'
import { params, workloadURL } from '../../api/client'
import type { Metrics as Measured, MetricSeries, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { bytes, figure, moment, ms, localTimes } from '../../lib/format'
import { setQuery, workloadPath } from '../../lib/router'
import { csv, saveText } from '../../lib/save'
import { useLive } from '../../live/fetch'
import { Button, Card, Empty, Failure, Link, Loading, sentence } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { figures, Key, Plot, Twin, type Line } from '../../ui/plot'
import { SaveChart } from '../../ui/savechart'
import { named, pyNamed, python } from '../../work/acts'
import { Heat } from './heat'
import { moments, Shapes } from './marks'
import { perSecond, seconds } from './strips'
import { phrase, T } from '../../texts'

const percent = (v: number): string => `${Math.round(v * 1000) / 10} %`

/** What is drawn, in this order. */
const charts: { metric: string; title: string; format: (v: number, step?: number) => string; most?: number; binary?: boolean }[] = [
  { metric: 'requests_per_second', title: T.$requestsPerSecond, format: figure },
  { metric: 'request_errors_per_second', title: T.$failedRequestsPerSecond, format: figure },
  { metric: 'request_median_seconds', title: T.$timeToAnswerMedian, format: seconds },
  { metric: 'request_p95_seconds', title: T.$timeToAnswer95, format: seconds },
  { metric: 'gpu_utilization_ratio', title: T.$gpuUtilization, format: percent, most: 1 },
  { metric: 'gpu_memory_bytes', title: T.$gpuMemory, format: bytes, binary: true },
  { metric: 'cpu_cores', title: T.$cpuCores, format: figure },
  { metric: 'memory_bytes', title: T.$memory, format: bytes, binary: true },
  { metric: 'network_bytes_per_second', title: T.$networkBothWays, format: perSecond, binary: true },
  { metric: 'gpu_power_watts', title: T.$gpuPower, format: (v) => `${Math.round(v)} W` },
  { metric: 'gpu_temperature_celsius', title: T.$gpuTemperature, format: (v) => `${Math.round(v)} °C` },
]

const stretches = ['all', '10m', '1h', '6h', '24h'] as const
const listed = 24 // ranks that have a button each; of more, one is picked from a list

/** Keys of a rank's lines begin with this. */
const rankOf = (id: string): string => id.split('/')[0]!

const lineOf = (s: MetricSeries, several: boolean, hue: number): Line => ({
  hue,
  id: `${s.task}/${s.device ?? ''}`,
  name: s.task === undefined ? T.$service : `${s.role} ${s.task}${s.device && several ? phrase(T.$gpuMore, { more: s.deviceIndex ?? s.device }) : ''}`,
  values: s.values as (number | null)[],
})

export function Metrics({ w, query }: { w: Workload; query: URLSearchParams }) {
  const begun = w.attempts.filter((a) => a.startedAt)
  const last = begun[begun.length - 1]
  const attempt = begun.find((a) => String(a.index) === query.get('attempt')) ?? last
  const stretch = stretches.find((s) => s === query.get('since')) ?? 'all'
  const [shown, show] = useState<ReadonlySet<string>>(new Set())
  const since = stretch === 'all' ? (attempt?.startedAt ?? '1h') : stretch
  const path = attempt ? workloadURL(w.project, w.name) + '/metrics' + params({ since, until: attempt.endedAt, attempt: String(attempt.index) }) : null
  const over = !!attempt?.endedAt
  const { data: m, error, again } = useLive<Measured>(path, over ? 'never' : 'beat', 8000)
  const lines = useMemo(() => linesOf(m), [m])
  if (!attempt) return <Empty icon="chart" title={T.$noMeasurementsYet}><p>{T.$measurementsBeginWhenThe}</p></Empty>
  const slow = m?.slowest
  const ranks = [...new Map((m?.series ?? []).filter((s) => s.task !== undefined).map((s) => [String(s.task), `${s.role} ${s.task}`]))]
  const toggle = (id: string): void => show(shown.has(id) ? new Set([...shown].filter((x) => x !== id)) : new Set([...shown, id]))
  const from = ms(m?.from)
  const noted = moments(w).filter((x) => x.at >= from && x.at <= ms(m?.to))
  return (
    <>
      <div class="toolbar">
        {begun.length > 1 && <label class="pick">{phrase(T.$attemptIndex, { index: <select value={attempt.index} onChange={(e) => setQuery({ attempt: e.currentTarget.value })}>{begun.map((a) => <option key={a.index} value={a.index}>{a.index}</option>)}</select> })}</label>}
        <div class="segments small" role="group" aria-label={T.$period}>{stretches.map((s) => <button key={s} type="button" aria-pressed={s === stretch} onClick={() => setQuery({ since: s === 'all' ? null : s })}>{s === 'all' ? T.$attempt3 : s}</button>)}</div>
        <div class="toolbar-end">
          <Button icon="download" aria-label={T.$downloadAsCSV} refused={m && m.series.length > 0 ? undefined : T.$nothingToDownload} onClick={() => m && saveText(`${w.name}-metrics.csv`, 'text/csv', csv(rowsOf(m, m.series)))} />
          <CopyAs of={() => ({ cli: `muster metrics ${named(w)}${stretch === 'all' ? '' : ' --since ' + stretch} --attempt ${attempt.index}`, python: python(`m = client.metrics(${pyNamed(w)}, attempt=${attempt.index})`), curl: curl(path!) })} />
        </div>
      </div>
      {error && !m ? <Failure error={error} again={again} /> : !m ? <Loading what={T.$loadingMetrics} rows={4} /> : lines.size === 0 ? (
        <Empty icon="chart" title={over ? T.$theMetricsOfThisAttemptAre : T.$noMeasurementsYet}><p>{over ? T.$metricsAreKeptFor24Hours : T.$theServerMeasuresEveryFew}</p>{m.missing.map((x) => <p key={x}>{sentence(x)}</p>)}</Empty>
      ) : (
        <>
          {slow?.behind && (
            <div class="slowest" data-behind role="alert">
              <Icon name="warning" size={18} />
              <div><b>{T.$slowestRank}: {slow.role} {slow.task}.</b> {sentence(slow.message)}.{T.$theOtherRanksProbablyWait}</div>
              <Link to={workloadPath(w.project, w.name, `logs&attempt=${attempt.index}&task=${slow.task}`)}>{T.$showLog}</Link>
            </div>
          )}
          <div class="metrics-key">
            {ranks.length > 1 && (ranks.length <= listed
            ? <Key stroke quiet={[...lines.values()].some((l) => l.length > 8)} of={ranks.map(([id, name]) => ({ id, name, strong: slow?.behind && String(slow.task) === id }))} chosen={shown} choose={toggle} />
            : <label class="pick">{phrase(T.$alsoShowChoice, { choice: <select value="" onChange={(e) => e.currentTarget.value && toggle(e.currentTarget.value)}><option value="">{T.$aRank}</option>{ranks.map(([id, name]) => <option key={id} value={id}>{shown.has(id) ? '✓ ' : ''}{name}</option>)}</select> })}</label>)}
            <Shapes of={noted} />
          </div>
          <div class="metrics">
            <Heat m={m} w={w} attempt={attempt.index} />
            {charts.filter((c) => lines.has(c.metric)).map((c) => {
              const all = lines.get(c.metric)!.map((l) => ({ ...l, strong: !!slow?.behind && rankOf(l.id) === String(slow.task) }))
              const chosen = new Set(all.filter((l) => shown.has(rankOf(l.id))).map((l) => l.id))
              return (
                <Card key={c.metric} title={c.title} aside={<span class="metrics-aside">{all.length > 8 && phrase(T.$allLinesTheirRangeAndThe, { all: all.length })}<SaveChart of={c.title} file={`${w.name}-${c.metric}`} name={`${w.name}: ${c.title}`} rows={() => rowsOf(m, m.series.filter((s) => s.metric === c.metric))} /></span>}>
                  <div class="plot">
                    <Plot label={c.title} from={from} step={m.stepSeconds} lines={all} format={c.format} {...(c.most !== undefined ? { most: c.most } : {})} binary={c.binary ?? false} band shown={chosen} moments={noted} />
                    <Twin label={phrase(T.$titlePerRank, { title: c.title })} head={[T.$rank, T.$last, T.$mean, T.$min, T.$max]} rows={figures(m.series.filter((s) => s.metric === c.metric).map((s, i) => ({ name: all[i]!.name, of: s })), c.format)} />
                  </div>
                </Card>
              )
            })}
            <Ranks m={m} w={w} attempt={attempt.index} />
          </div>
          {m.missing.map((x) => <p key={x} class="muted">{phrase(T.$notKnownX, { x: localTimes(x, now.value) })}</p>)}
        </>
      )}
    </>
  )
}

/** The lines of each metric. */
function linesOf(m: Measured | null): Map<string, Line[]> {
  const out = new Map<string, Line[]>()
  const devices = new Map<string, Set<string>>()
  const hues = new Map<string, number>() // of ranks, as the key above the charts has them
  const one = new Set(m?.series.map((s) => s.task)).size < 2 // whose GPUs are told apart instead
  for (const s of m?.series ?? []) if (s.device) devices.set(String(s.task), (devices.get(String(s.task)) ?? new Set()).add(s.device))
  for (const s of m?.series ?? []) {
    const list = out.get(s.metric) ?? []
    const rank = String(s.task)
    if (!hues.has(rank)) hues.set(rank, hues.size)
    const several = (devices.get(rank)?.size ?? 0) > 1
    list.push(lineOf(s, several, one && several ? list.length : hues.get(rank)!))
    out.set(s.metric, list)
  }
  return out
}

/** Every rank with its last values, who does least at the top. */
function Ranks({ m, w, attempt }: { m: Measured; w: Workload; attempt: number }) {
  const by = new Map<number, MetricSeries[]>()
  for (const s of m.series) if (s.task !== undefined) by.set(s.task ?? 0, [...(by.get(s.task ?? 0) ?? []), s])
  const mean = (all: MetricSeries[], metric: string, f: (s: MetricSeries) => number | null | undefined): number | undefined => {
    const vs = all.filter((s) => s.metric === metric).map(f).filter((v): v is number => v !== undefined && v !== null)
    return vs.length > 0 ? vs.reduce((a, b) => a + b, 0) / vs.length : undefined
  }
  const key = m.series.some((s) => s.metric === 'gpu_utilization_ratio') ? 'gpu_utilization_ratio' : 'cpu_cores'
  const rows = [...by].sort((a, b) => (mean(a[1], key, (s) => s.mean) ?? Infinity) - (mean(b[1], key, (s) => s.mean) ?? Infinity) || a[0] - b[0])
  const show = (v: number | undefined, f: (v: number) => string): string => (v === undefined ? '–' : f(v))
  const slow = m.slowest?.behind ? m.slowest.task : -1
  return (
    <Card class="wide" title={T.$ranksLeastBusyFirst} aside={phrase(T.$meanAndLastValueUntilTime, { time: moment(m.to, now.value) })}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$ranks}>
        <table class="plain ranks">
          <thead><tr><th scope="col">{T.$rank}</th><th scope="col">{T.$node}</th><th scope="col" class="end">{T.$gpuUtilization}</th><th scope="col" class="end">{T.$lastLower}</th><th scope="col" class="end">{T.$gpuMemory}</th><th scope="col" class="end">{T.$cores}</th><th scope="col" class="end">{T.$lastLower}</th><th scope="col" class="end">{T.$memory}</th></tr></thead>
          <tbody>{rows.slice(0, 256).map(([task, all]) => (
            <tr key={task} data-slowest={task === slow || undefined}>
              <td><Link to={workloadPath(w.project, w.name, `logs&attempt=${attempt}&task=${task}`)}>{all[0]?.role} {task}</Link>{task === slow && T.$slowest}</td>
              <td class="muted">{all[0]?.node}</td>
              <td class="end">{show(mean(all, 'gpu_utilization_ratio', (s) => s.mean), percent)}</td>
              <td class="end">{show(mean(all, 'gpu_utilization_ratio', (s) => s.last), percent)}</td>
              <td class="end">{show(mean(all, 'gpu_memory_bytes', (s) => s.last), (v) => bytes(Math.round(v)))}</td>
              <td class="end">{show(mean(all, 'cpu_cores', (s) => s.mean), figure)}</td>
              <td class="end">{show(mean(all, 'cpu_cores', (s) => s.last), figure)}</td>
              <td class="end">{show(mean(all, 'memory_bytes', (s) => s.last), (v) => bytes(Math.round(v)))}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </Card>
  )
}

/** Series as lines of a table, one for each step of each. */
function rowsOf(m: Measured, of: MetricSeries[]): (string | number)[][] {
  const lines: (string | number)[][] = [['time', 'metric', 'role', 'task', 'node', 'device', 'value']]
  for (const s of of) {
    s.values.forEach((v, i) => {
      if (v !== null && v !== undefined) lines.push([new Date(ms(m.from) + i * m.stepSeconds * 1000).toISOString(), s.metric, s.role ?? '', s.task ?? '', s.node ?? '', s.device ?? '', v])
    })
  }
  return lines
}
