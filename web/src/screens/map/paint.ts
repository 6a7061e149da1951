import { linkOf, type Cell } from '../../fleet/nodes'
import type { Layout, Line, Spot } from './layout'
import { partsOf, type Look, type Mode } from './looks'

export interface Scene {
  layout: Layout
  mode: Mode
  projects: string[]
  /** Those that are meant; null: all. */
  lit: ReadonlySet<Cell> | null
  /** Where something that waits would be. */
  ghosts: ReadonlySet<Cell>
  cursor: Cell | null
  /** Of which it is drawn what connects it with others. */
  linked: Cell | null
  top: number
  width: number
  height: number
}

const names = ['surface', 'line', 'ink', 'ink-2', 'muted', 'accent', 'focus', 'gpu-line', 'gpu-free', 'gpu-held', 'gpu-starting', 'gpu-others', 'gpu-shut', 'gpu-broken', 'gpu-idle',
  ...Array.from({ length: 5 }, (_, i) => `heat-${i + 1}`), ...Array.from({ length: 12 }, (_, i) => `hue-${i + 1}`)]

/** The colours of the present theme, as a canvas understands them. */
export function colors(probe: HTMLElement): Record<string, string> {
  const out: Record<string, string> = {}
  for (const n of names) {
    probe.style.color = `var(--${n})`
    out[n] = getComputedStyle(probe).color
  }
  return out
}

/** Draws the part of the map that is seen. */
export function paint(canvas: HTMLCanvasElement, s: Scene, color: Record<string, string>): void {
  const scale = devicePixelRatio || 1
  const [w, h] = [Math.round(s.width * scale), Math.round(s.height * scale)]
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h]
  const g = canvas.getContext('2d')!
  g.setTransform(scale, 0, 0, scale, 0, -s.top * scale)
  g.clearRect(0, s.top, s.width, s.height)
  const seen = (y: number, height: number): boolean => y + height >= s.top && y <= s.top + s.height
  g.lineWidth = 1
  const lines = (all: Line[], look: string, wide: number): void => {
    g.strokeStyle = look
    g.lineWidth = wide
    g.beginPath()
    for (const [x1, y1, x2, y2] of all) {
      if (Math.max(y1, y2) < s.top || Math.min(y1, y2) > s.top + s.height) continue
      g.moveTo(x1, y1)
      g.lineTo(x2, y2)
    }
    g.stroke()
    g.lineWidth = 1
  }
  lines(s.layout.wires, color.muted!, 1.5)
  for (const b of s.layout.boxes) {
    if (!seen(b.y, b.height)) continue
    g.fillStyle = color.surface!
    g.strokeStyle = color.line!
    g.beginPath()
    g.roundRect(b.x + 0.5, b.y + 0.5, b.width - 1, b.height - 1, 9)
    g.fill()
    g.stroke()
  }
  const family = getComputedStyle(canvas).fontFamily
  for (const n of s.layout.names) {
    if (!seen(n.y - 14, 18)) continue
    g.font = n.node ? `450 11.5px ${family}` : `580 12px ${family}`
    g.fillStyle = n.node ? color.muted! : color['ink-2']!
    g.fillText(fitText(g, n.text, n.width), n.x, n.y)
  }
  const size = s.layout.size
  lines(s.layout.nvlinks, color['accent']!, 1.5)
  for (const c of s.layout.chips) {
    if (!seen(c.y, size)) continue
    g.globalAlpha = s.lit === null ? 1 : 0.2
    if (c.used) {
      g.fillStyle = color['gpu-held']!
      g.fillRect(c.x, c.y, c.wide, size)
    }
    g.strokeStyle = c.used ? color.surface! : color['gpu-line']!
    g.setLineDash([2, 2]) // on which GPU it is nobody tells
    g.strokeRect(c.x + 0.5, c.y + 0.5, c.wide - 1, size - 1)
    g.setLineDash([])
    g.globalAlpha = 1
  }
  const round = size >= 20 ? 5 : size >= 13 ? 3 : 2
  for (const { cell, x, y } of s.layout.spots) {
    if (!seen(y, size)) continue
    const faint = s.lit !== null && !s.lit.has(cell) && !s.ghosts.has(cell)
    g.globalAlpha = faint ? 0.2 : 1
    square(g, cell, x, y, size, round, s, color, family)
    g.globalAlpha = 1
    if (s.ghosts.has(cell)) ring(g, x, y, size, round, color.accent!, true)
    else if (s.lit?.has(cell)) ring(g, x, y, size, round, color.ink!, false)
    if (cell === s.cursor) {
      g.lineWidth = 2
      g.strokeStyle = color.focus!
      g.beginPath()
      g.roundRect(x - 2, y - 2, size + 4, size + 4, round + 2)
      g.stroke()
      g.lineWidth = 1
    }
  }
  const from = s.linked && s.layout.spots.find((o) => o.cell === s.linked)
  if (from) arcs(g, s, from, color)
}

/** What connects the GPU that is pointed at with the others of its node: NVLinks whole and thick, PCIe thin and broken. */
function arcs(g: CanvasRenderingContext2D, s: Scene, { cell: at, x, y }: Spot, color: Record<string, string>): void {
  const { size, spots } = s.layout
  const near = ['nvlink', 'switch', 'switches', 'host-bridge']
  g.strokeStyle = color.ink!
  for (const o of spots) {
    if (o.cell.node !== at.node || o.cell === at) continue
    const l = linkOf(at.node, at.device.index, o.cell.device.index)
    if (!l || !near.includes(l.kind)) continue
    g.lineWidth = l.kind === 'nvlink' ? 2 : 1
    g.setLineDash(l.kind === 'nvlink' ? [] : [3, 2])
    g.beginPath()
    const [x1, x2, y1, y2] = [x + size / 2, o.x + size / 2, y + 2, o.y + 2]
    g.moveTo(x1, y1)
    g.quadraticCurveTo((x1 + x2) / 2, Math.min(y1, y2) - Math.min(size, 6 + Math.abs(x2 - x1) / 8), x2, y2)
    g.stroke()
  }
  g.setLineDash([])
  g.lineWidth = 1
}

