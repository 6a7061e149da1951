// GPU time that was charged: what it was, whose, and when.
import { useMemo, useState } from 'preact/hooks'
import { params as queryOf } from '../../api/client'
import type { Usage, UsageList } from '../../api/types'
import { now, present } from '../../lib/clock'
import { count, exact, figure, moment, ms, plural, shell, localTimes } from '../../lib/format'
import { setQuery, workloadPath } from '../../lib/router'
import { SaveChart } from '../../ui/savechart'
import { csv, saveText } from '../../lib/save'
import { useLive } from '../../live/fetch'
import { projectNames, session } from '../../live/store'
import type { ScreenProps } from '../../screen'
import { Card, Empty, Failure, Link, Loading, Page } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Menu } from '../../ui/overlay'
import { Twin } from '../../ui/plot'
import { Tile } from '../../ui/tile'
import { python } from '../../work/acts'
import { hours } from '../../work/hours'
import { Stack as Parts } from '../../fleet/parts'
import { Columns, type Stack } from './columns'
import { phrase, T } from '../../texts'

const periods = { '24h': [T.$24Hours, 24, 1], '7d': [T.$7Days, 168, 6], '30d': [T.$30Days, 720, 24], '90d': [T.$90Days, 2160, 24] } as const
type Period = keyof typeof periods

const groupings = ['project', 'user', 'workload'] as const
type By = (typeof groupings)[number]

const most = 7 // groups that are told apart in the picture

/** What a group is called. */
const nameOf = (u: Usage, by: By): string => (by === 'workload' ? (u.workload ?? '') : by === 'user' ? (u.user ?? '') : (u.project ?? '')) || '–'

const idOf = (u: Usage, by: By): string => (by === 'workload' ? (u.id ?? '') : nameOf(u, by))

/** When the first column begins: at a whole one of local time, so many before. */
export function beginOf(at: number, spanHours: number, stepHours: number): number {
  const d = new Date(at)
  d.setMinutes(0, 0, 0)
  d.setHours(stepHours >= 24 ? 0 : Math.floor(d.getHours() / stepHours) * stepHours)
  return d.getTime() - (spanHours - stepHours) * 3600_000
}

/** In which column a span is; one that there is none for has none. */
const columnOf = (u: Usage, starts: number[], length: number): number => {
  const i = Math.floor((ms(u.bucket) - starts[0]! + 1) / length)
  return i < starts.length ? i : -1
}

/** The groups with the most as parts of columns, and the rest together. */
function byWhom(items: Usage[], by: By, order: string[], names: Map<string, string>, starts: number[], length: number): Stack[] {
  const kept = order.slice(0, order.length > most + 1 ? most : most + 1)
  const stacks = new Map(kept.map((id, dye): [string, Stack] => [id, { id, name: names.get(id) ?? id, dye, values: starts.map(() => 0) }]))
  const rest: Stack = { id: '', name: phrase(T.$keptOthers, { kept: order.length - kept.length }), dye: most, values: starts.map(() => 0) }
  for (const u of items) {
    const i = columnOf(u, starts, length)
    if (i >= 0) (stacks.get(idOf(u, by)) ?? rest).values[i]! += u.gpuSeconds / 3600
  }
  return order.length > kept.length ? [...stacks.values(), rest] : [...stacks.values()]
}

const byNames = { project: T.$byProject, user: T.$byUser, workload: T.$byWorkload }
const heads = { project: T.$project, user: T.$user, workload: T.$workload }
const counts = { project: T.$nProjects, user: T.$nUsers, workload: T.$nWorkloads }

const kinds = [['used', T.$used2], ['idle', T.$idle], ['lost', T.$lost]] as const

/** What of GPU-seconds was used, idle and lost. What was lost is not counted again though it idled before. */
function partsOf(u: Usage): [number, number, number] {
  const lost = Math.min(u.gpuSeconds, u.lostGpuSeconds ?? 0)
  const idle = Math.min(u.gpuSeconds - lost, u.idleGpuSeconds ?? 0)
  return [u.gpuSeconds - lost - idle, idle, lost]
}

