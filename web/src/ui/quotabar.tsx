// What somebody is promised, has, borrows, lends and may never exceed, as a bar.
import './quotabar.css'
import type { Standing, Use } from '../api/types'
import { bytes, gpus } from '../lib/format'
import { phrase, T } from '../texts'

export type Resource = 'gpu' | 'cpu' | 'memory'

export const resourceNames: Record<Resource, string> = { gpu: T.$gpus, cpu: T.$cores, memory: T.$memory }

/** An amount of a resource; undefined is no bound. */
export const amount = (r: Resource, n: number | undefined): string => (n === undefined ? '∞' : r === 'memory' ? bytes(n) : gpus(n))

/**
 * How much of what a queue is promised and does not use is used by others, who
 * are over their quota in the same pool: its part of that, in proportion.
 */
export function lentBy(s: Standing, r: Resource, all: Standing[]): number {
  const leaves = all.filter((x) => x.pool === s.pool && !x.department)
  const over = leaves.reduce((n, x) => n + x[r].over, 0)
  const free = (x: Standing): number => Math.max(0, (x[r].guaranteed ?? 0) - x[r].used)
  const unused = leaves.reduce((n, x) => n + free(x), 0)
  return unused > 0 && over > 0 ? free(s) * Math.min(1, over / unused) : 0
}

/** What a bar says, in words. */
export function quotaWords(r: Resource, u: Use, lent: number): string {
  const parts = [phrase(T.$usedUsedOfMore, { used: amount(r, u.used), more: u.guaranteed === undefined ? T.$unlimited : phrase(T.$promisedGuaranteed, { promised: amount(r, u.guaranteed) }) })]
  if (u.reserved > 0) parts.push(phrase(T.$reservedReserved2, { reserved: amount(r, u.reserved) }))
  if (u.over > 0) parts.push(phrase(T.$overBorrowed, { over: amount(r, u.over) }))
  if (lent > 0) parts.push(phrase(T.$lentLent, { lent: amount(r, lent) }))
  if (u.limit !== undefined) parts.push(phrase(T.$limitLimit, { limit: amount(r, u.limit) }))
  parts.push(phrase(T.$fairShareFairShare, { fairShare: amount(r, u.fairShare) }))
  return parts.join(', ')
}

/** The bar; scale is what its whole width stands for. */
export function QuotaBar({ of: u, resource, scale, lent = 0 }: { of: Use; resource: Resource; scale: number; lent?: number }) {
  const x = (n: number): string => (scale > 0 ? Math.min(100, (n / scale) * 100) : 0) + '%'
  const own = u.used + u.reserved - u.over
  const words = quotaWords(resource, u, lent)
  return (
    <span class="quota-bar" role="img" aria-label={words} title={words}>
      {(u.guaranteed ?? 0) > 0 && <span class="q-promised" style={{ left: 0, width: x(u.guaranteed!) }} />}
      {own > 0 && <span class="q-own" style={{ left: 0, width: x(own) }} />}
      {u.over > 0 && <span class="q-over" style={{ left: x(own), width: x(u.over) }} />}
      {lent > 0 && <span class="q-lent" style={{ left: x(own), width: x(lent) }} />}
      {u.limit !== undefined && u.limit <= scale && <span class="q-limit" style={{ left: x(u.limit) }} />}
      {u.fairShare > 0 && <span class="q-fair" style={{ left: x(u.fairShare) }} />}
    </span>
  )
}

/** What the parts of bars mean. */
export function QuotaKey() {
  const bit = (c: string, name: string) => <span key={c}><span class="quota-bar" aria-hidden="true"><span class={c} style={c === 'q-limit' || c === 'q-fair' ? { left: '50%' } : { left: 0, width: '100%' }} /></span>{name}</span>
  return <div class="quota-key">{bit('q-own', T.$usedOrReservedWithinThe)}{bit('q-over', T.$borrowedLower)}{bit('q-promised', T.$guaranteedLower)}{bit('q-lent', T.$lentLower)}{bit('q-limit', T.$limitLower)}{bit('q-fair', T.$fairShareLower)}</div>
}
