// Where on the map each GPU is.
import type { DeviceLink, Node } from '../../api/types'
import { packed, type Cell, type Rack, type Slice } from '../../fleet/nodes'

export interface Spot { cell: Cell; x: number; y: number }
export interface Name { text: string; x: number; y: number; width: number; node: boolean }
export interface Box { x: number; y: number; width: number; height: number }
/** A line from a point to a point. */
export type Line = [number, number, number, number]
/** A MIG partition: a part of a square. */
export interface Chip extends Slice { x: number; y: number; wide: number }
export interface Layout {
  spots: Spot[]
  names: Name[]
  boxes: Box[]
  /** Between racks of one block, and below GPUs that NVLinks connect. */
  wires: Line[]
  nvlinks: Line[]
  chips: Chip[]
  size: number
  height: number
}

const pad = 10
const title = 25
const between = 12
const rackRows = 8 // nodes below each other, before another column begins
const edge = 3 // so that a ring around the map hides nothing
const head0 = 22 // of the name of a block
const indent = 16 // of racks below it
const widest = 16 // GPUs beside each other

/** How large a square is when there are so many. */
export const sizeFor = (n: number): number => (n <= 64 ? 28 : n <= 512 ? 20 : n <= 2048 ? 13 : 9)

/** Lays racks out from left to right, as far as there is room. */
export function layOut(racks: Rack[], of: (node: string) => Cell[], called: (n: Node) => string, outer: number): Layout {
  const width = outer - edge
  const count = racks.reduce((sum, r) => sum + r.nodes.reduce((n, x) => n + x.devices.length + packed(x).length, 0), 0)
  const size = sizeFor(count)
  const gap = size >= 20 ? 4 : size >= 13 ? 3 : 2
  const longest = Math.max(0, ...racks.flatMap((r) => r.nodes.map((n) => called(n).length)))
  const named = size >= 13 ? Math.min(longest * 6.4 + 12, 130, width * 0.36) : 0
  const out: Layout = { spots: [], names: [], boxes: [], wires: [], nvlinks: [], chips: [], size, height: 0 }
  let x = edge
  let y = edge
  let tall = 0
  let left0 = edge
  let group = ''
  let head = 0 // where the line of the present block begins
  for (const r of racks) {
    if (r.group !== group) { // racks of a block are below its name, on one line that connects them
      if (x > left0) y += tall + between
      group = r.group
      left0 = group ? edge + indent : edge
      tall = 0
      if (group) {
        out.names.push({ text: group, x: edge, y: y + 14, width: width - edge, node: false })
        y += head0
        head = y - 4
      }
      x = left0
    }
    const across = Math.max(1, Math.min(widest, Math.max(...r.nodes.map((n) => n.devices.length + packed(n).length)), Math.floor((width - left0 + edge - named - 2 * pad) / (size + gap))))
    const nodeWidth = named + across * (size + gap) + (size >= 13 ? 14 : 8)
    const most = Math.max(1, Math.floor((width - left0 - 2 * pad) / nodeWidth))
    const columns = Math.min(most, Math.ceil(r.nodes.length / rackRows))
    const rows = Math.ceil(r.nodes.length / columns)
    const boxWidth = Math.min(width - left0, Math.max(columns * nodeWidth + 2 * pad - (size >= 13 ? 14 : 8) - gap, Math.min(width, r.title.length * 6.4 + 2 * pad)))
    if (x > left0 && x + boxWidth > width) {
      x = left0
      y += tall + between
      tall = 0
    }
    if (group) {
      const at = y + title / 2
      if (x === left0) out.wires.push([edge + 5, head, edge + 5, at])
      out.wires.push([x === left0 ? edge + 5 : x - between, at, x, at])
    }
    out.names.push({ text: r.title, x: x + pad, y: y + 20, width: boxWidth - 2 * pad, node: false })
    let bottom = y + title + pad / 2
    for (let c = 0; c < columns; c++) {
      let top = y + title + pad / 2
      for (const n of r.nodes.slice(c * rows, (c + 1) * rows)) {
        const left = x + pad + c * nodeWidth
        if (named > 0) out.names.push({ text: called(n), x: left, y: top + size / 2 + 4, width: named - 8, node: true })
        const all = of(n.name)
        all.forEach((cell, i) => out.spots.push({ cell, x: left + named + (i % across) * (size + gap), y: top + Math.floor(i / across) * (size + gap) }))
        if (size >= 13) out.nvlinks.push(...islands(n.links ?? [], out.spots.slice(out.spots.length - all.length), size))
        const gpus = packed(n)
        gpus.forEach((slices, j) => {
          const i = all.length + j
          let from = left + named + (i % across) * (size + gap)
          for (const s of slices) {
            out.chips.push({ ...s, x: from, y: top + Math.floor(i / across) * (size + gap), wide: size * s.part })
            from += size * s.part
          }
        })
        top += Math.max(1, Math.ceil((all.length + gpus.length) / across)) * (size + gap)
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

/** A line below each row of GPUs that NVLinks connect with one another. */
function islands(links: DeviceLink[], spots: Spot[], size: number): Line[] {
  const of = new Map(spots.map((s) => [s.cell.device.index, s.cell.device.index]))
  const root = (i: number): number => (of.get(i) === i ? i : root(of.get(i)!))
  for (const l of links) if (l.kind === 'nvlink' && of.has(l.a) && of.has(l.b)) of.set(root(l.a), root(l.b))
  const rows = new Map<string, Line>()
  for (const s of spots) {
    const key = root(s.cell.device.index) + '/' + s.y
    const row = rows.get(key)
    if (row) row[2] = s.x + size
    else rows.set(key, [s.x, s.y + size + 1.5, s.x + size, s.y + size + 1.5])
  }
  return [...rows.values()].filter(([from, , to]) => to - from > size + 1) // more than one
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
