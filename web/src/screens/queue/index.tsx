import './style.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Row, Standing, StandingList, Wait } from '../../api/types'
import { now } from '../../lib/clock'
import { count, gpus, localTimes, plural } from '../../lib/format'
import { useKeys } from '../../lib/keys'
import { go, readable, setQuery, workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { allRows, cluster, loadError, loading, rowsVersion, session, waits } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { Age, Bar, Button, Card, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { lentBy, QuotaBar } from '../../ui/quotabar'
import { Icon } from '../../ui/icons'
import { python } from '../../work/acts'
import { groups } from '../../work/filter'
import { priorityWord, usual } from '../../work/priority'
import { ExpectedStart } from '../../work/start'
import { waitingCount } from '../../work/waiting'
import { WhyPanel } from '../../work/why'
import { ask, estimates } from './ranges'
import { phrase, T } from '../../texts'

const first = 12 // rows of a queue that are shown at once

interface Waiting { row: Row; wait: Wait | undefined }

/** Those that wait, by project, each project in its order. */
function useQueues(only: string, mine: boolean): [string, Waiting[]][] {
  const version = rowsVersion.value
  const known = waits.value
  const me = session.value?.user ?? ''
  return useMemo(() => {
    const by = new Map<string, Waiting[]>()
    for (const row of allRows()) {
      if (!groups.waiting!.has(row.phase) || (only && row.project !== only) || (mine && row.user !== me)) continue
      const list = by.get(row.project) ?? []
      list.push({ row, wait: known.get(row.id) })
      by.set(row.project, list)
    }
    const place = (w: Waiting): number => w.wait?.position || Infinity
    for (const list of by.values()) list.sort((a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : b.row.priority - a.row.priority || a.row.number - b.row.number))
    return [...by].sort((a, b) => b[1].reduce((n, w) => n + w.row.gpus, 0) - a[1].reduce((n, w) => n + w.row.gpus, 0) || a[0].localeCompare(b[0]))
  }, [version, known, only, mine, me])
}

function Queue({ query }: ScreenProps) {
  const only = query.get('project') ?? ''
  const mine = query.get('mine') === 'yes'
  const queues = useQueues(only, mine)
  const { data: quota } = useLive<StandingList>('v1/quota')
  const all = queues.flatMap(([, list]) => list)
  const open = query.get('why') ?? ''
  const [project, name] = split(open)
  const shown = all.find((w) => w.row.project === project && (w.row.name === name || w.row.id === name))
  useEffect(() => ask(queues.flatMap(([, list]) => list.slice(0, first)).filter(({ row, wait }) => row.phase === 'Queued' && wait && !wait.never && !wait.start && !wait.startLate).map(({ row, wait }) => ({ id: row.id, project: row.project, name: row.id, known: `${wait!.position} ${wait!.token}` }))))
  const step = (by: number): void => {
    const i = all.findIndex((w) => w === shown)
    const next = all[Math.max(0, Math.min(all.length - 1, i < 0 ? 0 : i + by))]
    if (next) openWhy(next.row)
  }
  useKeys(() => [
    { keys: 'j', does: T.$nextWaitingWorkload, run: () => step(1) },
    { keys: 'k', does: T.$previousWaitingWorkload, run: () => step(-1) },
    { keys: 'escape', does: T.$close, run: () => setQuery({ why: null }) },
    { keys: 'enter', does: T.$openWorkload, run: () => shown && go(workloadPath(shown.row.project, shown.row.name)) },
  ])
  const asked = all.reduce((n, w) => n + w.row.gpus, 0)
  const there = only || mine ? all.length : waitingCount.value
  const projects = [...new Set([...queues.map(([p]) => p), ...(only ? [only] : [])])]
  const sub = loading.value === 'first' ? null : there === 0 ? T.$nothingIsWaiting : there > all.length ? <>{phrase(T.$workloadsWaitingTheFirst, { workloads: plural(there, T.$nWorkloads) })}</> : <>{phrase(T.$workloadsWaiting, { workloads: plural(all.length, T.$nWorkloads) })}{asked > 0 && <>{phrase(T.$forGpus, { gpus: plural(asked, T.$nGPUs) })}</>}</>
  return (
    <Page title={T.$queue} sub={sub} actions={<CopyAs of={() => ({
      cli: 'muster util\nmuster why NAME',
      python: python('for w in client.workloads(phases=["Queued"]).all():', '    print(w.name, w.pending)'),
      curl: curl('v1/projects/-/workloads?phase=Queued'),
    })} />}>
      <PoolStrip quota={quota?.items ?? []} />
      <div class="toolbar">
        <div class="presets" role="group" aria-label={T.$show}>
          <button type="button" aria-pressed={mine} onClick={() => setQuery({ mine: mine ? null : 'yes' })}>{T.$mine}</button>
        </div>
        {(projects.length > 1 || only) && (
          <label class="pick">{phrase(T.$projectChoice, { choice: <select value={only} onChange={(e) => setQuery({ project: e.currentTarget.value || null })}><option value="">{T.$all}</option>{projects.sort().map((p) => <option key={p} value={p}>{p}</option>)}</select> })}</label>
        )}
      </div>
      {loadError.value && loading.value === 'first' ? <Failure error={loadError.value} /> : loading.value === 'first' ? <Loading what={T.$loadingTheQueue} /> : (
        <div class="queue" data-open={open ? true : undefined}>
          <div class="queue-list">
            {queues.length === 0
              ? <Empty icon="check" title={mine || only ? T.$noWaitingWorkloadMatches : T.$nothingIsWaiting}>{mine || only ? <Button onClick={() => setQuery({ mine: null, project: null })}>{T.$showAll}</Button> : <p>{T.$submittedWorkloadsStartAt}</p>}</Empty>
              : queues.map(([p, list]) => <OneQueue key={p} project={p} list={list} quota={quota?.items ?? []} chosen={shown?.row.id ?? ''} />)}
          </div>
          {open && (
            <aside class="queue-side card" aria-label={T.$whyTheWorkloadIsWaiting}>
              <WhyPanel key={open} project={project} name={name} close={() => setQuery({ why: null })} />
            </aside>
          )}
        </div>
      )}
    </Page>
  )
}

const split = (text: string): [string, string] => {
  const i = text.indexOf('/')
  return i < 0 ? ['default', text] : [text.slice(0, i), text.slice(i + 1)]
}

const openWhy = (r: Row): void => {
  const q = new URLSearchParams(location.search)
  q.set('why', r.project + '/' + r.name)
  go('queue?' + readable(q), true)
}

/** What each pool has free, and how much waits for it. */
function PoolStrip({ quota }: { quota: Standing[] }) {
  const pools = (cluster.value?.pools ?? []).filter((p) => p.nodes > 0)
  if (pools.length === 0) return null
  return (
    <div class="queue-pools">
      {pools.map((p) => {
        const tops = quota.filter((s) => s.pool === p.name && !s.department)
        const n = tops.reduce((a, s) => a + s.queued, 0)
        const wanted = tops.reduce((a, s) => a + s.queuedGpus, 0)
        const gpu = p.gpu.total > 0
        const [used, total] = gpu ? [p.gpu.used, p.gpu.total] : [p.cpu.used, p.cpu.total]
        const free = gpu ? phrase(T.$freeOfTotalGPUsFree, { free: gpus((total - used) / 1000), total: gpus(total / 1000) }) : phrase(T.$usedOfTotalCoresFree, { used: gpus(Math.floor((total - used) / 100) / 10), total: gpus(total / 1000) })
        return (
          <section key={p.name} class="queue-pool" aria-label={phrase(T.$poolChoice, { choice: p.name })}>
            <div class="queue-pool-name"><span class="clip">{p.name}</span><span>{free}</span></div>
            <Bar part={used} whole={total} label={free} />
            <div class="muted">{n === 0 ? T.$nothingIsQueuedForIt : <>{phrase(T.$workloadsQueued, { workloads: plural(n, T.$nWorkloads) })}{wanted > 0 && `, ${plural(wanted, T.$nGPUs)}`}</>}{p.shutGpu > 0 && phrase(T.$shutGpuUnavailable, { shutGpu: gpus(p.shutGpu / 1000) })}</div>
          </section>
        )
      })}
    </div>
  )
}

function OneQueue({ project, list, quota, chosen }: { project: string; list: Waiting[]; quota: Standing[]; chosen: string }) {
  const [whole, setWhole] = useState(false)
  const s = quota.filter((s) => s.project === project).sort((a, b) => b.queuedGpus - a.queuedGpus || b.gpu.used - a.gpu.used)[0]
  const p = cluster.value?.projects.find((x) => x.name === project)
  const pool = cluster.value?.pools.find((x) => x.name === s?.pool)
  const scale = s ? Math.max(s.gpu.limit ?? 0, s.gpu.guaranteed ?? 0, s.gpu.used, (pool?.gpu.total ?? 0) / 1000, 1) : 1
  const asked = list.reduce((n, w) => n + w.row.gpus, 0)
  const rows = whole ? list : list.slice(0, first)
  return (
    <Card class="queue-card" title={<><Link to={'projects/' + encodeURIComponent(project)}>{project}</Link><span class="muted">{plural(list.length, T.$nWorkloads)}{asked > 0 && `, ${plural(asked, T.$nGPUs)}`}</span></>}
      aside={<>
        {s && s.gpu.used + (s.gpu.guaranteed ?? 0) > 0 ? <QuotaBar of={s.gpu} resource="gpu" scale={scale} lent={lentBy(s, 'gpu', quota)} /> : <span />}
        <span>{p?.stopped ? <span class="status plain" data-tone="blocked"><Icon name="noentry" size={14} /><span>{phrase(T.$stoppedMore, { more: p.note && ': ' + p.note })}</span></span> : s ? `${gpus(s.gpu.used)} ${s.gpu.guaranteed === undefined ? T.$gpusInUse : phrase(T.$ofGuaranteedGuaranteed, { guaranteed: gpus(s.gpu.guaranteed) })}` : ''}</span>
      </>}>
      <table class="queue-table" aria-label={phrase(T.$queueOfProject, { project })}>
        <colgroup><col class="c-place" /><col class="c-name" /><col class="c-gpus" /><col class="c-why" /><col class="c-start" /><col class="c-age" /></colgroup>
        <thead><tr><th scope="col"><span>{T.$position}</span></th><th scope="col"><span>{T.$workload}</span></th><th scope="col" class="end"><span>{T.$gpus}</span></th><th scope="col" class="c-why"><span>{T.$why}</span></th><th scope="col" class="end"><span>{T.$start}</span></th><th scope="col" class="end c-age"><span>{T.$waiting3}</span></th></tr></thead>
        <tbody>
          {rows.map(({ row, wait }) => {
            const told = localTimes(wait?.message ?? row.message ?? '', now.value)
            return (
              <tr key={row.id} data-chosen={chosen === row.id || undefined} data-name={row.name}>
                <td><span class="queue-place">{wait?.position ? '#' + wait.position : '–'}</span></td>
                <td>
                  <button type="button" class="queue-name" aria-expanded={chosen === row.id} onClick={() => openWhy(row)}>{row.name}</button>
                  <div class="queue-who">{row.user}{row.priority !== usual(row.kind, row.preemptible) && phrase(T.$priorityPriority, { priority: priorityWord(row.priority) })}{row.attempt > 0 && phrase(T.$attemptAttempt, { attempt: row.attempt })}</div>
                  <div class="queue-below">{told}</div>
                </td>
                <td class="end">{row.gpus > 0 ? count(row.gpus) : <span class="none">–</span>}</td>
                <td class="c-why" title={told}><code class="queue-why">{wait?.token ?? row.reason ?? row.phase}</code><span class="queue-why muted">{told}</span></td>
                <td class="end"><Start id={row.id} wait={wait} /></td>
                <td class="end c-age"><Age at={row.since} /></td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {list.length > rows.length && <button type="button" class="queue-more" onClick={() => setWhole(true)}>{phrase(T.$showAllList, { list: count(list.length) })}</button>}
    </Card>
  )
}

/** The range of its start, as far as it is known. */
function Start({ id, wait }: { id: string; wait: Wait | undefined }) {
  if (wait?.never) return <span class="status plain" data-tone="blocked"><Icon name="noentry" size={14} /><span>{T.$never}</span></span>
  return <ExpectedStart id={id} asked={estimates.value.get(id)} none={<span class="none">–</span>} />
}

export default {
  path: 'queue',
  title: () => T.$queue,
  view: Queue,
  nav: { label: T.$queue, icon: 'queue', order: 30, key: 'q' },
} satisfies Screen
