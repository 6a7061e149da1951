import './style.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Cluster, Holder, Holdings, HoldingsCourse, Node, Row, Why } from '../../api/types'
import { workloadURL } from '../../api/client'
import { byName, cells, cellWords, freeOf, linkKinds, racks, short, useHoldings, version, type Cell } from '../../fleet/nodes'
import { milli, nodePath } from '../../fleet/parts'
import { now } from '../../lib/clock'
import { gpus, ms, plural, span } from '../../lib/format'
import { go, setQuery, workloadPath } from '../../lib/router'
import { useLive } from '../../live/fetch'
import { allRows, cluster, loadError, rowsVersion, waits } from '../../live/store'
import type { Screen, ScreenProps } from '../../screen'
import { complain } from '../../ui/overlay'
import { Empty, Failure, Link, Loading, Page, sentence } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { Icon } from '../../ui/icons'
import { python } from '../../work/acts'
import { lazy } from '../../lib/lazy'
import { Board } from './board'
import { looksOf, modes, partsOf, type Mode } from './looks'
import { Twin } from './twin'
import { busyWords, describe, freeWords, linkWords, nodeFreeShort, nodeFreeWords, roughly } from './words'
import { waitingCount } from '../../work/waiting'
import { estimateOf } from '../../work/start'
import { phrase, T } from '../../texts'

function GPUMap({ query }: ScreenProps) {
  const c = cluster.value
  const { data: h, error } = useHoldings()
  return (
    <Page title={T.$gpuMap} fill class="map-page" sub={c && <Sum c={c} />} actions={<>
      <div class="segments" role="group" aria-label={T.$viewAs}>
        {([['', T.$map], ['table', T.$table]] as const).map(([id, name]) => <button key={id} type="button" aria-pressed={(query.get('as') ?? '') === id} onClick={() => setQuery({ as: id })}>{name}</button>)}
      </div>
      <CopyAs of={() => ({ cli: 'muster util', python: python('for n in client.cluster()["nodes"]:', '    for d in n["devices"]:', '        print(n["name"], d["index"], d["used"] / 1000)'), curl: curl('v1/holdings') })} />
    </>}>
      {!c ? loadError.value ? <Failure error={loadError.value} /> : <Loading what={T.$loadingTheCluster} /> : error && !h ? <Failure error={error} />
        : c.nodes.every((n) => n.devices.length === 0 && !n.mig) ? <Empty icon="chip" title={T.$noGPUs2}><p>{phrase(T.$noneOfNodesReportsAGPUTo, { nodes: plural(c.nodes.length, T.$nNodes), code: <code>muster server --fake-gpus 8</code> })}</p></Empty>
          : <Fleet c={c} h={h} query={query} />}
    </Page>
  )
}

/** How much is free, and where the most of it is. */
function Sum({ c }: { c: Cluster }) {
  const nodes = c.nodes.map((n) => ({ n, free: freeOf(n) })).sort((a, b) => b.free - a.free || byName(a.n, b.n))
  const free = nodes.reduce((sum, x) => sum + x.free, 0)
  const total = c.nodes.reduce((sum, n) => sum + n.devices.length, 0)
  const best = nodes[0]
  return (
    <>
      {total > 0 && <span>{phrase(T.$freeOfTotalGPUsFree, { free: <b class="free-count">{gpus(free)}</b>, total: gpus(total) })}</span>}
      {best && best.free > 0 && <span>{phrase(T.$mostOnOneNodeFreeOnLink, { free: gpus(best.free), link: <Link to={nodePath(best.n.name)}>{best.n.name}</Link> })}</span>}
    </>
  )
}

const mapLater = () => import('../../later')
const Timeline = lazy(() => mapLater().then((l) => l.Timeline))
const Bench = lazy(() => mapLater().then((l) => l.Bench))

/** The map at another instant than now: who had what then, or is likely to. */
function useMemory(c: Cluster, h: Holdings | null, query: URLSearchParams) {
  const [at, show] = useState(() => instantOf(query))
  const course = useLive<HoldingsCourse>(at === undefined ? null : 'v1/holdings/course', () => Math.floor(now.value / 60_000), 20_000).data
  const [of, setOf] = useState<Pick<typeof import('../../later'), 'holdingsAt' | 'nodesAt'>>()
  useEffect(() => {
    if (at !== undefined && !of) void mapLater().then((l) => setOf(l)).catch(complain)
  }, [at === undefined])
  const then = useMemo(() => {
    if (at === undefined || !course || !of) return null
    const held = of.holdingsAt(course, at)
    return { held, nodes: of.nodesAt(c.nodes, held, course, at) }
  }, [at, course, of, c])
  return { at, show, course, nodes: then?.nodes ?? c.nodes, h: at === undefined ? h : then?.held ?? null }
}