/** What it was, as parts of columns. */
function byKind(items: Usage[], starts: number[], length: number): Stack[] {
  const out = kinds.map(([id, name]): Stack => ({ id, name, dye: id, values: starts.map(() => 0) }))
  for (const u of items) {
    const i = columnOf(u, starts, length)
    if (i >= 0) partsOf(u).forEach((seconds, n) => (out[n]!.values[i]! += seconds / 3600))
  }
  return out
}

export function UsagePage({ query }: ScreenProps) {
  const period: Period = (query.get('period') ?? '') in periods ? (query.get('period') as Period) : '7d'
  const by: By = groupings.find((g) => g === query.get('by')) ?? 'project'
  const project = query.get('project') ?? ''
  const mine = query.get('user') === '@me'
  const user = mine ? (session.value?.user ?? '') : ''
  const [, length, step] = periods[period]
  const hour = Math.floor(now.value / 3600_000)
  const from = useMemo(() => beginOf(present(), length, step), [length, step, hour])
  const common = { project, user, by: by === 'workload' ? 'workload' : by, from: new Date(from).toISOString() }
  const sums = useLive<UsageList>('v1/usage' + queryOf({ ...common, waste: true }), 'beat', 30_000)
  const spans = useLive<UsageList>('v1/usage' + queryOf({ ...common, every: step + 'h', waste: true }), 'beat', 30_000)
  const whom = query.get('columns') === 'who'
  const [hidden, hide] = useState<ReadonlySet<string>>(new Set())
  const items = sums.data?.items ?? []
  const order = items.map((u) => idOf(u, by))
  const names = new Map(items.map((u) => [idOf(u, by), nameOf(u, by)]))
  const starts = useMemo(() => {
    const out: number[] = []
    for (let t = from; t <= present(); t += step * 3600_000) out.push(t)
    return out
  }, [from, step])
  const all = !spans.data ? [] : whom ? byWhom(spans.data.items, by, order, names, starts, step * 3600_000) : byKind(spans.data.items, starts, step * 3600_000)
  const stacks = all.filter((s) => !hidden.has(s.id))
  const anew = (q: Record<string, string | null>): void => {
    hide(new Set())
    setQuery(q)
  }
  const cli = `muster usage --by ${by} --since ${period}${project && ' -p ' + shell(project)}${mine ? ' -u @me' : ''}`
  const table = (): (string | number)[][] => [[by, ...(by === 'workload' ? ['project'] : []), 'workloads', 'gpu_hours', 'idle_gpu_hours', 'lost_gpu_hours'],
    ...items.map((u) => [nameOf(u, by), ...(by === 'workload' ? [u.project ?? ''] : []), u.workloads, h(u.gpuSeconds), h(u.idleGpuSeconds), h(u.lostGpuSeconds)])]
  const overTime = (): (string | number)[][] => [['from', ...all.map((s) => s.name)], ...starts.map((t, i) => [new Date(t).toISOString(), ...all.map((s) => (s.values[i] ?? 0).toFixed(4))])]
  return (
    <Page title={T.$usage} sub={sums.data && <>{phrase(T.$gpuTimeChargedSinceTime, { time: moment(sums.data.from, now.value, false) })}</>} actions={<>
      <Menu icon="download" label={T.$download} items={[
        { label: phrase(T.$namedAsCSV, { name: byNames[by] }), run: () => saveText(`usage-by-${by}.csv`, 'text/csv', csv(table())) },
        { label: T.$overTimeAsCSV, run: () => saveText('usage-over-time.csv', 'text/csv', csv(overTime())) },
      ]} />
      <CopyAs of={() => ({ cli: cli + '\n' + cli + ` --every ${step}h -o csv`, python: python(`u = client.usage(by=${JSON.stringify(by)}, every="${step}h"${project ? `, project=${JSON.stringify(project)}` : ''})`, 'for row in u["items"]:', '    print(row)'), curl: curl('v1/usage' + queryOf({ ...common, waste: true })) })} />
    </>}>
      <div class="toolbar">
        <div class="segments small" role="group" aria-label={T.$period}>{(Object.keys(periods) as Period[]).map((p) => <button key={p} type="button" aria-pressed={p === period} onClick={() => setQuery({ period: p })}>{p}</button>)}</div>
        <div class="segments small" role="group" aria-label={T.$groupBy}>{groupings.map((g) => <button key={g} type="button" aria-pressed={g === by} onClick={() => anew({ by: g })}>{byNames[g]}</button>)}</div>
        <div class="presets"><button type="button" aria-pressed={mine} onClick={() => setQuery({ user: mine ? null : '@me' })}>{T.$mine}</button></div>
        {(projectNames.value.length > 1 || project) && <label class="pick">{phrase(T.$projectChoice, { choice: <select value={project} onChange={(e) => setQuery({ project: e.currentTarget.value || null })}><option value="">{T.$all}</option>{[...new Set([...projectNames.value, project].filter(Boolean))].map((p) => <option key={p} value={p}>{p}</option>)}</select> })}</label>}
      </div>
      {sums.error && !sums.data ? <Failure error={sums.error} again={sums.again} /> : !sums.data ? <Loading what={T.$loadingUsage} /> : items.length === 0 ? <Empty icon="chart" title={phrase(T.$noGPUTimeWasChargedIn, { period: periods[period][0] })}>{(project || mine) && <p>{phrase(T.$forMore, { more: mine ? T.$you : T.$thisProject })}</p>}</Empty> : (
        <>
          <Sums of={sums.data} />
          <div class="usage-grid" data-few={items.length < 7 || undefined}>
            <Card title={phrase(T.$gpuHoursPerMore, { more: step === 24 ? T.$day : step === 1 ? T.$hour : plural(step, T.$nHours) })} aside={<span class="metrics-aside"><SaveChart of={T.$gpuHoursOverTime} file="gpu-hours" rows={() => [['from', ...stacks.map((s) => s.name)], ...starts.map((t, i) => [new Date(t).toISOString(), ...stacks.map((s) => s.values[i] ?? 0)])]} /><div class="segments small" role="group" aria-label={T.$colorColumnsBy}>{([['what', T.$use2], ['who', T.$owner]] as const).map(([id, name]) => <button key={id} type="button" aria-pressed={whom === (id === 'who')} onClick={() => anew({ columns: id === 'who' ? id : null })}>{name}</button>)}</div></span>}>
              <div class="plot">
                <Columns label={T.$gpuHoursOverTime} starts={starts} length={step * 3600_000} stacks={stacks} format={ofHours} />
                <Legend of={all} hidden={hidden} hide={hide} />
                <Twin label={T.$gpuHoursOverTime} head={[T.$from, ...stacks.map((s) => s.name), T.$total2]} rows={starts.map((t, i) => [moment(t, now.value, false), ...stacks.map((s) => ofHours(s.values[i] ?? 0)), ofHours(stacks.reduce((n, s) => n + (s.values[i] ?? 0), 0))])} />
              </div>
            </Card>
            <Groups items={items} by={by} dyes={whom ? new Map(all.map((s) => [s.id, s.dye])) : null} />
          </div>
          <p class="muted">{phrase(T.$gpuTimeIsChargedFromATasks, { time: exact(new Date(present()).toISOString()) })}</p>
          {(sums.data.missing ?? []).map((m) => <p key={m} class="muted">{phrase(T.$notKnownX, { x: localTimes(m, now.value) })}</p>)}
        </>
      )}
    </Page>
  )
}