function ring(g: CanvasRenderingContext2D, x: number, y: number, size: number, round: number, color: string, dashed: boolean): void {
  g.lineWidth = size >= 13 ? 2 : 1.5
  g.strokeStyle = color
  if (dashed) g.setLineDash([3, 2])
  if (size < 13) g.strokeRect(x, y, size, size)
  else {
    g.beginPath()
    g.roundRect(x, y, size, size, round)
    g.stroke()
  }
  if (dashed) g.setLineDash([])
  g.lineWidth = 1
}

function square(g: CanvasRenderingContext2D, c: Cell, x: number, y: number, size: number, round: number, s: Scene, color: Record<string, string>, family: string): void {
  const parts = partsOf(c, s.mode, s.projects)
  const first = parts[0]!
  if (size < 13 || (parts.length === 1 && first.share >= 1 && first.look.mark !== 'hatch')) { // most of them, and all where there are many
    plain(g, parts, x, y, size, size < 13 ? 0 : round, color)
    if (size >= 13 && first.look.id !== 'free') sign(g, first.look, x, y, size, size, color, family)
    return
  }
  g.save()
  g.beginPath()
  g.roundRect(x, y, size, size, round)
  g.fillStyle = color['gpu-free']!
  g.fill()
  g.clip()
  let at = x
  for (const p of parts) {
    const wide = size * p.share
    if (p.look.id !== 'free') {
      g.fillStyle = color[p.look.color]!
      g.fillRect(at, y, wide, size)
      sign(g, p.look, at, y, wide, size, color, family)
    }
    at += wide
    if (at < x + size - 0.5) {
      g.fillStyle = color.surface!
      g.fillRect(at - 0.5, y, 1, size)
    }
  }
  g.restore()
  if (parts.some((p) => p.look.id === 'free' || p.look.id === 'shut') || at < x + size - 0.5) {
    g.strokeStyle = color['gpu-line']!
    g.beginPath()
    g.roundRect(x + 0.5, y + 0.5, size - 1, size - 1, round)
    g.stroke()
  }
}

/** A square without a mark. */
function plain(g: CanvasRenderingContext2D, parts: { look: Look; share: number }[], x: number, y: number, size: number, round: number, color: Record<string, string>): void {
  if (round > 0) {
    const { look } = parts[0]!
    g.fillStyle = color[look.color]!
    g.beginPath()
    g.roundRect(look.id === 'free' ? x + 0.5 : x, look.id === 'free' ? y + 0.5 : y, look.id === 'free' ? size - 1 : size, look.id === 'free' ? size - 1 : size, round)
    g.fill()
    if (look.id === 'free') {
      g.strokeStyle = color['gpu-line']!
      g.stroke()
    }
    return
  }
  let at = x
  for (const p of parts) {
    if (p.look.id === 'free') continue
    g.fillStyle = color[p.look.color]!
    g.fillRect(at, y, size * p.share, size)
    if (p.look.mark) { // a notch: there is no room for a mark
      g.fillStyle = color.surface!
      if (p.look.mark === 'dot') g.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2)
      else g.fillRect(at, y + size - 3, 3, 3)
    }
    at += size * p.share
  }
  if (at < x + size - 0.5) {
    g.strokeStyle = color['gpu-line']!
    g.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1)
  }
}

/** The mark that tells a look apart without its colour. */
function sign(g: CanvasRenderingContext2D, look: Look, x: number, y: number, wide: number, size: number, color: Record<string, string>, family: string): void {
  g.strokeStyle = g.fillStyle = look.id === 'shut' ? color['gpu-line']! : color.surface!
  g.lineWidth = size >= 13 ? 1.5 : 1
  const [mx, my] = [x + wide / 2, y + size / 2]
  g.beginPath()
  if (look.mark === 'hatch') {
    for (let d = 0; d < 2 * size; d += size >= 13 ? 6 : 4) {
      g.moveTo(x + d, y)
      g.lineTo(x + d - size, y + size)
    }
    g.stroke()
  } else if (look.mark === 'cross') {
    const r = size * 0.24
    g.moveTo(mx - r, my - r)
    g.lineTo(mx + r, my + r)
    g.moveTo(mx + r, my - r)
    g.lineTo(mx - r, my + r)
    g.stroke()
  } else if (look.mark === 'dot') {
    g.arc(mx, my, Math.max(1.3, Math.min(wide, size) * 0.15), 0, 7)
    g.fill()
  } else if (look.text && size >= 13 && wide > 10) {
    g.font = `620 ${size >= 20 ? 11 : 9}px ${family}`
    g.textAlign = 'center'
    g.fillText(look.text, mx, my + (size >= 20 ? 4 : 3.3))
    g.textAlign = 'left'
  }
  g.lineWidth = 1
}

function fitText(g: CanvasRenderingContext2D, text: string, width: number): string {
  if (g.measureText(text).width <= width) return text
  let n = text.length
  while (n > 1 && g.measureText(text.slice(0, n) + '…').width > width) n--
  return text.slice(0, n) + '…'
}