/** The instant in an address; undefined: the present. */
function instantOf(query: URLSearchParams): number | undefined {
  const at = ms(query.get('at'))
  return Number.isNaN(at) ? undefined : at
}

/** What is meant by the pointer, the focus or the address. */
type Meant = { id: string } | null

function Fleet({ c, h: present, query }: { c: Cluster; h: Holdings | null; query: URLSearchParams }) {
  const { at: instant, show, course, nodes: known, h } = useMemory(c, present, query)
  const mode: Mode = modes.find(([m]) => m === query.get('by') && (m !== 'use' || instant === undefined))?.[0] ?? 'held'
  const pool = query.get('pool') ?? ''
  const type = query.get('gpu') ?? ''
  const freeOnly = query.get('free') !== null
  const picked = query.get('w') ?? ''
  const [hover, setHover] = useState<Meant>(null)
  const [at, setAt] = useState<Cell | null>(null)
  const v = version(c)
  const nodes = useMemo(() => known.filter((n) => (n.devices.length > 0 || n.mig) && (!pool || n.pool === pool) && (!type || n.devices.some((d) => d.product === type))), [v, known, pool, type])
  const all = useMemo(() => cells(nodes, h, instant), [nodes, h])
  const of = useMemo(() => {
    const m = new Map<string, Cell[]>()
    for (const x of all) m.set(x.node.name, [...(m.get(x.node.name) ?? []), x])
    return (name: string): Cell[] => m.get(name) ?? []
  }, [all])
  const named = useMemo(() => (n: Node): string => (mode === 'time' ? [n.name, nodeFreeShort(of(n.name))].filter(Boolean).join(' · ') : n.name), [of, mode])
  const projects = useMemo(() => [...new Set(h?.workloads.map((w) => w.project))].sort(), [h])
  const types = useMemo(() => [...new Set(c.nodes.flatMap((n) => n.devices.map((d) => d.product)))].sort().map((t): [string, string] => [t, short(t)]), [v])
  const rackList = useMemo(() => racks(c, nodes), [nodes])
  const id = hover?.id ?? (at?.held.length ? at.held[0]!.by.id : '') ?? ''
  const meant = id || picked
  const queue = useWaiting()
  const waiting = instant === undefined ? queue : nobody
  const waits = waiting.find((r) => r.id === meant)
  const { data: why } = useLive<Why>(waits ? workloadURL(waits.project, waits.id) + '/why' : null, () => cluster.value)
  const ghosts = useMemo(() => new Set(!waits || !why ? [] : all.filter((x) => why.places?.some((s) => s.node === x.node.name && (s.devices ?? []).includes(x.device.id)))), [all, why, waits])
  const lit = useMemo(() => {
    if (waits) return new Set<Cell>()
    if (meant) return new Set(all.filter((x) => x.held.some((y) => y.by.id === meant)))
    return freeOnly ? new Set(all.filter((x) => x.state === 'free')) : null
  }, [all, meant, waits, freeOnly])
  const legend = useMemo(() => <Legend all={all} nodes={nodes} mode={mode} projects={projects} />, [all, nodes, mode, projects])
  // The pointer goes over many GPUs of one holder: the list is drawn once for it.
  const side = useMemo(() => <Side then={instant !== undefined} holders={h?.workloads ?? []} waiting={waiting} meant={meant} picked={picked} projects={mode === 'project' ? projects : []} hover={(x) => setHover(x ? { id: x } : null)} />, [h, instant === undefined, waiting, meant, picked, projects, mode])
  const open = (x: Cell): void => go(nodePath(x.node.name))
  return (
    <>
      <div class="toolbar">
        <div class="segments" role="group" aria-label={T.$colorBy}>
          {modes.filter(([m]) => m !== 'use' || instant === undefined).map(([m, name]) => <button key={m} type="button" aria-pressed={m === mode} onClick={() => setQuery({ by: m === 'held' ? null : m })}>{name}</button>)}
        </div>
        <Choice label={T.$pool} value={pool} all={c.pools.map((p) => [p.name, p.name])} set={(x) => setQuery({ pool: x })} />
        <Choice label="GPU" value={type} all={types} set={(x) => setQuery({ gpu: x })} />
        <div class="presets"><button type="button" aria-pressed={freeOnly} onClick={() => setQuery({ free: freeOnly ? null : '1' })}>{T.$freeOnly}</button></div>
      </div>
      {query.get('as') === 'table' ? <Twin cells={freeOnly ? all.filter((x) => x.state === 'free') : all} query={query} open={open} /> : (
        <div class="map">
          <div class="map-main">
            {legend}
            {nodes.length === 1 && nodes[0]!.devices.length <= benchMost
              ? <Bench node={nodes[0]!} cells={all} mode={mode} projects={projects} lit={lit} ghosts={ghosts} then={instant !== undefined} onAt={setAt} />
              : <Board racks={rackList} of={of} named={named} mode={mode} projects={projects} lit={lit} ghosts={ghosts} onAt={setAt} open={open} describe={describe} card={(x) => <CellCard of={x} node={of(x.node.name)} />} />}
            <Timeline at={instant} course={course} show={show} />
            {waits && <Outlook of={waits} why={why} ghosts={ghosts.size} />}
          </div>
          {side}
        </div>
      )}
    </>
  )
}

