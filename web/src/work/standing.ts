import { computed } from '@preact/signals'
import type { Project, Standing } from '../api/types'
import { cluster } from '../live/store'
import { lentBy, type Resource } from '../ui/quotabar'

/** Pools that have nodes, the one with the most GPUs first. */
export const pools = computed(() => [...(cluster.value?.pools ?? [])].sort((a, b) => b.gpu.total - a.gpu.total || b.nodes - a.nodes || a.name.localeCompare(b.name)))

/** How much of a resource a pool has. */
export function capacity(pool: string, r: Resource): number {
  const p = cluster.value?.pools.find((x) => x.name === pool)
  if (!p) return 0
  return r === 'memory' ? p.memory.total : p[r].total / 1000
}

/** What the whole width of bars stands for, so that they can be compared. */
export const scaleOf = (pool: string, r: Resource, all: Standing[]): number => {
  const most = Math.max(capacity(pool, r), ...all.filter((s) => s.pool === pool).flatMap((s) => [s[r].used, s[r].guaranteed ?? 0]))
  return most > 0 ? most : 1
}

export interface Branch { project: Project; depth: number; standing: Standing | undefined; lent: number }

/** The tree of departments and projects as lines, each below what it belongs to. */
export function branches(projects: Project[], all: Standing[], pool: string, r: Resource): Branch[] {
  const known = new Set(projects.map((p) => p.name))
  const out: Branch[] = []
  const below = (parent: string, depth: number): void => {
    const mine = projects.filter((p) => (p.parent && known.has(p.parent) ? p.parent : '') === parent)
    mine.sort((a, b) => Number(!!b.department) - Number(!!a.department) || (b.priority ?? 100) - (a.priority ?? 100) || a.name.localeCompare(b.name))
    for (const p of mine) {
      const s = all.find((x) => x.project === p.name && x.pool === pool)
      out.push({ project: p, depth, standing: s, lent: s && !p.department ? lentBy(s, r, all) : 0 })
      if (p.department && depth < 20) below(p.name, depth + 1)
    }
  }
  below('', 0)
  for (const b of [...out].reverse()) {
    // What is lent within a department is not lent by it.
    if (b.project.department && b.standing) b.lent = Math.min(out.filter((x) => x.project.parent === b.project.name).reduce((n, x) => n + x.lent, 0), Math.max(0, (b.standing[r].guaranteed ?? 0) - b.standing[r].used))
  }
  return out
}
