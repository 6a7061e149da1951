// A table for any number of rows: only those that are seen are in the document.
// It is a real table, whose rows know their place to those who cannot see it.
import type { ComponentChildren } from 'preact'
import { memo } from '../lib/memo'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useKeys } from '../lib/keys'
import { Icon } from './icons'
import { useWidth } from './basics'
import { T } from '../texts'

export interface Column<T> {
  id: string
  title: string
  /** Width in pixels; of a column that grows the least. */
  width: number
  grow?: number
  align?: 'end'
  /** Where there is no room for all, those with the largest number go first. */
  rank: number
  /** Not shown unless chosen; then it comes before all but the first three. */
  optional?: boolean
  cell: (row: T) => ComponentChildren
  /** Orders two rows; without it the column cannot be sorted by. */
  sort?: (a: T, b: T) => number
  /** What stands in a CSV file. */
  text: (row: T) => string
}

export interface Sort { by: string; down: boolean }

interface Props<T> {
  label: string
  columns: Column<T>[]
  rows: T[]
  keyOf: (row: T) => string
  open: (row: T) => void
  sort: Sort | null
  onSort: (s: Sort) => void
  chosen?: ReadonlySet<string>
  onChoose?: (keys: Set<string>) => void
  empty: ComponentChildren
  /** Called when the last of the rows come near: there may be more to load. */
  onEnd?: () => void
  /** Told which rows are near: from the one to before the other. */
  onNear?: (from: number, to: number) => void
  /** Told which columns there is room for. */
  onFit?: (ids: string) => void
}

const rowHeight = 36
const headHeight = 34
const spare = 10 // rows beyond what is seen
const checkWidth = 34

/** Which columns there is room for, and how wide each is. */
export function fit<T>(columns: Column<T>[], room: number): { column: Column<T>; width: number }[] {
  const kept = new Set<Column<T>>()
  let used = 0
  const rank = (c: Column<T>): number => (c.optional ? 3 + c.rank / 100 : c.rank)
  for (const c of [...columns].sort((a, b) => rank(a) - rank(b))) {
    if (kept.size > 0 && used + c.width > room) break
    kept.add(c)
    used += c.width
  }
  const shown = columns.filter((c) => kept.has(c))
  const grows = shown.reduce((n, c) => n + (c.grow ?? 0), 0)
  const left = Math.max(0, room - used)
  return shown.map((c) => ({ column: c, width: c.width + (grows ? (left * (c.grow ?? 0)) / grows : 0) }))
}

