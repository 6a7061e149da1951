// One stream of server-sent events for all tabs of a browser, for a browser has
// six connections to a server: one tab leads, which has the stream and passes on
// what comes. Where a browser has no locks (pages without TLS) each has its own.
// fetch instead of EventSource: that does not tell a 410 from a broken connection.
import { signal } from '@preact/signals'
import { asError, stream } from '../api/client'
import type { Greeting } from '../api/types'
import { ms } from '../lib/format'
import { root } from '../lib/router'

export type StreamState = 'connecting' | 'live' | 'stale' | 'paused'

/** How the stream is. */
export const streamState = signal<StreamState>('connecting')

/** When something came last, by this browser's clock. */
export const lastHeard = signal(0)

export interface Handlers {
  event: (name: string, data: unknown) => void
  /** All that overviews have told, for a tab that comes later; null: nothing yet. */
  overview: () => unknown
  /** Reads everything anew, and returns the revision from which to follow. */
  list: () => Promise<string>
}

/** What tabs tell each other: events of the server, and "ask", "state", "anew" and "session". */
interface Note {
  name: string
  data: unknown
  id: string // revision that is known with it; empty: it is of none
  after: string // revision that has to be known before it
  to?: string // the only tab that it is for
}

const silence = 40_000 // two heartbeats and a half
const hiddenFor = 60_000 // after which a page that nobody sees lets go of its connection
const shared = 'muster ' + root
const channel = 'locks' in navigator && 'BroadcastChannel' in window ? new BroadcastChannel(shared) : null
const me = channel ? crypto.randomUUID() : ''

const tell = (name: string, data: unknown, o: Partial<Note> = {}): void => channel?.postMessage({ name, data, id: '', after: '', ...o } satisfies Note)

/** Tells the other tabs that it may be somebody else now who looks. */
export const tellSession = (): void => tell('session', null)

const later = (a: string, b: string): boolean => Number(a) > Number(b)

