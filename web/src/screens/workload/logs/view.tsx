// The lines of a log: only those that are seen are in the document.
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { plain, spans } from '../../../lib/ansi'
import { exact, logTime } from '../../../lib/format'
import { useWidth } from '../../../ui/basics'
import { Icon } from '../../../ui/icons'
import { ranges, type Shown } from './fold'
import type { LogState } from './source'
import { phrase, T } from '../../../texts'

export const lineHeight = 20
const spare = 30
const charWidth = 7.22 // of the typeface at its size; measured again once it is there

interface Props {
  log: LogState
  lines: Shown[] // what is shown of it
  several: boolean // of several tasks
  times: boolean
  wrap: boolean
  find: RegExp | null
  hit: number // offset of the line that was found and is looked at; -1: none
  marked: number // offset of the line that a link points to; -1: none
  link: (line: Shown) => void
  open: (offset: number) => void // a line that stands for several
  before: () => Promise<number>
  after: () => void
  follow: boolean
  setFollow: (v: boolean) => void
}

/** Where each line begins, in rows. Lines that are wrapped take several. */
function layout(lines: Shown[], columns: number): Uint32Array | null {
  if (columns <= 0) return null
  const at = new Uint32Array(lines.length + 1)
  for (let i = 0; i < lines.length; i++) {
    const t = lines[i]!.text
    const n = t.length <= columns && !t.includes('\t') ? 1 : Math.max(1, Math.ceil(visual(t) / columns))
    at[i + 1] = at[i]! + n
  }
  return at
}

const visual = (t: string): number => plain(t).replaceAll('\t', '        ').length

function lineAt(at: Uint32Array | null, row: number, count: number): number {
  if (!at) return Math.max(0, Math.min(count - 1, row))
  let lo = 0
  let hi = count
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1
    if (at[mid]! <= row) lo = mid
    else hi = mid - 1
  }
  return Math.max(0, Math.min(count - 1, lo))
}

export function LogView(p: Props) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const letter = useCharWidth(box)
  const lines: Shown[] = p.log.open ? [...p.lines, { ...p.log.open, index: p.log.lines.length, times: 1, ranks: [] }] : p.lines
  const numbered = p.log.first === 0
  const digits = numbered ? String(p.log.lines.length + 1).length : 0
  const gutter = (numbered ? digits * letter + 22 : 26) + (p.times ? 13 * letter : 0) + (p.several ? 5 * letter + 14 : 0)
  const columns = p.wrap ? Math.max(20, Math.floor((width - gutter - 16) / letter)) : 0
  const at = layout(lines, columns)
  const rowOf = (i: number): number => (at ? at[i]! : i)
  const rows = at ? at[lines.length]! : lines.length
  const anchor = useRef<{ offset: number; delta: number } | null>(null)
  const loadingBefore = useRef(false)

  useEffect(() => {
    const el = box.current!
    const o = new ResizeObserver(() => setHeight(el.clientHeight))
    o.observe(el)
    return () => o.disconnect()
  }, [])

  // What is added before what is seen must not move it; at the end the newest
  // line stays in view.
  useLayoutEffect(() => {
    const el = box.current!
    if (anchor.current) {
      const a = anchor.current
      const i = lines.findIndex((l) => l.offset === a.offset)
      if (i >= 0) el.scrollTop = rowOf(i) * lineHeight + a.delta
      anchor.current = null
    } else if (p.follow) el.scrollTop = el.scrollHeight
    if (el.scrollTop !== top) setTop(el.scrollTop)
  }, [lines.length, p.log.open?.text, rows, p.follow, height])

  const reveal = (i: number): void => {
    const el = box.current
    if (!el) return
    p.setFollow(false)
    el.scrollTop = Math.max(0, rowOf(i) * lineHeight - el.clientHeight / 3)
    setTop(el.scrollTop)
  }
  const wanted = p.hit >= 0 ? p.hit : p.marked
  const there = wanted >= 0 && p.lines.length > 0 && (lines.some((l) => l.offset === wanted) || (p.hit < 0 && !p.several))
  useLayoutEffect(() => {
    if (!there) return
    const i = lines.findIndex((l) => (p.several || p.hit >= 0 ? l.offset === wanted : l.offset >= wanted))
    if (i >= 0) reveal(i)
  }, [wanted, there])

  // A part that does not fill what is seen is read on.
  useEffect(() => {
    if (p.log.state === 'part') onward()
  }, [p.log.state, lines.length, height])
  const onward = (): void => {
    const el = box.current
    if (el && el.scrollTop + el.clientHeight > el.scrollHeight - 600) p.after()
  }

  // A box tells of its last scrolling also once the page is left.
  const scrolled = (): void => {
    const el = box.current
    if (!el) return
    setTop(el.scrollTop)
    const atEnd = el.scrollTop + el.clientHeight >= el.scrollHeight - 4
    if (atEnd !== p.follow && (p.log.state === 'following' || !atEnd)) p.setFollow(atEnd)
    if (el.scrollTop < 600 && p.log.first > 0 && !loadingBefore.current && lines.length > 0) {
      loadingBefore.current = true
      const firstSeen = lineAt(at, Math.floor(el.scrollTop / lineHeight), lines.length)
      const offset = lines[firstSeen]!.offset
      void p.before().then((n) => {
        loadingBefore.current = false
        // who has left meanwhile has no place to keep
        if (n > 0 && box.current) anchor.current = { offset, delta: box.current.scrollTop - rowOf(firstSeen) * lineHeight }
      })
    }
    onward()
  }

  const from = Math.max(0, lineAt(at, Math.floor(top / lineHeight), lines.length) - spare)
  const until = Math.min(lines.length, lineAt(at, Math.ceil((top + height) / lineHeight), lines.length) + spare + 1)
  return (
    <div class="log" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-label={T.$output} aria-live="off" data-wrap={p.wrap || undefined}>
      <div class="log-lines" style={{ height: rows * lineHeight + 'px' }}>
        <div class="log-window" style={{ transform: `translateY(${rowOf(from) * lineHeight}px)` }}>
          {lines.slice(from, until).map((l) => (
            <LogLine key={l.offset} line={l} number={numbered ? l.index + 1 : 0} width={digits} times={p.times} several={p.several} find={p.find} current={p.hit === l.offset} marked={p.marked >= 0 && l.offset === p.marked} link={p.link} open={p.open} />
          ))}
        </div>
      </div>
    </div>
  )
}

