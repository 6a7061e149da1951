import './style.css'
import { useMemo } from 'preact/hooks'
import type { Cluster, Holdings, Metrics, Row } from '../../api/types'
import { cells, freeOf, stateOf, takes, troubles, useHoldings, version } from '../../fleet/nodes'
import { Legend, milli, NodeLink, NodeStatus, Stack } from '../../fleet/parts'
import { now, present } from '../../lib/clock'
import { count, figure, gpus, ms, plural } from '../../lib/format'
import { oneOf, remembered } from '../../lib/prefs'
import { workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { allRows, cluster, loadError, loading, olderLeft, phases, rowsVersion, waits } from '../../live/store'
import type { Screen } from '../../screen'
import { Age, Card, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { SaveChart } from '../../ui/savechart'
import { figures, Plot, rowsOfLines, top, stretches, Stretches, Twin, type Look } from '../../ui/plot'
import { Status } from '../../ui/status'
import { Tile } from '../../ui/tile'
import { groups } from '../../work/filter'
import { waitingCount } from '../../work/waiting'
import { python } from '../../work/acts'
import { ExpectedStart } from '../../work/start'
import { firstErrorOf, useFirstErrors } from '../../work/firsterrors'
import { phrase, T } from '../../texts'

const day = 24 * 3600_000

/** What of GPUs is held, busy, idle and free. */
interface Sums { total: number; held: number; busy: number; idle: number; free: number; shut: number }

function sums(c: Cluster, h: Holdings | null, pool?: string): Sums {
  const out: Sums = { total: 0, held: 0, busy: 0, idle: 0, free: 0, shut: 0 }
  const nodes = c.nodes.filter((n) => pool === undefined || n.pool === pool)
  for (const x of cells(nodes, h)) {
    const used = Math.min(1, x.device.used / 1000)
    out.total++
    out.held += used
    if (x.busy !== undefined && x.busy > 0) out.busy += used
    else if (x.busy === 0) out.idle += used
    if (!x.device.healthy || !takes(x.node)) out.shut += 1 - used
  }
  out.free = nodes.reduce((n, x) => n + freeOf(x), 0)
  return out
}

const bar = (s: Sums): { name: string; amount: number; look: string }[] => [
  { name: T.$busy, amount: s.busy, look: 'busy' }, { name: T.$notMeasured, amount: Math.max(0, s.held - s.busy - s.idle), look: 'held' },
  { name: T.$idleLower, amount: s.idle, look: 'idle' }, { name: T.$unavailableLower, amount: s.shut, look: 'shut' },
]

const sayBar = (s: Sums): string => phrase(T.$heldOfTotalGPUsAllocated, { held: gpus(s.held), total: gpus(s.total), busy: gpus(s.busy), idle: gpus(s.idle), free: gpus(s.free), shut: gpus(s.shut) })

function Overview() {
  const c = cluster.value
  const { data: h } = useHoldings()
  return (
    <Page title={T.$overview} class="overview-page" actions={<CopyAs of={() => ({
      cli: 'muster util', python: python('c = client.cluster()', 'for n in c["nodes"]:', '    print(n["name"], n["gpu"])'), curl: curl('v1/cluster'),
    })} />}>
      {!c ? loadError.value ? <Failure error={loadError.value} /> : <Loading what={T.$loadingTheCluster} /> : (
        <>
          <Tiles c={c} s={useMemo(() => sums(c, h), [version(c), h])} />
          <div class="overview-grid">
            <Pools c={c} h={h} />
            <div class="overview-side"><Course /><Failures /></div>
            <div class="overview-side"><Who h={h} /><Next /><Trouble c={c} /></div>
          </div>
        </>
      )}
    </Page>
  )
}

function Tiles({ c, s }: { c: Cluster; s: Sums }) {
  const p = phases.value
  const sum = (group: string): number => [...groups[group]!].reduce((n, x) => n + (p[x] ?? 0), 0)
  const bad = useFailures()
  const waiting = waitingCount.value
  const ask = [...waits.value.values()].filter((w) => w.act === 'ask' || w.act === 'change').length
  const ready = c.nodes.filter((n) => stateOf(n) === 'Ready').length
  return (
    <div class="tiles">
      <Tile name={T.$gpusAllocated} value={gpus(s.held)} of={gpus(s.total)} to="map" note={s.total === 0 ? T.$noGPUs2 : phrase(T.$freeOfFree, { freeOf: gpus(s.free) })}><Stack parts={bar(s)} whole={s.total} label={sayBar(s)} /></Tile>
      <Tile name={T.$allocatedButIdle} value={gpus(s.idle)} to="map?by=use" tone={s.idle > 0 ? 'degraded' : undefined} note={s.idle > 0 ? T.$noActivityMeasured : s.busy > 0 ? T.$allAllocatedGPUsAreBusy : T.$notMeasuredYet} />
      <Tile name={T.$running} value={count(sum('started'))} to="workloads?q=status:started" note={p.Starting ? phrase(T.$startingStarting, { Starting: p.Starting }) : T.$workloads2} />
      <Tile name={T.$waiting2} value={count(waiting)} to="workloads?q=status:waiting" tone={ask > 0 ? 'queued' : undefined} note={ask > 0 ? phrase(T.$askNeedAction, { ask }) : waiting > 0 ? T.$noActionNeeded : T.$nothingIsWaitingLower} />
      <Tile name={T.$failedIn24H} value={count(bad.length)} to={lately} tone={bad.length > 0 ? 'failed' : undefined} note={ofThose() ?? (bad[0] ? <>{phrase(T.$mostRecentAgeAgo, { age: <Age counted at={bad[0].endedAt} /> })}</> : T.$noneFailed)} />
      <Tile name={T.$nodesReady} value={count(ready)} of={count(c.nodes.length)} to="nodes" tone={ready < c.nodes.length ? 'degraded' : undefined} note={plural(c.pools.length, T.$nPools)} />
    </div>
  )
}

const lately = 'workloads?q=status:bad ended<1d'

/** Of which workloads failures are counted, where not all are here. */
const ofThose = (): string | undefined => (loading.value === 'more' ? T.$olderOnesAreStillLoading : olderLeft.value ? phrase(T.$ofTheNewestAllRows, { allRows: count(allRows().length) }) : undefined)

/** What has failed within a day, the last first. */
function useFailures(): Row[] {
  const v = rowsVersion.value
  const minute = Math.floor(now.value / 60_000)
  return useMemo(() => {
    const from = present() - day
    return allRows().filter((r) => groups.bad!.has(r.phase) && ms(r.endedAt) > from).sort((a, b) => ms(b.endedAt) - ms(a.endedAt))
  }, [v, minute])
}

function Pools({ c, h }: { c: Cluster; h: Holdings | null }) {
  const rows = useMemo(() => c.pools.map((p) => ({ p, s: sums(c, h, p.name) })), [version(c), h])
  return (
    <Card title={T.$gpusByPool} class="wide" aside={<Legend of={[{ name: T.$busy2, look: 'busy' }, { name: T.$notMeasured2, look: 'held' }, { name: T.$idle, look: 'idle' }, { name: T.$unavailable, look: 'shut' }, { name: T.$free, look: 'free' }]} />}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$pools}>
        <table class="plain pool-table">
          <thead><tr><th scope="col">{T.$pool}</th><th scope="col" class="pool-bar"><span class="sr">{T.$shareAllocated}</span></th><th scope="col" data-align="end">{T.$allocated}</th><th scope="col" data-align="end" class="wide">{T.$busy2}</th><th scope="col" data-align="end" class="wide">{T.$idle}</th><th scope="col" data-align="end">{T.$free}</th><th scope="col" data-align="end">{T.$gpus}</th><th scope="col" data-align="end" class="wide">{T.$nodes}</th></tr></thead>
          <tbody>
            {rows.map(({ p, s }) => (
              <tr key={p.name}>
                <td><Link to={'map?pool=' + encodeURIComponent(p.name)} class="row-link clip">{p.name}</Link></td>
                <td class="pool-bar"><Stack parts={bar(s)} whole={s.total} label={sayBar(s)} /></td>
                <td data-align="end">{gpus(s.held)}</td><td data-align="end" class="wide">{gpus(s.busy)}</td><td data-align="end" class="wide">{gpus(s.idle)}</td><td data-align="end"><b>{gpus(s.free)}</b></td><td data-align="end">{gpus(s.total)}</td><td data-align="end" class="wide">{p.nodes}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

const stretch = remembered<string>('overview.since', '1h', oneOf(...stretches))

const lineLooks: [string, string, Look][] = [['gpus', T.$gpus, 'limit'], ['gpus_allocated', T.$allocated, 'area'], ['gpus_idle_allocated', T.$allocatedButIdle, 'idle'], ['gpus_waited_for', T.$requestedByWaiting, 'thin']]

/** How it went of late. */
function Course() {
  const { data: m, error, again } = useLive<Metrics>('v1/metrics?since=' + stretch.value, 'beat', 10_000)
  const of = (metric: string): Metrics['series'][number] | undefined => m?.series.find((s) => s.metric === metric && !s.project)
  const known = lineLooks.flatMap(([metric, name, look]) => {
    const s = of(metric)
    return s && (metric !== 'gpus_waited_for' || (s.max ?? 0) > 0) ? [{ name, look, of: s }] : []
  })
  return (
    <Card title={T.$trend} aside={<span class="metrics-aside">{m && known.length > 0 && <SaveChart of={T.$gpusOverTime} file="gpus" rows={() => rowsOfLines(ms(m.from), m.stepSeconds, known.map((k) => ({ name: k.name, values: k.of.values as (number | null)[] })))} />}<Stretches chosen={stretch.value} choose={(s) => (stretch.value = s)} /></span>}>
      {error && !m ? <Failure error={error} again={again} /> : !m ? <Loading rows={3} /> : known.length === 0 ? <p class="muted">{T.$noMeasurementsYetTheFirst}</p> : (
        <div class="plot">
          <Plot label={T.$gpusOverTime} most={top(Math.max(...known.filter((k) => k.of.metric !== 'gpus_waited_for').map((k) => k.of.max ?? 0)))[0]} from={ms(m.from)} step={m.stepSeconds} lines={known.map((k) => ({ id: k.name, name: k.name, look: k.look, values: k.of.values as (number | null)[] }))} format={figure} height={168} young />
          <Key of={known} />
          <Twin label={T.$gpusOverTime} head={[T.$metric, T.$last, T.$mean, T.$min, T.$max]} rows={figures(known, figure)} />
        </div>
      )}
    </Card>
  )
}

const Key = ({ of }: { of: { name: string; look: Look }[] }) => <ul class="legend">{of.map((k) => <li key={k.name}><i data-line={k.look} aria-hidden="true" />{k.name}</li>)}</ul>

const whoBy = remembered<string>('overview.who', 'user', oneOf('user', 'project'))

/** Who holds what, by user or by project. */
function Who({ h }: { h: Holdings | null }) {
  const by = whoBy.value as 'user' | 'project'
  const all = useMemo(() => {
    const sum = new Map<string, { gpu: number; idle: number; n: number }>()
    const use = new Map<number, number>()
    for (const n of h?.nodes ?? []) for (const d of n.devices) for (const x of d.held ?? []) if (d.utilization === 0) use.set(x.workload, (use.get(x.workload) ?? 0) + x.part)
    h?.workloads.forEach((w, i) => {
      const s = sum.get(w[by]) ?? { gpu: 0, idle: 0, n: 0 }
      sum.set(w[by], { gpu: s.gpu + w.gpu, idle: s.idle + (use.get(i) ?? 0), n: s.n + 1 })
    })
    return [...sum].sort((a, b) => b[1].gpu - a[1].gpu)
  }, [h, by])
  const most = all[0]?.[1].gpu ?? 1
  return (
    <Card title={T.$gpuAllocation} aside={<div class="segments small" role="group" aria-label={T.$groupBy}>{(['user', 'project'] as const).map((b) => <button key={b} type="button" aria-pressed={by === b} onClick={() => (whoBy.value = b)}>{b === 'user' ? T.$byUser : T.$byProject}</button>)}</div>}>
      {all.length === 0 ? <Nothing icon="chip" text={T.$noGPUIsAllocated} /> : (
        <table class="plain who">
          <thead class="sr"><tr><th scope="col">{by === 'user' ? T.$user : T.$project}</th><th scope="col">{T.$share}</th><th scope="col">{T.$gpus}</th></tr></thead>
          <tbody>{all.slice(0, 8).map(([name, s]) => (
            <tr key={name}>
              <td><Link to={`workloads?q=status:active ${by}:${encodeURIComponent(name)}`} class="row-link clip">{name}</Link></td>
              <td class="who-bar"><Stack parts={[{ name: 'held', amount: s.gpu - s.idle, look: 'busy' }, { name: 'idle', amount: s.idle, look: 'idle' }]} whole={most} label={phrase(T.$gpuGPUsIdleOfThemIdle, { gpu: milli(s.gpu), idle: milli(s.idle) })} /></td>
              <td data-align="end"><b>{milli(s.gpu)}</b> <span class="muted">{phrase(T.$inNMore, { n: s.n, more: s.idle > 0 && phrase(T.$idleIdle, { idle: milli(s.idle) }) })}</span></td>
            </tr>
          ))}</tbody>
        </table>
      )}
      {all.length > 8 && <p class="muted">{phrase(T.$andSideMostMore, { sideMost: all.length - 8 })}</p>}
    </Card>
  )
}

const Nothing = ({ icon, text }: { icon: 'tick' | 'chip' | 'clock'; text: string }) => <p class="nothing"><Icon name={icon} />{text}</p>

/** What comes next, and what keeps it. */
function Next() {
  const v = rowsVersion.value
  const w = waits.value
  const rows = useMemo(() => allRows().filter((r) => w.has(r.id)).sort((a, b) => (w.get(a.id)!.position ?? 1e9) - (w.get(b.id)!.position ?? 1e9) || a.number - b.number), [v, w])
  return (
    <Card title={T.$waitingWorkloads} aside={waitingCount.value > Math.min(5, rows.length) ? <Link to="workloads?q=status:waiting">{phrase(T.$allWaitingCount, { waitingCount: count(waitingCount.value) })}</Link> : undefined}>
      {rows.length === 0 ? <Nothing icon={waitingCount.value > 0 ? 'clock' : 'tick'} text={loading.value === 'first' ? T.$loading : waitingCount.value > 0 ? phrase(T.$waitingCountWaitingThe, { waitingCount: count(waitingCount.value) }) : T.$nothingIsWaiting} /> : (
        <ul class="lines">{rows.slice(0, 5).map((r) => {
          const wait = w.get(r.id)!
          return (
            <li key={r.id}>
              <span class="line-top"><Link to={workloadPath(r.project, r.name)} class="row-link clip">{r.name}</Link><span class="muted">{r.gpus > 0 && plural(r.gpus, T.$nGPUs)}{r.gpus > 0 && (wait.start || wait.startLate) && ', '}<ExpectedStart id={r.id} /></span></span>
              <span class="line-why clip" title={wait.message}>{wait.position ? <b>#{wait.position} </b> : null}{wait.message ?? wait.token}</span>
            </li>
          )
        })}</ul>
      )}
    </Card>
  )
}

function Failures() {
  const rows = useFailures()
  useFirstErrors(rows.slice(0, 5))
  return (
    <Card title={T.$recentFailures} aside={rows.length > 5 ? <Link to={lately}>{phrase(T.$allWaitingCount, { waitingCount: count(rows.length) })}</Link> : undefined}>
      {rows.length === 0 ? <Nothing icon="tick" text={loading.value === 'first' ? T.$loading : phrase(T.$noFailuresInTheLast24HMore, { more: (ofThose() ? `, ${ofThose()}` : '') })} /> : (
        <ul class="lines">{rows.slice(0, 5).map((r) => (
          <li key={r.id}>
            <span class="line-top"><Link to={workloadPath(r.project, r.name)} class="row-link clip">{r.name}</Link><Status of={r} plain /><span class="muted"><Age at={r.endedAt} /></span></span>
            <span class="line-why clip" title={r.message}>{firstErrorOf(r) || r.message || r.reason || (r.exitCode !== undefined ? phrase(T.$exitCodeExitCode, { exitCode: r.exitCode }) : '')}</span>
          </li>
        ))}</ul>
      )}
    </Card>
  )
}

/** Nodes with trouble. */
function Trouble({ c }: { c: Cluster }) {
  const all = c.nodes.map((n) => ({ n, t: troubles(n) })).filter((x) => x.t.length > 0)
  return (
    <Card title={T.$nodesWithProblems} aside={all.length > 6 ? <Link to="nodes?q=is:trouble">{phrase(T.$allWaitingCount, { waitingCount: all.length })}</Link> : undefined}>
      {c.nodes.length === 0 ? <Empty icon="node" title={T.$noNodes}><p>{phrase(T.$startAServerWithCodeOr, { code: <code>--backend local</code> })}</p></Empty>
        : all.length === 0 ? <Nothing icon="tick" text={c.nodes.length === 1 ? T.$theNodeAcceptsWorkloads : phrase(T.$allNodesNodesAccept, { nodes: c.nodes.length })} /> : (
          <ul class="lines">{all.slice(0, 6).map(({ n, t }) => (
            <li key={n.name} class="trouble"><NodeLink name={n.name} /><NodeStatus of={n} plain /><span class="line-why">{t.join('; ')}</span></li>
          ))}</ul>
        )}
    </Card>
  )
}

export default {
  path: 'overview',
  title: () => T.$overview,
  view: Overview,
  nav: { label: T.$overview, icon: 'overview', order: 10, key: 'o' },
} satisfies Screen
