// What is held of one log: a stretch of it without holes, as lines.
import { plain, settled } from '../../../lib/ansi'

/** A line. In a log of several tasks offset is keyOf task and byte. */
export interface Line { text: string; at: string; offset: number; task?: number; byte?: number }

/** A number that only one line of all tasks has. */
export const keyOf = (task: number, byte: number): number => task * 2 ** 34 + byte

const timed = 25 // a time and a space before each line

/** Cuts a log into lines, with times unless stamp is 0, and knows the byte of the log at which each begins. */
export class Cutter {
  private rest = new Uint8Array(0)
  private readonly decoder = new TextDecoder()
  /** Byte of the log after what was cut; what is in rest is not counted. */
  next: number

  constructor(offset: number, private readonly stamp = timed) {
    this.next = offset
  }

  /** Lines that have ended. */
  cut(chunk: Uint8Array): Line[] {
    let data = chunk
    if (this.rest.length > 0) {
      data = new Uint8Array(this.rest.length + chunk.length)
      data.set(this.rest)
      data.set(chunk, this.rest.length)
    }
    const out: Line[] = []
    let from = 0
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, from)) {
      out.push(this.line(data.subarray(from, end), 1))
      from = end + 1
    }
    this.rest = data.slice(from)
    return out
  }

  /** What has begun and not ended yet; it counts only when it has. */
  open(): Line | null {
    if (this.rest.length <= this.stamp) return null
    const keep = this.next
    const l = this.line(this.rest, 0)
    this.next = keep
    return l
  }

  /** Takes what is left as a line: nothing more comes. */
  close(): Line[] {
    if (this.rest.length <= this.stamp) return []
    const l = this.line(this.rest, 0)
    this.rest = new Uint8Array(0)
    return [l]
  }

  private line(raw: Uint8Array, newline: number): Line {
    const offset = this.next
    this.next += Math.max(0, raw.length - this.stamp) + newline
    return { at: this.decoder.decode(raw.subarray(0, Math.max(0, this.stamp - 1))), text: settled(this.decoder.decode(raw.subarray(this.stamp))), offset }
  }
}

/** Finds lines; a text between slashes is a regular expression. Null: it is none. */
export function finder(text: string): RegExp | null {
  if (!text) return null
  try {
    const m = /^\/(.+)\/$/.exec(text)
    return new RegExp(m ? m[1]! : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi')
  } catch {
    return null
  }
}

/** Numbers of the lines in which something is found. */
export function find(lines: Line[], what: RegExp): number[] {
  const out: number[] = []
  for (let i = 0; i < lines.length; i++) {
    what.lastIndex = 0
    if (what.test(plain(lines[i]!.text))) out.push(i)
  }
  return out
}
