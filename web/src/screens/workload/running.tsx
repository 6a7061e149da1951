// What one glance should tell of work that runs: how far it is and when it ends, what
// it reports, what its GPUs do, which rank holds it up, what it wrote last, and what a
// stop would lose.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { params, streamSeen, workloadURL } from '../../api/client'
import type { Metrics, MetricSeries, Reported, Workload } from '../../api/types'
import { now } from '../../lib/clock'
import { bytes, count, figure, gpus, localTimes, moment, ms, plural, span } from '../../lib/format'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { plain, settled } from '../../lib/ansi'
import { Age, At, Bar, Card, Link } from '../../ui/basics'
import { through } from '../../ui/plot'
import { Tile } from '../../ui/tile'
import { paceOf } from '../../work/reported'
import { phrase, T } from '../../texts'

const percent = (v: number): string => `${Math.round(v * 100)} %`

export function Running({ w, reported, children }: { w: Workload; reported: Reported | null; children: ComponentChildren }) {
  const { data: m } = useLive<Metrics>(workloadURL(w.project, w.name) + '/metrics' + params({ since: '10m' }), 'beat', 8000)
  return (
    <>
      <div class="tiles wide now-tiles">
        {w.kind === 'inference' ? <><Replicas w={w} /><Requests w={w} m={m} /></> : <Progress w={w} reported={reported} />}
        <GPUs w={w} m={m} />
        <Slowest w={w} m={m} />
        <Stop w={w} />
      </div>
      {children}
      <Tail w={w} />
    </>
  )
}

/** How far it is, how fast, and when it is done. */
function Progress({ w, reported }: { w: Workload; reported: Reported | null }) {
  const p = w.progress
  const ran = now.value - ms(w.attempts[w.attempts.length - 1]?.runningAt)
  if ((w.spec as { array?: unknown } | undefined)?.array) {
    const over = w.tasks.succeeded + w.tasks.failed + (w.tasks.canceled ?? 0)
    // Where no task waits for another's place the rest end when they do, whatever has ended before.
    const rest = over > 0 && over < w.tasks.total && w.tasks.pending > 0 ? (ran / over) * (w.tasks.total - over) : NaN
    return <Tile name={T.$progress} value={percent(over / w.tasks.total)} note={<>{phrase(T.$tasksOverOfTotal, { over: count(over), total: count(w.tasks.total) })}{w.tasks.failed > 0 && <span class="bad"> · {phrase(T.$nFailedTasks, { n: count(w.tasks.failed) })}</span>}{Number.isFinite(rest) && <><br /><b>{phrase(T.$endsAboutTimeInTime2, { time: moment(now.value + rest, now.value, false), time2: span(rest) })}</b></>}</>}><Bar part={over} whole={w.tasks.total} label={percent(over / w.tasks.total)} tone="running" /></Tile>
  }
  if (!p || p.attempt !== w.attempt) {
    return <Tile name={T.$runTime} value={span(ran)} note={w.kind === 'workspace' || w.kind === 'inference' ? undefined : T.$itReportsNoProgress} />
  }
  const pace = paceOf((reported?.series ?? []).find((s) => s.attempt === p.attempt && s.task === (p.task ?? 0) && s.metric === ''))
  const rest = p.total && pace ? (Math.max(0, p.total - p.step) / pace.perSecond) * 1000 : NaN
  const slow = pace && pace.perSecond < 1
  const rate = pace && (slow ? phrase(T.$figurePerStep, { figure: span2(1 / pace.perSecond) }) : phrase(T.$figureStepsPerSecond, { figure: figure(pace.perSecond) }))
  const silent = now.value - ms(p.at)
  const ends = ms(p.at) + rest
  return (
    <Tile name={T.$progress} value={p.total ? percent(p.step / p.total) : count(p.step)} {...(p.total ? {} : { of: '' })}
      note={<>
        {p.total ? phrase(T.$stepStepOfTotal, { step: count(p.step), total: count(p.total) }) : T.$stepsSoFar}{rate && ' · ' + rate}
        {ends > now.value && p.step < (p.total ?? 0) && <><br /><b>{phrase(T.$endsAboutTimeInTime2, { time: <At at={ends} now={now.value} />, time2: span(Math.max(0, ends - now.value)) })}</b></>}
        {silent > 120_000 && <><br /><span class="warn">{phrase(T.$noReportForTime, { time: span(silent) })}</span></>}
      </>}>
      {p.total ? <Bar part={p.step} whole={p.total} label={percent(p.step / p.total)} tone="running" /> : null}
    </Tile>
  )
}