export function Table<T>(p: Props<T>) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [cursor, setCursor] = useState(-1)
  const last = useRef(-1)
  const wantFocus = useRef(false)
  const choosing = !!p.chosen && !!p.onChoose && width > 560
  const fitted = fit(p.columns, Math.max(0, width - (choosing ? checkWidth : 0)))

  useEffect(() => {
    const el = box.current
    if (!el) return
    const o = new ResizeObserver(() => setHeight(el.clientHeight))
    o.observe(el)
    return () => o.disconnect()
  }, [])

  const first = Math.max(0, Math.min(p.rows.length - 1, Math.floor(top / rowHeight)) - spare)
  const end = Math.min(p.rows.length, Math.ceil((top + height) / rowHeight) + spare)

  const goTo = (i: number): void => {
    const to = Math.max(0, Math.min(p.rows.length - 1, i))
    const el = box.current
    if (!el || p.rows.length === 0) return
    const y = to * rowHeight
    if (y < el.scrollTop) el.scrollTop = y
    else if (y + rowHeight + headHeight > el.scrollTop + el.clientHeight) el.scrollTop = y + rowHeight + headHeight - el.clientHeight
    setTop(el.scrollTop)
    wantFocus.current = true
    setCursor(to)
  }
  useLayoutEffect(() => {
    if (!wantFocus.current) return
    wantFocus.current = false
    box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${cursor + 2}"]`)?.focus({ preventScroll: true })
  })
  // Rows are not drawn again for what concerns others: what they call must look
  // at the present.
  const self = useRef(p)
  self.current = p
  const openRow = useRef((row: unknown) => self.current.open(row as T)).current
  const toggle = useRef((i: number, range: boolean): void => {
    const p = self.current
    if (!p.onChoose || !p.chosen || !p.rows[i]) return
    const next = new Set(p.chosen)
    const key = p.keyOf(p.rows[i]!)
    const on = !next.has(key)
    const [a, b] = range && last.current >= 0 ? [Math.min(i, last.current), Math.max(i, last.current)] : [i, i]
    for (const r of p.rows.slice(a, b + 1)) {
      if (on) next.add(p.keyOf(r))
      else next.delete(p.keyOf(r))
    }
    last.current = i
    self.current = { ...p, chosen: next } // for who asks again before it is drawn
    p.onChoose!(next)
  }).current
  const at = (): T | undefined => (cursor >= 0 ? p.rows[cursor] : undefined)
  useKeys(() => [
    { keys: 'j', does: T.$nextRow, run: () => goTo(cursor + 1) },
    { keys: 'k', does: T.$previousRow, run: () => goTo(Math.max(0, cursor - 1)) },
    { keys: 'G', does: T.$lastRow, run: () => goTo(p.rows.length - 1) },
    { keys: 'x', does: T.$selectRow, run: () => cursor >= 0 && toggle(cursor, false) },
    { keys: 'enter', does: T.$openRow, run: () => at() && p.open(at()!) },
  ])

  const signature = fitted.map((f) => f.column.id).join()
  useEffect(() => p.onFit?.(signature), [signature])

  const near = !!p.onEnd && end >= p.rows.length - 5 * spare
  useEffect(() => {
    if (near) p.onEnd!()
  }, [near, p.rows.length])

  const [from, to] = [first - (first % 20), Math.ceil(end / 20) * 20]
  useEffect(() => p.onNear?.(from, to), [from, to])

  // What people wait for, measured where they wait for it.
  const any = fitted.length > 0 && p.rows.length > 0
  useEffect(() => {
    if (any && performance.getEntriesByName('first-rows').length === 0) requestAnimationFrame(() => performance.mark('first-rows'))
  }, [any])
  const all = p.rows.length > 0 && !!p.chosen && p.chosen.size >= p.rows.length && p.rows.every((r) => p.chosen!.has(p.keyOf(r)))
  return (
    <div class="table-box" ref={box} onScroll={(e) => setTop(e.currentTarget.scrollTop)} tabIndex={p.rows.length === 0 ? undefined : 0} role="region" aria-label={p.label}
      onKeyDown={(e) => {
        if (e.key === 'ArrowDown') goTo(cursor + 1)
        else if (e.key === 'ArrowUp') goTo(Math.max(0, cursor - 1))
        else return
        e.preventDefault()
      }}>
      <table aria-rowcount={p.rows.length + 1} aria-label={p.label} class="table">
        <colgroup>
          {choosing && <col style={{ width: checkWidth + 'px' }} />}
          {fitted.map((f) => <col key={f.column.id} style={{ width: f.width + 'px' }} />)}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {choosing && (
              <th scope="col" class="check">
                <input type="checkbox" aria-label={T.$selectAll} checked={all} onChange={() => p.onChoose!(all ? new Set() : new Set(p.rows.map(p.keyOf)))} />
              </th>
            )}
            {fitted.map(({ column: c }) => {
              const sorted = p.sort?.by === c.id
              return (
                <th key={c.id} scope="col" data-align={c.align} aria-sort={sorted ? (p.sort!.down ? 'descending' : 'ascending') : undefined}>
                  {c.sort
                    ? <button type="button" onClick={() => p.onSort({ by: c.id, down: sorted ? !p.sort!.down : false })}>{c.title}{sorted && <Icon name={p.sort!.down ? 'down' : 'up'} size={12} />}</button>
                    : c.title}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr class="gap" aria-hidden="true"><td colSpan={99} style={{ height: first * rowHeight + 'px' }} /></tr>}
          {p.rows.slice(first, end).map((row, i) => (
            <TableRow key={p.keyOf(row)} row={row} index={first + i} at={cursor === first + i} chosen={p.chosen?.has(p.keyOf(row)) ?? false} choosing={choosing} signature={signature}
              fitted={fitted as { column: Column<unknown>; width: number }[]} open={openRow} toggle={toggle} name={p.keyOf(row)} />
          ))}
          {end < p.rows.length && <tr class="gap" aria-hidden="true"><td colSpan={99} style={{ height: (p.rows.length - end) * rowHeight + 'px' }} /></tr>}
        </tbody>
      </table>
      {p.rows.length === 0 && p.empty}
    </div>
  )
}

interface RowProps {
  row: unknown; index: number; at: boolean; chosen: boolean; choosing: boolean; signature: string; name: string
  fitted: { column: Column<unknown>; width: number }[]; open: (r: unknown) => void; toggle: (i: number, range: boolean) => void
}

// A row is drawn again when it is another one, not when others change.
const TableRow = memo(
  function TableRow({ row, index, at, chosen, choosing, fitted, open, toggle, name }: RowProps) {
    return (
      <tr aria-rowindex={index + 2} tabIndex={at ? 0 : -1} aria-selected={choosing ? chosen : undefined} data-at={at || undefined} data-key={name}
        onClick={(e) => {
          if ((e.target as HTMLElement).closest('a,button,input,label') || getSelection()?.toString()) return
          open(row)
        }}>
        {choosing && <td class="check"><input type="checkbox" aria-label={T.$select} checked={chosen} onClick={(e) => toggle(index, e.shiftKey)} /></td>}
        {fitted.map(({ column: c }) => <td key={c.id} data-align={c.align} data-column={c.id}>{c.cell(row)}</td>)}
      </tr>
    )
  },
  (a: RowProps, b: RowProps) => a.row === b.row && a.index === b.index && a.at === b.at && a.chosen === b.chosen && a.choosing === b.choosing && a.signature === b.signature,
)
