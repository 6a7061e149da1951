// Output of several tasks as one log, in the order of time. The server merges;
// here are the pages of it that are looked at.
import { signal, type Signal } from '@preact/signals'
import { asError, get, params, streamSeen, workloadURL } from '../../../api/client'
import type { LogLine, LogPage } from '../../../api/types'
import { settled } from '../../../lib/ansi'
import { keyOf, type Line } from './buffer'
import { linesMost, type From, type LogSource, type LogState } from './source'

const lineOf = (l: LogLine): Line => ({ text: settled(l.text), at: l.at, offset: keyOf(l.task, l.offset), task: l.task, byte: l.offset })

const pagesMost = 40 // that are read on for a line

/** Several logs, which are followed until they are closed. */
export class Merged implements LogSource {
  readonly state: Signal<LogState> = signal({ lines: [], open: null, first: -1, state: 'loading', error: null })
  private lines: Line[] = []
  private back = ''
  private on = ''
  private mode: LogState['state'] = 'loading'
  private abort = new AbortController()
  private turn = 0 // whoever reads for another turn than this one has nothing to say any more
  private busy = false

  constructor(
    readonly from: From,
    private readonly goesOn: () => boolean | Promise<boolean>,
  ) {}

  close(): void {
    this.turn++
    this.abort.abort()
  }

  private page(q: Record<string, string | number>): Promise<LogPage> {
    return get<LogPage>(this.path(q), this.abort.signal)
  }

  private path(q: Record<string, string | number>): string {
    return workloadURL(this.from.project, this.from.name) + '/logs/merged' + params({ attempt: String(this.from.attempt), ...q })
  }

  async follow(): Promise<void> {
    const mine = this.begin(this.mode !== 'following') // on from what is there
    let over = false // they were known to be over when they were asked last: what has no output now never will
    for (let tries = 0; ; tries++) {
      try {
        if (this.mode === 'loading') {
          const p = await this.page({ limit: 2000 })
          if (mine !== this.turn) return
          this.lines = p.lines.map(lineOf)
          this.back = p.before
          this.on = p.after
          this.mode = 'following'
          this.show()
        }
        if (await this.stream(mine, () => (tries = 0))) return
      } catch (e) {
        if (mine !== this.turn) return
        const err = asError(e)
        const early = err.code === 'no_logs' && !over // they begin in a moment
        if (early) over = !(await this.goesOn())
        if (mine !== this.turn) return
        if (err.status > 0 && err.status < 500 && !early) {
          this.mode = 'error'
          this.state.value = { ...this.state.value, state: 'error', error: err }
          return
        }
        if (early && over) continue // they may have begun and ended since they were asked for their output
      }
      await new Promise((done) => setTimeout(done, Math.min(5000, 300 * 2 ** tries)))
      if (mine !== this.turn) return
    }
  }

  /** Follows; true: everything has ended, or somebody looks elsewhere. some is called when anything has come. */
  private async stream(mine: number, some: () => void): Promise<boolean> {
    this.abort = new AbortController()
    const r = await streamSeen(this.path({ follow: 'true', after: this.on || '0@0' }), this.abort)
    const reader = r.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (mine !== this.turn) return true
      if (done) return false
      some()
      rest += value
      const parts = rest.split('\n')
      rest = parts.pop()!
      for (const text of parts) {
        const p = JSON.parse(text) as LogPage
        for (const l of p.lines) this.lines.push(lineOf(l))
        if (p.after) this.on = p.after
        if (p.ended) this.mode = 'ended'
      }
      if (this.lines.length > linesMost) this.trim()
      this.show()
      if (this.mode === 'ended') return true
    }
  }

  /** Forgets the oldest lines; where they are read from again is where the next of each task begins. */
  private trim(): void {
    this.lines = this.lines.slice(linesMost / 10)
    const at = new Map(this.on.split(',').map((p) => p.split('@') as [string, string]))
    for (let i = this.lines.length - 1; i >= 0; i--) {
      const l = this.lines[i]!
      for (const k of at.keys()) if (Number.parseInt(k) === l.task) at.set(k, String(l.byte))
    }
    this.back = [...at].map((p) => p.join('@')).join(',')
  }

  /** Reads what was written at about a time, from a line of one task on if one is meant. */
  async around(o: { key?: number; when?: string }): Promise<void> {
    const mine = this.begin(true)
    try {
      const near = await this.page({ at: o.when ?? '', limit: 1 })
      const all = (near.before || '').split(',').filter(Boolean)
      const task = Math.floor((o.key ?? 0) / 2 ** 34)
      const at = (o.key === undefined ? all : [`${task}@${o.key % 2 ** 34}`, ...all.filter((p) => Number.parseInt(p) !== task)]).join(',')
      let [above, below] = [await this.page({ before: at, limit: 300 }), await this.page({ after: at, limit: 1000 })]
      // Others may have written much in the same moment: on until the line is there.
      for (let n = 0; o.key !== undefined && n < pagesMost && below.more && !below.lines.some((l) => keyOf(l.task, l.offset) === o.key); n++) {
        above = below
        below = await this.page({ after: below.after, limit: 5000 })
      }
      if (mine !== this.turn) return
      this.lines = [...above.lines, ...below.lines].map(lineOf)
      this.back = above.before
      this.on = below.after
      this.mode = 'part'
      this.show()
    } catch (e) {
      if (mine !== this.turn) return
      this.mode = 'error'
      this.state.value = { ...this.state.value, state: 'error', error: asError(e) }
    }
  }

  async before(): Promise<number> {
    if (this.busy || !this.back) return 0
    this.busy = true
    const mine = this.turn
    try {
      const p = await get<LogPage>(this.path({ before: this.back, limit: 2000 }))
      if (mine !== this.turn) return 0
      this.lines = p.lines.map(lineOf).concat(this.lines)
      this.back = p.before
      this.show()
      return p.lines.length
    } catch {
      return 0 // it is tried again when somebody scrolls on
    } finally {
      this.busy = false
    }
  }

  async after(): Promise<void> {
    if (this.busy || this.mode !== 'part') return
    this.busy = true
    const mine = this.turn
    try {
      const p = await this.page({ after: this.on, limit: 2000 })
      if (mine !== this.turn) return
      this.lines = this.lines.concat(p.lines.map(lineOf))
      this.on = p.after
      if (!p.more) {
        this.mode = 'following'
        void this.follow()
      }
      this.show()
    } catch {
      // The same.
    } finally {
      this.busy = false
    }
  }

  private begin(anew: boolean): number {
    this.abort.abort()
    this.abort = new AbortController()
    if (anew) {
      this.lines = []
      this.mode = 'loading'
      this.show()
    }
    return ++this.turn
  }

  private show(): void {
    this.state.value = { lines: this.lines, open: null, first: this.lines.length > 0 && !this.back ? 0 : 1, state: this.mode, error: null }
  }
}