const benchMost = 16 // GPUs of one machine that are drawn large
const nobody: Row[] = []

function Choice({ label, value, all, set }: { label: string; value: string; all: [string, string][]; set: (v: string) => void }) {
  if (all.length < 2 && !value) return null
  return <label class="pick">{label} <select value={value} onChange={(e) => set(e.currentTarget.value)}><option value="">{T.$all}</option>{all.map(([id, name]) => <option key={id} value={id}>{name}</option>)}</select></label>
}

/** Rows that wait for GPUs, in the order of their queues. */
function useWaiting(): Row[] {
  const v = rowsVersion.value
  const w = waits.value
  return useMemo(() => allRows().filter((r) => w.has(r.id) && r.gpus > 0).sort((a, b) => (w.get(a.id)!.position ?? 1e9) - (w.get(b.id)!.position ?? 1e9) || a.number - b.number), [v, w])
}

/** What each look means, and how many GPUs have it. */
function Legend({ all, nodes, mode, projects }: { all: Cell[]; nodes: Node[]; mode: Mode; projects: string[] }) {
  const counts = new Map<string, number>()
  for (const x of all) {
    let rest = 1
    for (const p of partsOf(x, mode, projects)) {
      counts.set(p.look.id, (counts.get(p.look.id) ?? 0) + p.share)
      rest -= p.share
    }
    if (rest > 1e-6) counts.set('free', (counts.get('free') ?? 0) + rest)
  }
  const looks = looksOf(mode, projects).filter((l, i, list) => (counts.get(l.id) ?? 0) > 0 && list.findIndex((x) => x.id === l.id) === i)
  return (
    <ul class="legend map-legend" aria-label={T.$legend}>
      {looks.map((l) => <li key={l.id}><i aria-hidden="true" data-mark={l.id === 'free' ? 'free' : l.mark} style={{ '--look': `var(--${l.color})` }}>{l.text}</i>{l.name} <b>{gpus(Math.round(counts.get(l.id)! * 100) / 100)}</b></li>)}
      {nodes.some((n) => n.links?.some((l) => l.kind === 'nvlink')) && <li key="nvlink"><i class="wire" aria-hidden="true" />{linkKinds[0]![1]}</li>}
      {nodes.some((n) => n.mig) && <li key="mig" title={T.$migIsCountedByNode}><i class="slice" aria-hidden="true" />{T.$migPartitions} <b>{migWords(nodes)}</b></li>}
    </ul>
  )
}

/** How many MIG partitions are used, of how many. */
function migWords(nodes: Node[]): string {
  const all = nodes.flatMap((n) => Object.values(n.mig ?? {}))
  return phrase(T.$usedOfTotal, { used: all.reduce((n, x) => n + x.used, 0), total: all.reduce((n, x) => n + x.total, 0) })
}

function CellCard({ of: x, node }: { of: Cell; node: Cell[] }) {
  const links = linkWords(x)
  const whole = nodeFreeWords(node)
  return (
    <>
      <p class="card-name">{x.node.name} <span>{phrase(T.$gpuGpu, { gpu: x.device.index })}</span></p>
      <p class="muted">{short(x.device.product)}{x.device.fake && T.$simulated}</p>
      <p class="card-state">{cellWords[x.state]}{x.busy !== undefined && x.held.length > 0 && phrase(T.$busyWordsUtilization, { busyWords: busyWords(x) })}</p>
      {x.held.map((y) => <p key={y.by.id + y.task} class="card-holder"><b>{y.by.name}</b> <span class="muted">{y.by.project}, {y.by.user}{y.part < 1000 && phrase(T.$fractionPart, { part: milli(y.part) })}</span></p>)}
      {x.held.length > 0 && <p class="muted">{phrase(T.$freeFreeWords, { freeWords: freeWords(x) })}</p>}
      {whole && node.length > 1 && <p class="muted">{phrase(T.$wholeNodeFree, { freeWords: whole })}</p>}
      {links && <p class="muted">{links}</p>}
    </>
  )
}

