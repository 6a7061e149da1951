// The map with a memory: who held what a while ago, and is likely to hold it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { DeviceCourse, Holder, Holdings, HoldingsCourse, Node, NodeCourse } from '../../api/types'
import { now, present } from '../../lib/clock'
import { moment, ms, span } from '../../lib/format'
import { setQuery } from '../../lib/router'
import { Button } from '../../ui/basics'
import { phrase, T } from '../../texts'

const minute = 60_000

/** Who holds what at an instant, as the API tells it of the present. */
export function holdingsAt(c: HoldingsCourse, at: number): Holdings {
  const place = new Map<number, number>()
  const workloads: Holder[] = []
  const nodes = c.nodes.map((n) => ({
    name: n.name,
    devices: n.devices.map((d) => ({
      id: d.id,
      held: d.spans.filter((x) => x.from <= at && (!x.to || x.to > at)).map((x) => {
        let i = place.get(x.workload)
        if (i === undefined) {
          place.set(x.workload, (i = workloads.length))
          const w = c.workloads[x.workload]!
          workloads.push({ ...w, phase: 'Running', preemptible: false, gpu: 0, ...(x.to ? { likely: new Date(x.to).toISOString() } : {}) })
        }
        workloads[i]!.gpu += x.part
        return { workload: i, task: x.task, part: x.part }
      }),
    })),
  }))
  return { at: new Date(at).toISOString(), workloads, nodes }
}

/** Whether somebody looked at an instant how well nodes are; what is to come nobody has seen. */
export const seenAt = (c: HoldingsCourse, at: number): boolean => c.looked.some((l) => l.from <= at && at <= l.to)

/** The partitions that a device of a course stands for: how many of each profile; none: it is a GPU. */
const partitions = (id: string): [string, number][] => id.split(',').flatMap((p) => {
  const m = /^(\d+g\.[^=]+)=(\d+)$/.exec(p)
  return m ? [[m[1]!, Number(m[2])]] : []
})

/** How many partitions of each profile workloads of ours had at an instant, by node. */
function partitionsAt(c: HoldingsCourse, at: number): Map<string, Map<string, number>> {
  const out = new Map<string, Map<string, number>>()
  for (const n of c.nodes) for (const d of n.devices) for (const [profile, k] of partitions(d.id)) {
    const had = d.spans.filter((x) => x.from <= at && (!x.to || x.to > at)).length * k
    const of = out.get(n.name) ?? new Map<string, number>()
    out.set(n.name, of.set(profile, (of.get(profile) ?? 0) + had))
  }
  return out
}

/**
 * Nodes as they were at an instant; where nobody looked, as if nothing had been wrong.
 * What is to come finds them as they are now. Those that are gone by now are there as long
 * as it is known that they were: until the last that was held on them, or seen of them.
 * Of partitions that others have it is not known when they had them: these are as now.
 */
export function nodesAt(nodes: Node[], h: Holdings, c: HoldingsCourse, at: number): Node[] {
  const told = new Map(h.nodes.map((n) => [n.name, new Map(n.devices.map((d) => [d.id, (d.held ?? []).reduce((sum, x) => sum + x.part, 0)]))]))
  const ahead = at > ms(c.now)
  const was = new Map(c.nodes.map((n) => [n.name, n.health?.find((x) => x.from <= at && (!x.to || x.to > at))]))
  const [had, have] = [partitionsAt(c, at), partitionsAt(c, ms(c.now))]
  const here = new Set(nodes.map((n) => n.name))
  const gone = ahead ? [] : c.nodes.filter((n) => !here.has(n.name) && n.devices.some(whole) && [...n.devices.flatMap((d) => d.spans), ...(n.health ?? [])].some((x) => !x.to || x.to > at)).map(ghost)
  return [...nodes, ...gone].map((n) => {
    const x = was.get(n.name)
    const used = told.get(n.name)
    const tasks = [...(used?.values() ?? [])].filter((m) => m > 0).length
    const how = ahead ? {} : { ready: !x?.notReady, cordoned: !!x?.cordoned, draining: !!x?.draining, cutOff: !!x?.cutOff, message: '', note: '', tasks }
    const mig = n.mig && Object.fromEntries(Object.entries(n.mig).map(([p, x]) => [p, { ...x, used: Math.max(0, Math.min(x.total, x.used - (have.get(n.name)?.get(p) ?? 0) + (had.get(n.name)?.get(p) ?? 0))) }]))
    return { ...n, ...how, ...(mig && { mig }), devices: n.devices.map((d) => ({ ...d, healthy: ahead ? d.healthy : !x?.broken?.includes(d.id), used: used?.get(d.id) ?? 0 })) }
  })
}