/** How many replicas take requests, and why not all. */
function Replicas({ w }: { w: Workload }) {
  const r = w.replicas
  if (!r) return null
  const why = w.conditions.filter((c) => c.type === 'Degraded' || c.type === 'Scaling').map((c) => c.message || c.reason).filter((x): x is string => !!x)
  const bad = (w.attempts[w.attempts.length - 1]?.tasks ?? []).find((t) => (t.restarts ?? 0) > 0 || t.state === 'failed')
  return (
    <Tile name={T.$replicas} value={String(r.ready)} of={String(r.wanted)} tone={r.ready < r.wanted ? 'queued' : undefined} to={workloadPath(w.project, w.name, 'tasks')}
      note={r.ready < r.wanted ? <>{why.map((x) => <div key={x}>{localTimes(x, now.value)}</div>)}{bad && <div>{`${bad.role} ${bad.index}: ${bad.message || [bad.reason || bad.waiting || bad.state, bad.exitCode ? phrase(T.$exitCodeExitCode, { exitCode: bad.exitCode }) : ''].filter(Boolean).join(', ')}`}</div>}{why.length === 0 && !bad && phrase(T.$runningOfTotalReplicas, { running: r.running, total: r.wanted })}</> : w.replicas?.url ?? T.$allOfThemTakeRequests} />
  )
}

/** What comes to its address: how often, how long an answer takes, how many fail. */
function Requests({ w, m }: { w: Workload; m: Metrics | null }) {
  const [rate] = lasts(m, 'requests_per_second')
  const [errors] = lasts(m, 'request_errors_per_second')
  const [median] = lasts(m, 'request_median_seconds')
  const [p95] = lasts(m, 'request_p95_seconds')
  if (rate === undefined) return null
  return (
    <Tile name={T.$requestsPerSecond} value={figure(rate)} tone={errors ? 'failed' : undefined} to={workloadPath(w.project, w.name, 'metrics')}
      note={<>{median !== undefined && p95 !== undefined ? phrase(T.$answersInMedianP95, { median: brief(median), p95: brief(p95) }) : T.$noRequestsOfLate}{errors ? <><br /><span class="bad">{phrase(T.$errorsFailPerSecond, { errors: figure(errors) })}</span></> : null}</>}>
      <Trend of={(m?.series ?? []).filter((s) => s.metric === 'requests_per_second')} />
    </Tile>
  )
}

/** A time that an answer takes. */
const brief = (seconds: number): string => (seconds < 1 ? `${figure(seconds * 1000)} ms` : `${figure(seconds)} s`)

/** A short time in seconds, with as many places as it takes. */
const span2 = (seconds: number): string => (seconds < 60 ? figure(seconds) + ' s' : span(seconds * 1000))

const mean = (vs: number[]): number => vs.reduce((a, b) => a + b, 0) / vs.length
const lasts = (m: Metrics | null, metric: string): number[] => (m?.series ?? []).filter((s) => s.metric === metric).map((s) => s.last).filter((v): v is number => v !== undefined && v !== null)

/** What its GPUs do now; where it has none, its processors. */
function GPUs({ w, m }: { w: Workload; m: Metrics | null }) {
  const to = workloadPath(w.project, w.name, 'metrics')
  const use = lasts(m, 'gpu_utilization_ratio')
  if (w.gpusHeld > 0 || use.length > 0) {
    const used = lasts(m, 'gpu_memory_bytes').reduce((a, b) => a + b, 0)
    const whole = lasts(m, 'gpu_memory_total_bytes').reduce((a, b) => a + b, 0)
    const text = [plural(w.gpusHeld, T.$nGPUs), whole > 0 && phrase(T.$memoryUsedOfTotal, { used: bytes(used), total: bytes(whole) })].filter(Boolean).join(' · ')
    return <Tile to={to} name={T.$gpuUtilization} value={use.length ? percent(mean(use)) : '–'} note={use.length ? text : text + ' · ' + T.$notMeasured}><Trend of={(m?.series ?? []).filter((s) => s.metric === 'gpu_utilization_ratio')} most={1} /></Tile>
  }
  const cores = lasts(m, 'cpu_cores')
  const memory = lasts(m, 'memory_bytes')
  return <Tile to={to} name={T.$cpuCores} value={cores.length ? gpus(cores.reduce((a, b) => a + b, 0)) : '–'} note={memory.length ? phrase(T.$memoryOfBytes, { bytes: bytes(memory.reduce((a, b) => a + b, 0)) }) : T.$notMeasured}><Trend of={(m?.series ?? []).filter((s) => s.metric === 'cpu_cores')} /></Tile>
}