const ofHours = (n: number): string => hours(n * 3600)

const h = (seconds: number | undefined): string => ((seconds ?? 0) / 3600).toFixed(4)

const part = (n: number, of: number): string => (of > 0 ? `${n / of < 0.01 && n > 0 ? '<1' : Math.round((n / of) * 100)} %` : '')

function Sums({ of: u }: { of: UsageList }) {
  const [, idle, lost] = u.items.map(partsOf).reduce((a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]], [0, 0, 0])
  const mean = (u.totalGpuSeconds * 1000) / Math.max(1, ms(u.to) - ms(u.from))
  return (
    <div class="tiles">
      <Tile name={T.$gpuHours} value={hours(u.totalGpuSeconds)} note={phrase(T.$sinceTime, { time: moment(u.from, now.value, false) })} />
      <Tile name={T.$idle} value={hours(idle)} note={idle > 0 ? phrase(T.$totalGpuSecondsInTheLast24, { totalGpuSeconds: part(idle, u.totalGpuSeconds) }) : T.$noneInTheLast24H} tone={idle > 0 ? 'degraded' : undefined} />
      <Tile name={T.$lost} value={hours(lost)} note={lost > 0 ? phrase(T.$totalGpuSecondsSinceThe, { totalGpuSeconds: part(lost, u.totalGpuSeconds) }) : T.$noneSinceTheLast} tone={lost > 0 ? 'failed' : undefined} />
      <Tile name={T.$average} value={mean > 0 && mean < 0.01 ? '<0.01' : figure(mean)} note={T.$gpusInUse2} />
    </div>
  )
}

