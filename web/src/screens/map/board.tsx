import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Node } from '../../api/types'
import type { Cell, Rack } from '../../fleet/nodes'
import { useWidth } from '../../ui/basics'
import { layOut, nextSpot, spotAt, type Spot } from './layout'
import type { Mode } from './looks'
import { colors, paint } from './paint'
import { T } from '../../texts'

interface Props {
  racks: Rack[]
  of: (node: string) => Cell[]
  /** What a node is called on the map. */
  named: (n: Node) => string
  mode: Mode
  projects: string[]
  lit: ReadonlySet<Cell> | null
  ghosts: ReadonlySet<Cell>
  /** The GPU under the pointer or the cursor. */
  onAt: (c: Cell | null) => void
  open: (c: Cell) => void
  describe: (c: Cell) => string
  card: (c: Cell) => ComponentChildren
}

/** Grows when the theme is another. */
function useTheme(): number {
  const [n, set] = useState(0)
  useEffect(() => {
    const more = (): void => set((x) => x + 1)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const o = new MutationObserver(more)
    o.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    dark.addEventListener('change', more)
    void document.fonts.ready.then(more)
    return () => {
      o.disconnect()
      dark.removeEventListener('change', more)
    }
  }, [])
  return n
}

/** The map itself: a canvas as large as what is seen, below what is scrolled. */
export function Board(p: Props) {
  const [box, width] = useWidth<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const due = useRef<(() => void) | null>(null)
  const [view, setView] = useState({ top: 0, height: 0 })
  const [cursor, setCursor] = useState<{ node: string; device: string } | null>(null)
  const [pointer, setPointer] = useState<Spot | null>(null)
  const theme = useTheme()
  const room = Math.max(120, width - 2)
  const layout = useMemo(() => layOut(p.racks, p.of, p.named, room), [p.racks, p.of, p.named, room])
  const at = cursor ? layout.spots.find((s) => s.cell.node.name === cursor.node && s.cell.device.id === cursor.device) ?? null : null
  const shown = pointer ? layout.spots.find((s) => s.x === pointer.x && s.y === pointer.y) ?? null : at
  const palette = useMemo(() => {
    if (!box.current) return {}
    const probe = box.current.querySelector<HTMLElement>('.probe')!
    return colors(probe)
  }, [theme, width > 0])
  useLayoutEffect(() => {
    const el = box.current
    if (!el) return
    const o = new ResizeObserver(() => setView({ top: el.scrollTop, height: el.clientHeight }))
    o.observe(el)
    return () => o.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (!canvas.current || width === 0 || view.height === 0 || !palette.ink) return
    const draw = (): void => paint(canvas.current!, { layout, mode: p.mode, projects: p.projects, lit: p.lit, ghosts: p.ghosts, cursor: at?.cell ?? null, linked: shown?.cell ?? null, top: view.top, width: room, height: view.height }, palette)
    // What changes several times before a frame is drawn once, as it was last.
    const waits = due.current !== null
    due.current = draw
    if (!waits) requestAnimationFrame(() => {
      const last = due.current
      due.current = null
      if (canvas.current) last?.()
    })
  })
  const goTo = (s: Spot | undefined): void => {
    const el = box.current
    if (!s || !el) return
    if (s.y < el.scrollTop + 8) el.scrollTop = Math.max(0, s.y - 40)
    else if (s.y + layout.size > el.scrollTop + el.clientHeight - 8) el.scrollTop = s.y + layout.size - el.clientHeight + 40
    setPointer(null)
    setCursor({ node: s.cell.node.name, device: s.cell.device.id })
    p.onAt(s.cell)
  }
  const key = (e: KeyboardEvent): void => {
    const ways: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }
    const way = ways[e.key]
    if (way) goTo(at ? nextSpot(layout, at, ...way) : (layout.spots.find((s) => p.lit?.has(s.cell)) ?? layout.spots[0]))
    else if (e.key === 'Home') goTo(layout.spots[0])
    else if (e.key === 'End') goTo(layout.spots[layout.spots.length - 1])
    else if (e.key === 'Enter' && at) p.open(at.cell)
    else if (e.key === 'Escape' && at) {
      setCursor(null)
      p.onAt(null)
    } else return
    e.preventDefault()
    e.stopPropagation()
  }
  const found = (e: PointerEvent): Spot | undefined => {
    const r = canvas.current!.getBoundingClientRect()
    return spotAt(layout, e.clientX - r.left, e.clientY - r.top + view.top)
  }
  return (
    <div class="board" ref={box} role="application" tabIndex={0} aria-label={T.$mapOfGPUsArrowKeysMoveFrom}
      onScroll={(e) => setView({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight })} onKeyDown={key}>
      <span class="probe" aria-hidden="true" />
      <div class="board-room" style={{ height: Math.ceil(Math.max(layout.height + 4, cardHeight)) + 'px' }}>
        <canvas ref={canvas} style={{ width: room + 'px', height: view.height + 'px' }} aria-hidden="true" data-spots={layout.spots.length} data-wires={layout.wires.length} data-nvlinks={layout.nvlinks.length} data-slices={layout.chips.length}
          onPointerMove={(e) => {
            const s = found(e) ?? null
            if (s?.cell === pointer?.cell) return
            setPointer(s)
            p.onAt(s?.cell ?? at?.cell ?? null)
          }}
          onPointerLeave={() => {
            setPointer(null)
            p.onAt(at?.cell ?? null)
          }}
          onClick={(e) => {
            const s = found(e as unknown as PointerEvent)
            if (s) p.open(s.cell)
          }} />
        {shown && <div class="board-card" aria-hidden="true" style={place(shown, layout.size, room, view)}>{p.card(shown.cell)}</div>}
      </div>
      <span class="sr" role="status">{at && !pointer ? p.describe(at.cell) : ''}</span>
    </div>
  )
}

const cardWidth = 264
const cardHeight = 240 // px of the tallest: a board of one node is not lower

/** Beside the square, where there is room. */
function place(s: Spot, size: number, width: number, view: { top: number; height: number }): Record<string, string> {
  const w = Math.min(cardWidth, width - 16)
  const left = s.x + size + 10 + w > width ? Math.max(4, Math.min(s.x - w - 10, width - w - 4)) : s.x + size + 10
  const beside = left > s.x + size || left + w < s.x
  const below = s.y - view.top < view.height * 0.6
  return { width: w + 'px', left: left + 'px', ...(below ? { top: s.y + (beside ? 0 : size + 8) + 'px' } : { top: s.y + (beside ? size : -8) + 'px', transform: 'translateY(-100%)' }) }
}
