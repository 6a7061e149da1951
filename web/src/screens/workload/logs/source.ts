// Where lines come from: the end of a log as it grows, and stretches before and
// after what is held.
import { signal, type Signal } from '@preact/signals'
import { ApiError, asError, params, stream, streamSeen, workloadURL } from '../../../api/client'
import { Cutter, type Line } from './buffer'

const tail = 2000 // lines that are read first
const stretch = 512 << 10 // bytes that are read at a time
/** How many lines are held at most. */
export const linesMost = 200_000

export interface From { project: string; name: string; attempt: number; task: number; part?: 'task' | 'build' }

export interface LogState {
  lines: Line[]
  /** A line that has begun. */
  open: Line | null
  /** Byte at which the first line begins; -1: not known. */
  first: number
  state: 'loading' | 'following' | 'ended' | 'part' | 'error'
  error: ApiError | null
}

/** Where lines come from. */
export interface LogSource {
  readonly state: Signal<LogState>
  close(): void
  follow(): Promise<void>
  around(o: { key?: number; line?: number; when?: string }): Promise<void>
  before(): Promise<number>
  after(): Promise<void>
}

/** One log, which is followed until it is closed. A build's has neither times nor places: it is here whole. */
export class Source implements LogSource {
  readonly state: Signal<LogState> = signal({ lines: [], open: null, first: -1, state: 'loading', error: null })
  private lines: Line[] = []
  private cutter: Cutter
  private abort = new AbortController()
  private turn = 0 // whoever reads for another turn than this one has nothing to say any more
  private frame = 0
  private busy = false
  private mode: LogState['state'] = 'loading'
  private first = -1

  constructor(
    readonly from: From,
    private readonly goesOn: () => boolean | Promise<boolean>,
    /** Its attempt has begun: where there is no output, it comes in a moment. */
    private readonly begun = false,
  ) {
    this.cutter = this.cutterAt(0)
  }

  private get build(): boolean {
    return this.from.part === 'build'
  }

  private cutterAt(offset: number): Cutter {
    return new Cutter(offset, this.build ? 0 : undefined)
  }

  close(): void {
    this.turn++
    this.abort.abort()
    cancelAnimationFrame(this.frame)
  }

  /** Reads the end and follows it. */
  async follow(): Promise<void> {
    await this.onward(this.begin(), { tail, follow: 'true' })
  }

  /** Reads until everything has ended, or somebody looks elsewhere. */
  private async onward(mine: number, query: Record<string, string | number>): Promise<void> {
    let over = false // it was known to be over when it was asked last: what has no output now never will
    for (let tries = 0; ; tries++) {
      try {
        await this.read(mine, query, () => (tries = 0))
        const more = await this.goesOn()
        if (mine !== this.turn) return
        if (!more) {
          this.lines.push(...this.cutter.close())
          this.mode = 'ended'
          this.show()
          return
        }
      } catch (e) {
        if (mine !== this.turn) return
        const err = asError(e)
        const early = err.code === 'no_logs' && this.begun && !over
        if (early) over = !(await Promise.resolve(this.goesOn()).catch(() => true))
        if (mine !== this.turn) return
        if (err.status > 0 && err.status < 500) {
          this.fail(err)
          if (!early) return
          this.mode = 'loading'
          if (over) continue // it may have begun and ended since it was asked for its output
        }
      }
      // The connection broke, the server was restarted, or the page was left and
      // is shown again: on from here.
      this.abort = new AbortController()
      await new Promise((done) => setTimeout(done, Math.min(5000, 300 * 2 ** tries)))
      if (mine !== this.turn) return
      if (this.build) this.mode = 'loading'
      else if (this.mode === 'following') {
        this.cutter = new Cutter(this.cutter.next)
        query = { offset: this.cutter.next, follow: 'true' }
      }
    }
  }

  /** Reads the stretch around a byte, or from the begin as far as a line. */
  async around(o: { key?: number; line?: number }): Promise<void> {
    if (this.build) return this.follow()
    const mine = this.begin()
    try {
      const { key = -1, line = 0 } = o
      if (key < 0) await this.some(mine, 0, (lines) => lines > line + 500)
      else await this.some(mine, Math.max(0, key - stretch / 4), undefined, key + stretch / 2)
      if (mine !== this.turn) return
      this.mode = 'part'
      this.show()
    } catch (e) {
      if (mine === this.turn) this.fail(asError(e))
    }
  }

