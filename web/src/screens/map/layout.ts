// Where on the map each GPU is.
import type { Cell, Rack } from '../../fleet/nodes'

export interface Spot { cell: Cell; x: number; y: number }
export interface Name { text: string; x: number; y: number; width: number; node: boolean }
export interface Box { x: number; y: number; width: number; height: number }
export interface Layout { spots: Spot[]; names: Name[]; boxes: Box[]; size: number; height: number }

const pad = 10
const title = 25
const between = 12
const rackRows = 8 // nodes below each other, before another column begins
const edge = 3 // so that a ring around the map hides nothing
const widest = 16 // GPUs beside each other

/** How large a square is when there are so many. */
export const sizeFor = (n: number): number => (n <= 64 ? 28 : n <= 512 ? 20 : n <= 2048 ? 13 : 9)

/** Lays racks out from left to right, as far as there is room. */
export function layOut(racks: Rack[], of: (node: string) => Cell[], outer: number): Layout {
  const width = outer - edge
  const count = racks.reduce((sum, r) => sum + r.nodes.reduce((n, x) => n + x.devices.length, 0), 0)
  const size = sizeFor(count)
  const gap = size >= 20 ? 4 : size >= 13 ? 3 : 2
  const longest = Math.max(0, ...racks.flatMap((r) => r.nodes.map((n) => n.name.length)))
  const named = size >= 13 ? Math.min(longest * 6.4 + 12, 130, width * 0.36) : 0
  const out: Layout = { spots: [], names: [], boxes: [], size, height: 0 }
  let x = edge
  let y = edge
  let tall = 0
  for (const r of racks) {
    const across = Math.max(1, Math.min(widest, Math.max(...r.nodes.map((n) => n.devices.length)), Math.floor((width - named - 2 * pad) / (size + gap))))
    const nodeWidth = named + across * (size + gap) + (size >= 13 ? 14 : 8)
    const most = Math.max(1, Math.floor((width - edge - 2 * pad) / nodeWidth))
    const columns = Math.min(most, Math.ceil(r.nodes.length / rackRows))
    const rows = Math.ceil(r.nodes.length / columns)
    const boxWidth = Math.min(width - edge, Math.max(columns * nodeWidth + 2 * pad - (size >= 13 ? 14 : 8) - gap, Math.min(width, r.title.length * 6.4 + 2 * pad)))
    if (x > edge && x + boxWidth > width) {
      x = edge
      y += tall + between
      tall = 0
    }
    out.names.push({ text: r.title, x: x + pad, y: y + 20, width: boxWidth - 2 * pad, node: false })
    let bottom = y + title + pad / 2
    for (let c = 0; c < columns; c++) {
      let top = y + title + pad / 2
      for (const n of r.nodes.slice(c * rows, (c + 1) * rows)) {
        const left = x + pad + c * nodeWidth
        if (named > 0) out.names.push({ text: n.name, x: left, y: top + size / 2 + 4, width: named - 8, node: true })
        const all = of(n.name)
        all.forEach((cell, i) => out.spots.push({ cell, x: left + named + (i % across) * (size + gap), y: top + Math.floor(i / across) * (size + gap) }))
        top += Math.max(1, Math.ceil(all.length / across)) * (size + gap)
      }
      bottom = Math.max(bottom, top)
    }
    const height = bottom - y + pad - gap
    out.boxes.push({ x, y, width: boxWidth, height })
    tall = Math.max(tall, height)
    x += boxWidth + between
  }
  out.height = y + tall + edge
  return out
}

/** The GPU at a point; undefined: none. */
export function spotAt(l: Layout, x: number, y: number): Spot | undefined {
  return l.spots.find((s) => x >= s.x - 1 && x < s.x + l.size + 1 && y >= s.y - 1 && y < s.y + l.size + 1)
}

/** The nearest GPU in a direction; the same where there is none. */
export function nextSpot(l: Layout, from: Spot, dx: number, dy: number): Spot {
  let best = from
  let least = Infinity
  for (const s of l.spots) {
    const along = (s.x - from.x) * dx + (s.y - from.y) * dy
    const aside = Math.abs((s.x - from.x) * dy) + Math.abs((s.y - from.y) * dx)
    if (along <= 0) continue
    const far = along + aside * 3
    if (far < least) {
      least = far
      best = s
    }
  }
  return best
}