/** Where something that waits would be, and when. */
function Outlook({ of, why, ghosts }: { of: Row; why: Why | null; ghosts: number }) {
  const e = estimateOf(of.id, why?.estimate)
  const start = e?.likely ?? e?.early
  const left = ms(start) - now.value
  const nodes = [...new Set(why?.places?.map((p) => p.node))]
  return (
    <div class="outlook-strip" role="status">
      <Icon name="clock" />
      <p>
        <Link to={workloadPath(of.project, of.name)} class="row-link">{of.name}</Link>{' '}
        {!why ? T.$isBeingEvaluated : ghosts > 0
          ? <>{phrase(T.$wouldStartMoreOnMore2Shown, { more: left > 0 ? phrase(T.$inTime, { time: span(left) }) : T.$soon, more2: nodes.length === 1 ? <b>{nodes[0]}</b> : plural(nodes.length, T.$nNodes), more3: why.frees.length > 0 && <>{phrase(T.$onceTheseHaveEndedList, { list: why.frees.slice(0, 2).map((f) => f.name).join(T.$listSeparator) })}</> })}</>
          : <>{phrase(T.$fitsNowhereAtPresent, { message: sentence(why.reasons[0]?.message ?? why.message ?? '') })}</>}
      </p>
    </div>
  )
}

const sideMost = 150

/** Who holds GPUs and who waits for them; the map follows the pointer and the focus. */
function Side({ holders, waiting, meant, picked, projects, hover, then }: { then: boolean; holders: Holder[]; waiting: Row[]; meant: string; picked: string; projects: string[]; hover: (id: string | null) => void }) {
  const [text, setText] = useState('')
  const fits = (x: { name: string; project: string; user: string }): boolean => !text || [x.name, x.project, x.user].some((s) => s.toLowerCase().includes(text.toLowerCase()))
  const running = [...holders].filter(fits).sort((a, b) => b.gpu - a.gpu || byName(a, b))
  const queued = waiting.filter(fits)
  const item = (id: string, name: string, project: string, amount: string, note: string) => {
    const hue = projects.indexOf(project)
    return (
      <li key={id}>
        <button type="button" aria-pressed={picked === id} data-meant={meant === id || undefined} onPointerEnter={() => hover(id)} onPointerLeave={() => hover(null)} onFocus={() => hover(id)} onBlur={() => hover(null)} onClick={() => setQuery({ w: picked === id ? null : id })}>
          {hue >= 0 && <i class="hue" style={{ '--look': `var(--hue-${Math.min(12, hue + 1)})` }} aria-hidden="true">{hue < 12 && hue + 1}</i>}
          <span class="side-name clip">{name}</span><span class="side-gpus">{amount}</span><span class="side-note clip">{note}</span>
        </button>
      </li>
    )
  }
  return (
    <aside class="map-side" aria-label={T.$workloads}>
      {(holders.length + waiting.length > 12 || text) && <input type="text" class="side-filter" value={text} placeholder={T.$nameProjectOrUser} aria-label={T.$filterWorkloads} onInput={(e) => setText(e.currentTarget.value)} />}
      <h2>{T.$usingGPUs}</h2>
      {running.length === 0 ? <p class="muted">{text ? T.$noMatches : T.$noGPUIsAllocated}</p> : <ul>{running.slice(0, sideMost).map((w) => item(w.id, w.name, w.project, milli(w.gpu), `${w.project}, ${w.user}${w.likely ? phrase(T.$freeInTime, { time: roughly(ms(w.likely) - now.value) }) : ''}`))}</ul>}
      {running.length > sideMost && <p class="muted">{phrase(T.$andSideMostMore, { sideMost: running.length - sideMost })}</p>}
      {!then && <h2>{T.$waitingForGPUs}</h2>}
      {then ? null : queued.length === 0 ? <p class="muted">{text ? T.$noMatches : waitingCount.value > 0 ? T.$noWaitingWorkloadIsKnownTo : T.$nothingIsWaiting}</p> : <ul>{queued.slice(0, sideMost).map((r) => item(r.id, r.name, r.project, gpus(r.gpus), waits.value.get(r.id)?.message ?? r.project))}</ul>}
    </aside>
  )
}

export default {
  path: 'map',
  title: () => T.$gpuMap,
  view: GPUMap,
  nav: { label: T.$gpuMap, icon: 'chip', order: 50, key: 'm', group: T.$infrastructure },
} satisfies Screen