  /** Reads the stretch before what is held; returns how many lines it added. */
  async before(): Promise<number> {
    if (this.busy || this.first <= 0) return 0
    this.busy = true
    const mine = this.turn
    try {
      const from = Math.max(0, this.first - stretch)
      const cutter = new Cutter(from)
      const got = await this.collect(from, cutter, () => cutter.next >= this.first)
      if (mine !== this.turn) return 0
      let add = got.filter((l) => l.offset < this.first)
      if (from > 0) add = add.slice(1) // it began somewhere in a line
      if (add.length === 0) return 0
      this.lines = add.concat(this.lines)
      this.first = add[0]!.offset
      this.show(true)
      return add.length
    } catch {
      return 0
    } finally {
      this.busy = false
    }
  }

  /** Reads on after what is held; follows once it is at the end. */
  async after(): Promise<void> {
    if (this.busy || this.mode !== 'part') return
    this.busy = true
    const mine = this.turn
    try {
      const begun = this.cutter.next
      const cutter = new Cutter(begun)
      const got = await this.collect(begun, cutter, () => cutter.next - begun > stretch)
      if (mine !== this.turn) return
      this.cutter = cutter
      this.lines = this.lines.concat(got)
      if (got.length === 0) {
        this.mode = 'following'
        void this.onward(mine, { offset: begun, follow: 'true' })
      }
      this.show(true)
    } catch {
      // It is tried again when somebody scrolls on.
    } finally {
      this.busy = false
    }
  }

  /** Forgets what is here, for another turn. */
  private begin(): number {
    this.abort.abort()
    this.abort = new AbortController()
    this.lines = []
    this.first = -1
    this.mode = 'loading'
    this.show(true)
    return ++this.turn
  }

  private fail(error: ApiError): void {
    this.mode = 'error'
    this.state.value = { ...this.state.value, state: 'error', error }
  }

  private async open(query: Record<string, string | number>, abort: AbortController): Promise<Response> {
    const f = this.from
    return (query.follow ? streamSeen : stream)(workloadURL(f.project, f.name) + '/logs' + params({ attempt: f.attempt, task: String(f.task), ...(this.build ? { part: 'build', follow: query.follow } : { times: 'true', ...query }) }), abort)
  }

  /** Reads until the answer ends; some is called when anything has come. */
  private async read(mine: number, query: Record<string, string | number>, some: () => void): Promise<void> {
    const r = await this.open(query, this.abort)
    if (mine !== this.turn) return
    if (this.mode === 'loading') {
      const at = this.build ? 0 : r.headers.get('Muster-Log-Offset')
      this.lines = []
      this.first = at === null ? -1 : Number(at)
      this.cutter = this.cutterAt(Math.max(0, this.first))
    }
    this.mode = 'following'
    this.show()
    const reader = r.body!.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done || mine !== this.turn) return
      some()
      this.lines.push(...this.cutter.cut(value))
      if (this.lines.length > linesMost) {
        this.lines = this.lines.slice(linesMost / 10)
        this.first = this.lines[0]!.offset
      }
      this.show()
    }
  }

  private async some(mine: number, from: number, enough?: (lines: number) => boolean, until?: number): Promise<void> {
    const cutter = new Cutter(from)
    let n = 0
    const got = await this.collect(from, cutter, (more) => {
      n += more
      return enough ? enough(n) : cutter.next >= until!
    })
    if (mine !== this.turn) return
    this.lines = from > 0 ? got.slice(1) : got
    this.first = this.lines[0]?.offset ?? from
    this.cutter = cutter
  }

  /** Lines from a byte on until enough says so, or the end as it is now. */
  private async collect(from: number, cutter: Cutter, enough: (more: number) => boolean): Promise<Line[]> {
    const stop = new AbortController()
    const end = (): void => stop.abort()
    this.abort.signal.addEventListener('abort', end)
    const out: Line[] = []
    try {
      const r = await this.open({ offset: from }, stop)
      const reader = r.body!.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) {
          out.push(...cutter.close())
          return out
        }
        const got = cutter.cut(value)
        out.push(...got)
        if (enough(got.length)) return out
      }
    } finally {
      stop.abort()
      this.abort.signal.removeEventListener('abort', end)
    }
  }

  /** Shows what is held, once for each frame. */
  private show(now = false): void {
    const put = (): void => {
      this.frame = 0
      this.state.value = { lines: this.lines, open: this.cutter.open(), first: this.first, state: this.mode, error: null }
    }
    if (now) {
      cancelAnimationFrame(this.frame)
      put()
    } else if (!this.frame) this.frame = requestAnimationFrame(put)
  }
}