/** What the parts are; each can be left out. */
function Legend({ of, hidden, hide }: { of: Stack[]; hidden: ReadonlySet<string>; hide: (ids: ReadonlySet<string>) => void }) {
  return (
    <div class="plot-key" role="group" aria-label={T.$shownSeries}>
      {of.map((s) => (
        <button key={s.id} type="button" class="usage-part" aria-pressed={!hidden.has(s.id)} data-l={s.dye} title={hidden.has(s.id) ? T.$show : T.$hide} onClick={() => {
          const next = new Set(hidden)
          if (!next.delete(s.id)) next.add(s.id)
          hide(next.size < of.length ? next : new Set())
        }}><i class="swatch" aria-hidden="true" />{s.name}</button>
      ))}
    </div>
  )
}

function Groups({ items, by, dyes }: { items: Usage[]; by: By; dyes: Map<string, string | number> | null }) {
  const [all, show] = useState(false)
  const largest = items[0]?.gpuSeconds ?? 1
  const cell = (seconds: number) => (seconds > 0 ? hours(seconds) : <span class="none">–</span>)
  return (
    <Card title={byNames[by]} aside={plural(items.length, counts[by])}>
      <div class="scroll-x" tabIndex={0} role="region" aria-label={`${T.$gpuHours}: ${byNames[by]}`}>
        <table class="plain used-table">
          <thead><tr><th scope="col">{heads[by]}</th><th scope="col" class="share"><span class="sr">{T.$share}</span></th><th scope="col" class="end">{T.$gpuHours}</th><th scope="col" class="end">{T.$idle}</th><th scope="col" class="end">{T.$lost}</th></tr></thead>
          <tbody>
            {items.slice(0, all ? 2000 : 20).map((u) => {
              const [used, idle, lost] = partsOf(u)
              return (
                <tr key={idOf(u, by)} data-l={dyes ? (dyes.get(idOf(u, by)) ?? most) : undefined}>
                  <td class="used-name"><span>{dyes && <i class="swatch" aria-hidden="true" />}<Name u={u} by={by} /></span><small class="muted">{by === 'workload' ? u.project : plural(u.workloads, T.$nWorkloads)}</small></td>
                  <td class="share"><Parts parts={[{ name: 'used', amount: used, look: 'busy' }, { name: 'idle', amount: idle, look: 'idle' }, { name: 'lost', amount: lost, look: 'lost' }]} whole={largest} label={phrase(T.$usedGPUHoursUsedIdleIdle, { used: hours(used), idle: hours(idle), lost: hours(lost) })} /></td>
                  <td class="end" title={phrase(T.$gpuSecondsGPUSeconds, { gpuSeconds: Math.round(u.gpuSeconds) })}>{hours(u.gpuSeconds)}</td>
                  <td class="end" data-column={T.$idleLower}>{cell(idle)}</td>
                  <td class="end" data-column={T.$lostLower}>{cell(lost)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {items.length > 20 && !all && <button type="button" class="queue-more" onClick={() => show(true)}>{phrase(T.$showAllList, { list: count(items.length) })}</button>}
    </Card>
  )
}

function Name({ u, by }: { u: Usage; by: By }) {
  const name = nameOf(u, by)
  if (by === 'workload') return <Link to={workloadPath(u.project ?? 'default', u.id ?? name)} class="clip">{name}</Link>
  if (by === 'project') return <Link to={'projects/' + encodeURIComponent(name)} class="clip">{name}</Link>
  return <Link to={'workloads?q=user:' + encodeURIComponent(name)} class="clip">{name}</Link>
}