/** The mean of some series in the last minutes, as a line. */
function Trend({ of, most }: { of: MetricSeries[]; most?: number }) {
  const n = Math.max(0, ...of.map((s) => s.values.length))
  const vs = Array.from({ length: n }, (_, i) => {
    const at = of.map((s) => s.values[i]).filter((v): v is number => v !== undefined && v !== null)
    return at.length ? mean(at) : null
  })
  const top = most ?? Math.max(1e-9, ...vs.map((v) => v ?? 0))
  if (vs.every((v) => v === null)) return null
  return <svg class="trend" viewBox="0 0 100 22" preserveAspectRatio="none" aria-hidden="true"><path class="ground" d="M0 21.5H100" /><path d={through(vs, (i) => (i / Math.max(1, n - 1)) * 100, (v) => 20.5 - Math.min(1, v / top) * 19)} /></svg>
}

/** The rank that does least, of those that work together. */
function Slowest({ w, m }: { w: Workload; m: Metrics | null }) {
  const s = m?.slowest
  if (!s || w.kind !== 'distributed') return null
  const say = (v: number): string => (s.metric === 'cpu_cores' ? figure(v) : percent(v))
  return <Tile to={workloadPath(w.project, w.name, `logs&attempt=${w.attempt}&task=${s.task}`)} name={s.behind ? T.$slowestRank : T.$leastBusyRank} value={`${s.role} ${s.task}`} tone={s.behind ? 'failed' : undefined}
    note={<>{phrase(T.$valueTheMedianIsMedian, { value: say(s.value), median: say(s.median) })}<br />{phrase(T.$onNode, { node: s.node })}</>} />
}

/** The last checkpoint, and what is gone if it is stopped now. */
function Stop({ w }: { w: Workload }) {
  const a = w.attempts[w.attempts.length - 1]
  if (w.kind === 'workspace' || w.kind === 'inference' || !a?.runningAt) return null
  const c = w.checkpoint
  const since = now.value - Math.max(ms(a.runningAt), c ? ms(c.at) : 0)
  const steps = w.progress && w.progress.attempt === w.attempt ? w.progress.step - (c?.step ?? 0) : 0
  const hours = (since / 3600_000) * w.gpusHeld
  const lost = [span(since), hours >= 0.005 && phrase(T.$gpuSecondsGPUHours, { gpuSeconds: gpus(Math.round(hours * 100) / 100) }).replace(/^[,\s]+/, ''), c?.step && steps > 0 && plural(steps, T.$nSteps)].filter(Boolean).join(', ')
  return (
    <Tile name={T.$checkpoint} value={c ? (c.step ? phrase(T.$stepStep, { step: count(c.step) }) : T.$saved2) : T.$none2}
      note={<>{c && <>{phrase(T.$savedAgeAgo, { age: <Age counted at={c.at} /> })}<br /></>}{phrase(T.$aStopNowLosesLost, { lost })}</>} />
  )
}

const lines = 8

/** The last lines of a log as it grows, while the page is seen; null: not there yet. */
function useTail(path: string): string | null {
  const [text, setText] = useState<string | null>(null)
  useEffect(() => {
    let over = false
    let abort = new AbortController()
    const follow = async (): Promise<void> => {
      for (let tries = 0; !over && tries < triesMost; tries++) {
        abort = new AbortController()
        try {
          const reader = (await streamSeen(path, abort)).body!.getReader()
          const decoder = new TextDecoder()
          for (let have = ''; ; ) {
            const { done, value } = await reader.read()
            if (done) return // its task has ended
            tries = 0
            have = (have + decoder.decode(value, { stream: true })).split('\n').slice(-lines - 1).join('\n').slice(-longest)
            if (!over) setText(have)
          }
        } catch {
          if (over) return
          await new Promise((again) => setTimeout(again, 2000)) // it was hidden meanwhile, or the server or the output is not there yet
        }
      }
    }
    setText(null)
    void follow()
    return () => {
      over = true
      abort.abort()
    }
  }, [path])
  return text
}

const triesMost = 30
const longest = 20_000 // characters that are kept: a line has no bound

/** What it wrote last: of rank 0, or of the first task that runs. */
function Tail({ w }: { w: Workload }) {
  const a = w.attempts[w.attempts.length - 1]
  const first = a?.tasks.find((t) => t.state === 'running') ?? a?.tasks[0]
  const task = w.kind === 'distributed' ? a?.tasks[0]?.index ?? 0 : first?.index ?? 0
  const data = useTail(workloadURL(w.project, w.name) + '/logs' + params({ attempt: String(w.attempt), task: String(task), tail: lines, follow: true }))
  const text = (data ?? '').split('\n').map((l) => plain(settled(l))).join('\n').trimEnd()
  return (
    <Card class="wide log-tail" title={T.$outputNow} aside={<Link to={workloadPath(w.project, w.name, `logs&attempt=${w.attempt}&task=${task}`)}>{T.$openTheLog}</Link>}>
      {text ? <pre class="code" tabIndex={0} aria-label={T.$outputNow}><code>{text}</code></pre> : <p class="muted">{T.$nothingWrittenYet}</p>}
    </Card>
  )
}
