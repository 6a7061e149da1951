// What the page knows of the server, kept up to date by the stream. Changes are
// put in at once and shown together: at most one drawing for each flushEvery.
import { batch, computed, signal } from '@preact/signals'
import { asError, get, params, type ApiError } from '../api/client'
import type { Cluster, Greeting, Row, RowList, OverviewChange, Session, Wait } from '../api/types'
import { present, skew } from '../lib/clock'
import { ms } from '../lib/format'
import { place } from '../lib/router'
import { follow } from './stream'

const flushEvery = 100 // ms between two drawings while changes pour in
const firstPage = 100 // rows of the first page: what is seen at once
const nextPages = 1000
const rowsMost = 20_000 // rows that are kept; of those that have ended the oldest go first

const byID = new Map<string, Row>()
const gone = new Set<string>() // deleted since the list began: a page that was read before may still have them

/** Grows with every change of rows; read it to follow them. */
export const rowsVersion = signal(0)

/** Whether rows are still being loaded, or why they could not be. */
export const loading = signal<'first' | 'more' | 'done'>('first')
export const loadError = signal<ApiError | null>(null)

/** Whether there are older rows than those that are kept. */
export const olderLeft = signal(false)

/** What is beside the workloads; null until it has come. */
export const cluster = signal<Cluster | null>(null)
export const phases = signal<Record<string, number>>({})
export const waits = signal<ReadonlyMap<string, Wait>>(new Map())

/** Who looks. */
export const session = signal<Session | null>(null)

/** The server's version changed since the page was loaded. */
export const outdated = signal(false)

/** Every row, in no order that matters. */
export function allRows(): Row[] {
  void rowsVersion.value
  return [...byID.values()]
}

/** The row of an id, following its changes. */
export function rowOf(id: string): Row | undefined {
  void rowsVersion.value
  return byID.get(id)
}

/** The row of a name, following its changes: the newest, if several had it. */
export function rowNamed(project: string, name: string): Row | undefined {
  void rowsVersion.value
  let found: Row | undefined
  for (const r of byID.values()) {
    if (r.project === project && (r.name === name || r.id === name) && (!found || r.number > found.number)) found = r
  }
  return found
}

/** Names of all projects: those of the server, and those of rows. */
export const projectNames = computed(() => (cluster.value?.projects ?? []).filter((p) => !p.department).map((p) => p.name))

let dirty = false
let lastFlush = 0

function flushSoon(): void {
  if (dirty) return
  dirty = true
  const wait = Math.max(0, lastFlush + flushEvery - performance.now())
  const show = (): void => {
    dirty = false
    lastFlush = performance.now()
    rowsVersion.value++
  }
  const draw = (): void => {
    if (document.hidden) show() // no frames come to pages that nobody sees
    else requestAnimationFrame(show)
  }
  if (wait > 0) setTimeout(draw, wait)
  else draw()
}

/** Puts a row in unless a newer one is there. */
export function put(rows: Row[]): void {
  for (const r of rows) {
    const have = byID.get(r.id)
    if ((have && have.revision > r.revision) || gone.has(r.id)) continue
    if (r.phase === 'Deleted') {
      byID.delete(r.id)
      if (loading.peek() !== 'done') gone.add(r.id)
    }
    else if (r.partial && have?.nodes) byID.set(r.id, { ...r, nodes: have.nodes, nodeCount: have.nodeCount ?? 0 })
    else byID.set(r.id, r)
  }
  if (byID.size > rowsMost + nextPages) trim()
  flushSoon()
}

function trim(): void {
  const ended = [...byID.values()].filter((r) => r.endedAt).sort((a, b) => a.number - b.number)
  for (const r of ended.slice(0, Math.max(0, byID.size - rowsMost))) byID.delete(r.id)
  olderLeft.value = true
}

/**
 * Reads the newest rows and returns the revision from which changes are told;
 * the rest follows, page by page, while the page can be used already.
 */
async function list(): Promise<string> {
  const mine = ++listing
  try {
    const first = await get<RowList>('v1/projects/-/rows' + params({ limit: firstPage }))
    byID.clear()
    gone.clear()
    batch(() => {
      loadError.value = null
      loading.value = first.next ? 'more' : 'done'
      olderLeft.value = false
    })
    put(first.items)
    if (first.next && place.peek().path === 'queue') askHeads() // it shows nothing else first
    else heads()
    if (first.next) setTimeout(() => void rest(first.next, mine), 250) // what is seen is drawn first
    return String(first.revision)
  } catch (e) {
    loadError.value = asError(e)
    throw e
  }
}

