// What connects the GPUs of a node, drawn as arcs between them: the closer, the stronger.
import type { DeviceLink, Node } from '../../api/types'
import { linkKinds, linkOf } from '../../fleet/nodes'
import { Card, useWidth } from '../../ui/basics'
import { Twin } from '../../ui/plot'
import { phrase, T } from '../../texts'

type Kind = DeviceLink['kind']

// Of the last two kinds nothing is drawn: they go by way of the processors.
const drawn = new Set<Kind>(['nvlink', 'switch', 'switches', 'host-bridge'])

const said = (l: DeviceLink | undefined): string => (!l ? '' : l.kind === 'nvlink' ? phrase(T.$nNVLinks, { n: l.links ?? 1 }) : linkKinds.find(([k]) => k === l.kind)![1])

const [side, floor] = [26, 34] // px of a square, and of the room below the arcs

export function Links({ n }: { n: Node }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const links = n.links ?? []
  if (links.length === 0) return null
  const at = new Map(n.devices.map((d, i) => [d.index, i]))
  const step = Math.min(96, Math.max(side + 6, (width - side - 6) / Math.max(1, n.devices.length - 1)))
  const x = (index: number): number => side / 2 + 2 + (at.get(index) ?? 0) * step
  // As high as the farthest of what is drawn needs.
  const farthest = Math.max(1, ...links.filter((l) => drawn.has(l.kind)).map((l) => Math.abs((at.get(l.a) ?? 0) - (at.get(l.b) ?? 0))))
  const high = Math.min(180, 30 + farthest * 18)
  const arc = (l: DeviceLink): string => {
    const [a, b] = [x(l.a), x(l.b)]
    const top = high - 14 - (Math.abs(b - a) / step) * ((high - 20) / farthest)
    return `M${a} ${high}C${a} ${top - 10} ${b} ${top - 10} ${b} ${high}`
  }
  const there = linkKinds.filter(([k]) => links.some((l) => l.kind === k))
  return (
    <Card title={T.$linksOfGPUs} class="wide" aside={<ul class="legend gpu-links-legend">{there.map(([k, name]) => <li key={k}><svg width="22" height="10" aria-hidden="true"><path class="gpu-link" data-kind={k} d="M1 5H21" /></svg>{name}{!drawn.has(k) && T.$notDrawn}</li>)}</ul>}>
      <div class="gpu-links scroll-x" ref={box} tabIndex={0} role="region" aria-label={T.$linksOfGPUs}>
        {width > 0 && (
          <svg width={2 * side + (n.devices.length - 1) * step} height={high + floor} role="img" aria-label={phrase(T.$labelTheTableBelowShowsThe, { label: T.$linksOfGPUs })}>
            {links.filter((l) => drawn.has(l.kind)).map((l) => <path key={`${l.a}/${l.b}`} class="gpu-link" data-kind={l.kind} d={arc(l)} style={l.kind === 'nvlink' ? { strokeWidth: 1 + (l.links ?? 1) / 5 } : undefined}><title>{`GPU ${l.a} – GPU ${l.b}: ${said(l)}`}</title></path>)}
            {n.devices.map((d) => <g key={d.id} transform={`translate(${x(d.index) - side / 2} ${high})`}><rect class="gpu-link-end" width={side} height={side} rx="5" /><text x={side / 2} y={side / 2 + 4} text-anchor="middle">{d.index}</text></g>)}
          </svg>
        )}
      </div>
      <Twin label={T.$linksOfGPUs} head={['GPU', ...n.devices.map((d) => String(d.index))]} rows={n.devices.map((d) => [String(d.index), ...n.devices.map((o) => (o === d ? '–' : said(linkOf(n, d.index, o.index))))])} />
    </Card>
  )
}