/** Follows the stream until the page is closed; resumes where it broke off. */
export function follow(handlers: Handlers): void {
  let last = '' // revision up to which this tab knows everything
  let queue: Promise<unknown> = Promise.resolve() // of what is put in, one after the other
  let leads = false
  let stands: AbortController | null = null // for the lead, or has it
  let connection = new AbortController()
  const sleepers = new Set<() => void>()
  let watchdog: ReturnType<typeof setTimeout> | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  // The last one, and how far the server's clock was ahead, for tabs that come later.
  let greeting: { data: Greeting; ahead: number } | null = null

  const say = (s: StreamState): void => {
    streamState.value = s
    if (leads) tell('state', s)
  }

  const heard = (): void => {
    lastHeard.value = Date.now()
    clearTimeout(watchdog)
    watchdog = setTimeout(() => {
      if (leads) connection.abort() // it may have died without a word
      else streamState.value = 'stale'
    }, silence)
  }

  const wake = (): void => sleepers.forEach((up) => up())

  // Doubling with chance, so that a server that comes back is not stormed; a tab
  // that does not stand for the lead sleeps until it does.
  const rest = (tries: number): Promise<void> => new Promise((done) => {
    const up = (): void => {
      clearTimeout(t)
      sleepers.delete(up)
      done()
    }
    const t = stands ? setTimeout(up, Math.min(15_000, 250 * 2 ** tries) * (0.5 + Math.random())) : undefined
    sleepers.add(up)
  })

  const enqueue = (what: () => unknown): Promise<unknown> => {
    const done = queue.then(what)
    queue = done.catch(() => {})
    return done
  }

  const anew = async (): Promise<void> => {
    for (let tries = 0; ; tries++) {
      try {
        last = await handlers.list()
        return
      } catch {
        if (lastHeard.peek()) say('stale')
        await rest(tries)
      }
    }
  }

  const put = (n: Note): Promise<unknown> => enqueue(async () => {
    if (!last || later(n.after, last)) await anew() // a tab that slept has missed something
    if (later(n.id, last)) last = n.id
    handlers.event(n.name, n.data)
  })

  function hear(n: Note): void {
    if (n.to !== undefined && n.to !== me) return
    if (n.name === 'session') return handlers.event(n.name, null)
    if (n.name === 'ask') return answer(n.data as string)
    if (n.name === 'anew') return void enqueue(() => (last = ''))
    heard()
    streamState.value = n.name === 'state' ? (n.data as StreamState) : 'live'
    if (n.name !== 'state') void put(n)
  }

  function answer(to: string): void {
    if (!leads) return
    if (greeting) tell('greeting', { ...greeting.data, at: new Date(Date.now() + greeting.ahead).toISOString() }, { after: last, to })
    const overview = handlers.overview()
    if (overview) tell('overview', overview, { to })
    tell('state', streamState.peek(), { to })
  }

  async function once(end: AbortSignal): Promise<void> {
    const known = enqueue(() => last || anew())
    await Promise.race([known, new Promise((done) => end.addEventListener('abort', done))])
    if (end.aborted) return
    connection = new AbortController()
    const mine = connection
    try {
      const r = await stream('v1/stream?changes=true', mine, { headers: { 'Last-Event-ID': last } })
      heard()
      await read(r.body!, async (id, name, data) => {
        heard()
        if (name === 'greeting') greeting = { data: data as Greeting, ahead: ms((data as Greeting).at) - Date.now() }
        const n = { name, data, id, after: last }
        channel?.postMessage(n)
        streamState.value = 'live'
        await put(n)
      })
    } finally {
      mine.abort()
    }
  }

  /** Has the stream until it is taken from this tab. */
  async function lead(end: AbortSignal): Promise<void> {
    leads = true
    greeting = null
    for (let tries = 0; !end.aborted; tries++) {
      const before = lastHeard.peek()
      try {
        await once(end)
      } catch (e) {
        if (asError(e).status === 410) {
          last = '' // too much was missed, or the database is another one
          tell('anew', null)
        }
      }
      if (end.aborted) break
      if (lastHeard.peek() !== before) tries = 0
      say(lastHeard.peek() ? 'stale' : 'connecting')
      await rest(tries)
    }
    leads = false
  }

  function stand(): void {
    if (stands) return wake()
    stands = new AbortController()
    wake()
    const { signal } = stands
    if (!channel) return void lead(signal)
    tell('ask', me)
    navigator.locks.request(shared, { signal }, () => lead(signal)).catch(() => {}) // it stepped down before its turn came
  }

  /** Leaves the stream to another tab. */
  function stepDown(): void {
    streamState.value = 'paused'
    stands?.abort()
    stands = null
    connection.abort()
    clearTimeout(watchdog)
    wake()
  }

  const seen = (): void => {
    clearTimeout(hiding)
    if (document.hidden) hiding = setTimeout(stepDown, hiddenFor)
    else stand()
  }

  if (channel) channel.onmessage = (e: MessageEvent<Note>) => hear(e.data)
  document.addEventListener('visibilitychange', seen)
  addEventListener('online', seen)
  addEventListener('pageshow', seen)
  addEventListener('pagehide', stepDown)
  void enqueue(anew)
  stand()
  seen()
}

/** Reads events from a body until it ends. */
export async function read(body: ReadableStream<Uint8Array>, each: (id: string, name: string, data: unknown) => Promise<void>): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest += value
    let end: number
    while ((end = rest.indexOf('\n\n')) >= 0) {
      const block = rest.slice(0, end)
      rest = rest.slice(end + 2)
      let id = ''
      let name = 'message'
      let data = ''
      for (const line of block.split('\n')) {
        if (line.startsWith('id: ')) id = line.slice(4)
        else if (line.startsWith('event: ')) name = line.slice(7)
        else if (line.startsWith('data: ')) data += line.slice(6)
      }
      if (data) await each(id, name, JSON.parse(data))
    }
  }
}
