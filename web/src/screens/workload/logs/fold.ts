// Lines that say the same one after another, as one.
import type { Line } from './buffer'

export interface Shown extends Line {
  /** Its place among all lines that are held. */
  index: number
  /** How many lines it stands for. */
  times: number
  /** Whose they are, where they are of several tasks. */
  ranks: number[]
}

const least = 3 // of one task; of several two are enough

/** Which tasks, shortly: 0–3,7. */
export function ranges(n: number[]): string {
  const s = [...new Set(n)].sort((a, b) => a - b)
  const out: string[] = []
  for (let i = 0; i < s.length; ) {
    let j = i
    while (j + 1 < s.length && s[j + 1] === s[j]! + 1) j++
    out.push(j > i ? `${s[i]}–${s[j]}` : String(s[i]))
    i = j + 1
  }
  return out.join(',')
}

/** Folds lines as they come; what was folded before is not looked at again. */
export class Folder {
  private of: Line[] | null = null
  private first = -1
  private from = 0 // line at which the last group begins
  private rows: Shown[] = []
  private known = ''

  /** Those of alone are never folded away; those of opened were opened. off: nothing is folded. */
  rowsOf(lines: Line[], off: boolean, alone: number[], opened: ReadonlySet<number>): Shown[] {
    const known = off + alone.join() + '/' + [...opened].join()
    if (this.of !== lines || this.first !== lines[0]?.offset || known !== this.known) {
      this.of = lines
      this.first = lines[0]?.offset ?? -1
      this.known = known
      this.from = 0
      this.rows = []
    }
    // The last group may have grown.
    while (this.rows.length > 0 && this.rows[this.rows.length - 1]!.index >= this.from) this.rows.pop()
    for (let i = this.from; i < lines.length; ) {
      const l = lines[i]!
      let end = i + 1
      if (!off && l.text !== '' && !alone.includes(l.offset)) while (end < lines.length && lines[end]!.text === l.text && !alone.includes(lines[end]!.offset)) end++
      const ranks = l.task === undefined ? [] : lines.slice(i, end).map((x) => x.task!)
      const several = new Set(ranks).size > 1
      this.from = i
      if (end - i >= (several ? 2 : least) && !opened.has(l.offset)) this.rows.push({ ...l, index: i, times: end - i, ranks })
      else for (let k = i; k < end; k++) this.rows.push({ ...lines[k]!, index: k, times: 1, ranks: [] })
      i = end
    }
    return this.rows
  }
}
