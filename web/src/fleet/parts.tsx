import './style.css'
import type { Node } from '../api/types'
import { gpus } from '../lib/format'
import { Link } from '../ui/basics'
import { Icon } from '../ui/icons'
import { nodeLooks, stateMeans, stateOf } from './nodes'
import { phrase, T } from '../texts'

export const nodePath = (name: string): string => 'nodes/' + encodeURIComponent(name)

export const NodeLink = ({ name }: { name: string }) => <Link to={nodePath(name)} class="row-link clip">{name}</Link>

/** The chip of a node's state. */
export function NodeStatus({ of, plain = false }: { of: Node; plain?: boolean }) {
  const state = stateOf(of)
  const [tone, icon] = nodeLooks[state]
  return <span class={'status ' + (plain ? 'plain' : '')} data-tone={tone} title={stateMeans[state]}><Icon name={icon} size={14} /><span>{state}</span></span>
}

export interface Part { name: string; amount: number; look: string }

/** A bar of parts that make up a whole; the text beside it says the same. */
export function Stack({ parts, whole, label }: { parts: Part[]; whole: number; label: string }) {
  return (
    <span class="stack" role="img" aria-label={label} title={label}>
      {parts.filter((p) => p.amount > 0).map((p) => <span key={p.name} data-look={p.look} style={{ flexGrow: p.amount }} />)}
      {whole > 0 && <span data-look="rest" style={{ flexGrow: Math.max(0, whole - parts.reduce((n, p) => n + p.amount, 0)) }} />}
    </span>
  )
}

/** Used of a total, as a bar with its numbers. */
export function Used({ used, total, text }: { used: number; total: number; text: string }) {
  if (total === 0) return <span class="none">–</span>
  return <span class="used"><Stack parts={[{ name: 'used', amount: used, look: 'busy' }]} whole={total} label={phrase(T.$totalUsed, { total: Math.round((used / total) * 100) })} /><span>{text}</span></span>
}

/** A count of GPUs that are in thousandths. */
export const milli = (n: number): string => gpus(Math.round(n) / 1000)

/** What the looks of bars mean. */
export function Legend({ of }: { of: { name: string; look: string }[] }) {
  return <ul class="legend">{of.map((p) => <li key={p.name}><i data-look={p.look} aria-hidden="true" />{p.name}</li>)}</ul>
}