let listing = 0 // which listing is the present one

async function rest(cursor: string, mine: number): Promise<void> {
  const pages = async (q: Record<string, boolean>, from: string, most: number): Promise<string> => {
    for (let got = 0; got < most; got += nextPages) {
      await headsCome // who is first in a queue is looked at first
      const page = await get<RowList>('v1/projects/-/rows' + params({ ...q, limit: nextPages, cursor: from }))
      if (mine !== listing) return ''
      put(page.items)
      from = page.next
      if (!from) break
    }
    return from
  }
  for (let tries = 0; mine === listing; tries++) {
    try {
      const left = await pages({}, cursor, rowsMost / 2)
      if (left) await pages({ live: true }, left, rowsMost / 2)
      if (mine !== listing) return
      olderLeft.value = left !== ''
      loading.value = 'done'
      gone.clear()
      heads()
      return
    } catch (e) {
      if (asError(e).status === 401) return
      await new Promise((done) => setTimeout(done, Math.min(10_000, 500 * 2 ** tries)))
    }
  }
}

let version = ''
let afresh = true // a stream has begun: what it tells of the cluster is all of it

function event(name: string, data: unknown): void {
  if (name === 'greeting') {
    const g = data as Greeting
    skew.value = Math.abs(ms(g.at) - Date.now()) > 2000 ? ms(g.at) - Date.now() : 0
    if (version && version !== g.version) outdated.value = true
    version = g.version
    afresh = true
    if (!session.peek()) who()
  } else if (name === 'rows') put(data as Row[])
  else if (name === 'session') who()
  else if (name === 'overview') {
    const s = data as OverviewChange
    batch(() => {
      if (s.cluster) {
        cluster.value = afresh || !cluster.peek() ? s.cluster : changed(s.cluster, new Set(s.gone))
        afresh = false
      }
      if (JSON.stringify(s.phases) !== JSON.stringify(phases.peek())) phases.value = s.phases
      if (s.waits) waits.value = new Map(s.waits.map((w) => [w.id, w]))
    })
    heads()
  }
}

/** The cluster, of which only those nodes were told that have become others. */
function changed(c: Cluster, gone: Set<string>): Cluster {
  const have = cluster.peek()!
  const told = new Map(c.nodes.map((n) => [n.name, n]))
  const nodes = have.nodes.filter((n) => !gone.has(n.name)).map((n) => {
    const next = told.get(n.name)
    told.delete(n.name)
    return next ?? n
  })
  return { ...c, nodes: told.size === 0 ? nodes : [...nodes, ...told.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

/** What overviews have told until now; null: nothing. */
const overview = (): OverviewChange | null => cluster.peek() && { phases: phases.peek(), waits: [...waits.peek().values()], cluster: cluster.peek()! }

let headsAsked = -Infinity
let headsCome: Promise<void> | undefined

/** Reads the rows of those that are explained, where there are more workloads than come at once: who is first in a long queue is old. */
function heads(): void {
  const far = Object.values(phases.peek()).reduce((n, of) => n + of, 0) > nextPages // they would come last of all
  if (loading.peek() === 'first' || (loading.peek() === 'more' && !far) || performance.now() - headsAsked < 5000 || [...waits.peek().keys()].every((id) => byID.has(id))) return
  askHeads()
}

function askHeads(): void {
  headsAsked = performance.now()
  headsCome = get<RowList>('v1/projects/-/rows' + params({ explained: true })).then((page) => put(page.items)).catch(() => {}) // with the next overview, then
}

/** Begins to follow the server. */
export function start(): void {
  who()
  follow({ event, list, overview })
}

function who(): void {
  get<Session>('v1/session')
    .then((s) => {
      if (session.peek() && session.peek()!.user !== s.user) location.reload() // somebody else logged in, in another tab
      session.value = s
    })
    .catch(() => {}) // the list says what is wrong; it is asked again with the next greeting
}

/** How long ago something in the API's time was, in milliseconds. */
export const since = (t: string | undefined): number => present() - ms(t)