const whole = (d: DeviceCourse): boolean => partitions(d.id).length === 0

/** What is known of a node that is gone: its name, and those of its devices that were held. */
const ghost = (n: NodeCourse): Node => {
  const none = { total: 0, used: 0 }
  const devices = n.devices.filter(whole).sort((a, b) => a.id.localeCompare(b.id, undefined, { numeric: true })).map((d, index) => ({ id: d.id, index, product: '', memoryBytes: 0, healthy: true, used: 0 }))
  return { name: n.name, backend: '', pool: '', ready: true, cordoned: false, tasks: 0, cpu: none, memory: none, gpu: { total: devices.length * 1000, used: 0 }, devices }
}

const playFor = 24_000 // ms for all of it

/** The slider below the map. at: what is shown; undefined: the present. */
export function Timeline({ at, course, show }: { at: number | undefined; course: HoldingsCourse | null; show: (at: number | undefined) => void }) {
  const today = now.value
  const first = course ? ms(course.from) : today - 1440 * minute
  const last = course ? Math.max(ms(course.to), today) : today + 1440 * minute
  const [playing, setPlaying] = useState(false)
  const latest = useRef(at)
  latest.current = at
  const keep = (t: number | undefined): void => setQuery({ at: t === undefined ? null : new Date(t).toISOString().slice(0, 16) + 'Z' })
  const set = (minutes: number): void => show(minutes === 0 ? undefined : present() + minutes * minute)
  useEffect(() => {
    if (!playing) return
    let frame = 0
    let before = performance.now()
    const step = (t: number): void => {
      const next = (latest.current ?? first) + ((t - before) / playFor) * (last - first)
      before = t
      if (next >= last) {
        setPlaying(false)
        show(last)
        keep(last)
        return
      }
      show(next)
      frame = requestAnimationFrame(step)
    }
    if (latest.current === undefined || latest.current >= last - minute) latest.current = first
    show(latest.current)
    frame = requestAnimationFrame(step)
    return () => cancelAnimationFrame(frame)
  }, [playing, course])
  const value = at === undefined ? 0 : Math.round((at - today) / minute)
  const words = at === undefined || value === 0 ? T.$now : value < 0
    ? phrase(T.$timeAgoAt, { time: moment(at, today, false), ago: span(-value * minute) })
    : phrase(T.$timeAheadAt, { time: moment(at, today, false), ahead: span(value * minute) })
  const part = useMemo(() => ((today - first) / (last - first)) * 100, [first, last, Math.floor(today / minute)])
  return (
    <div class="timeline" data-when={at === undefined ? 'now' : value > 0 ? 'ahead' : 'past'}>
      <Button kind="quiet" icon={playing ? 'stop' : 'play'} aria-label={playing ? T.$pausePlay : T.$playTheDays} aria-pressed={playing} onClick={() => {
        if (playing) keep(latest.current)
        setPlaying(!playing)
      }} />
      <input type="range" aria-label={T.$timeShown} aria-valuetext={words} min={Math.ceil((first - today) / minute)} max={Math.floor((last - today) / minute)} step={1} value={value} style={{ '--part': part + '%' }}
        onInput={(e) => { setPlaying(false); set(Number(e.currentTarget.value)) }}
        onChange={(e) => { const v = Number(e.currentTarget.value); keep(v === 0 ? undefined : present() + v * minute) }} />
      <output class="timeline-at">{words}</output>
      <Button refused={at === undefined ? T.$theMapIsOfNow : undefined} onClick={() => { setPlaying(false); show(undefined); keep(undefined) }}>{T.$backToNow}</Button>
      {at !== undefined && <p class="muted timeline-note">{value > 0 ? course?.simple ? T.$tooMuchToForetell : T.$oneLikelyCourse : course && seenAt(course, at) ? T.$healthAsItWasThen : T.$healthIsNotKnownThen}</p>}
    </div>
  )
}
