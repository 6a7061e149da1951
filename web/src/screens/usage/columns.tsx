import { useState } from 'preact/hooks'
import { now } from '../../lib/clock'
import { figure, moment } from '../../lib/format'
import { useWidth } from '../../ui/basics'
import { useZoom, type Range } from '../../ui/zoom'
import { days, foot, left, mark, top } from '../../ui/plot'
import { phrase, T } from '../../texts'

/** A part of columns; dye is what its colour is called. */
export interface Stack { id: string; name: string; dye: string | number; values: number[] }

/** Columns over time, each of several parts one on the other. Arrow keys read them. */
export function Columns({ label, starts: allStarts, length, stacks: allStacks, format, height = 220 }: { label: string; starts: number[]; length: number; stacks: Stack[]; format: (v: number) => string; height?: number }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [at, setAt] = useState(-1)
  const [range, setRange] = useState<Range | null>(null)
  const whole: Range = [0, allStarts.length]
  const [first, end] = range && range[1] <= whole[1] ? [Math.floor(range[0]), Math.ceil(range[1])] : whole
  const starts = allStarts.slice(first, end)
  const stacks = allStacks.map((s) => ({ ...s, values: s.values.slice(first, end) }))
  const sums = starts.map((_, i) => stacks.reduce((n, s) => n + (s.values[i] ?? 0), 0))
  const [max, steps] = top(Math.max(0, ...sums))
  const room = Math.max(40, width - left - 4)
  const { drag, ...zoom } = useZoom({ whole, seen: [first, end], zoomed: end - first < whole[1], left, room, least: 2, set: setRange })
  const each = room / Math.max(1, starts.length)
  const gap = each > 6 ? Math.min(4, each * 0.18) : 0
  const y = (v: number): number => 8 + (1 - v / max) * (height - foot - 8)
  const dayOf = (t: number): string => new Date(t).toDateString()
  const marked = starts.length * length > days ? starts.filter((t) => dayOf(t) !== dayOf(t - length)) : starts // a day is named where it begins
  const every = Math.max(1, Math.ceil((marked.length * 64) / room))
  const when = at < 0 ? '' : moment(starts[at]!, now.peek(), false)
  const said = at < 0 ? [] : [...stacks.filter((s) => (s.values[at] ?? 0) > 0).map((s) => [s.name, format(s.values[at]!)]), ...(stacks.length > 1 ? [[T.$total2, format(sums[at]!)]] : [])]
  return (
    <div class="plot-frame" ref={box} role="group" tabIndex={0} aria-label={phrase(T.$labelUseTheArrowKeysToRead, { label })} onPointerLeave={() => { setAt(-1); zoom.left() }} {...zoom.on} onBlur={() => setAt(-1)}
      onKeyDown={(e) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key]
        if (zoom.key(e, at < 0 ? null : first + at + 0.5)) setAt(-1)
        else if (by) setAt(Math.max(0, Math.min(starts.length - 1, (at < 0 ? starts.length : at) + by)))
        else if (e.key === 'Escape' && at >= 0) setAt(-1)
        else return
        e.preventDefault()
        e.stopPropagation()
      }}
      onPointerMove={(e) => {
        const i = Math.floor((e.clientX - e.currentTarget.getBoundingClientRect().left - left) / each)
        setAt(i >= 0 && i < starts.length ? i : -1)
        zoom.moved(e)
      }}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={phrase(T.$labelTheTableBelowShowsThe, { label })}>
          {Array.from({ length: steps + 1 }, (_, i) => (max / steps) * i).map((v) => (
            <g key={v} class="rule"><path d={`M${left} ${y(v)}H${left + room}`} /><text x={left - 7} y={y(v) + 4} text-anchor="end">{figure(v, max / steps)}</text></g>
          ))}
          {drag && <rect class="dragged" x={Math.min(...drag)} y={8} width={Math.abs(drag[1] - drag[0])} height={height - foot - 8} />}
          {at >= 0 && <rect class="column-at" x={left + at * each} width={each} y={8} height={height - foot - 8} />}
          {starts.map((t, i) => {
            let sum = 0
            return (
              <g key={t}>
                {stacks.map((s) => {
                  const v = s.values[i] ?? 0
                  if (!(v > 0)) return null
                  sum += v
                  return <rect key={s.id} class="block" data-l={s.dye} x={left + i * each + gap / 2} width={Math.max(1, each - gap)} y={y(sum)} height={Math.max(1, y(sum - v) - y(sum))} />
                })}
                {marked.includes(t) && marked.indexOf(t) % every === 0 && <text x={left + (i + 0.5) * each} y={height - 4} text-anchor="middle">{mark(t, length * starts.length)}</text>}
              </g>
            )
          })}
        </svg>
      )}
      {said.length > 0 && (sums[at] ?? 0) > 0 && (
        <div class="plot-tip" style={left + at * each > width / 2 ? { right: width - left - at * each + 6 + 'px' } : { left: left + (at + 1) * each + 6 + 'px' }}>
          <b>{when}</b>
          {said.map(([name, v]) => <div key={name}><span>{name}</span><span>{v}</span></div>)}
        </div>
      )}
      {end - first < whole[1] && <button type="button" class="plot-whole" onClick={() => setRange(null)}>{T.$wholeRange}</button>}
      <span class="sr" role="status">{at >= 0 && document.activeElement === box.current && `${when}: ${said.map((s) => s.join(' ')).join(', ')}`}</span>
    </div>
  )
}