interface LineProps { line: Shown; number: number; width: number; times: boolean; several: boolean; find: RegExp | null; current: boolean; marked: boolean; link: (line: Shown) => void; open: (offset: number) => void }

function LogLine({ line, number, width, times, several, find, current, marked, link, open }: LineProps) {
  const who = line.ranks.length > 0 ? ranges(line.ranks) : String(line.task ?? 0)
  return (
    <div class="log-line" data-current={current || undefined} data-marked={marked || undefined}>
      <button type="button" class="log-link" tabIndex={-1} aria-label={number ? phrase(T.$linkToLineNumber, { number }) : T.$linkToThisLine} onClick={() => link(line)}>
        {number ? String(number).padStart(width, ' ') : <Icon name="link" size={12} />}
      </button>
      {several && <span class="log-rank" data-hue={line.ranks.length > 1 ? undefined : (line.task ?? 0) % 6} title={phrase(T.$taskChoice, { choice: who })}>{who}</span>}
      {times && <time class="log-time" dateTime={line.at} title={exact(line.at)}>{logTime(line.at)}</time>}
      <span class="log-text">{(find && marks(line.text, find)) || spans(line.text).map((s, i) => (s.style ? <span key={i} class={s.style}>{s.text}</span> : s.text))}{' '}</span>
      {line.times > 1 && <button type="button" class="log-times" aria-label={phrase(T.$showAllTimesRepetitionsOf, { times: line.times })} title={T.$showAll} onClick={() => open(line.offset)}>×{line.times}</button>}
    </div>
  )
}

/** A line with what was found in it marked; null: nothing was. */
function marks(text: string, find: RegExp) {
  const t = plain(text)
  const out = []
  let at = 0
  find.lastIndex = 0
  for (const m of t.matchAll(find)) {
    if (m[0] === '') break
    out.push(t.slice(at, m.index), <mark key={m.index}>{m[0]}</mark>)
    at = m.index + m[0].length
  }
  if (out.length === 0) return null
  out.push(t.slice(at))
  return out
}

/** Width of a letter of the log. */
function useCharWidth(box: RefObject<HTMLElement>): number {
  const [w, setW] = useState(charWidth)
  useEffect(() => {
    const measure = (): void => {
      const probe = document.createElement('span')
      probe.className = 'log-probe'
      probe.textContent = '0'.repeat(100)
      box.current?.append(probe)
      const got = probe.getBoundingClientRect().width / 100
      probe.remove()
      if (got > 0) setW(got)
    }
    measure()
    void document.fonts.ready.then(measure)
  }, [])
  return w
}
