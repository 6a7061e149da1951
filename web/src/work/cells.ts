// The values that tasks of a grid have, as the server counts them: the last name, in
// alphabetical order, changes fastest.
import type { Workload } from '../api/types'

export interface Grid { names: string[]; values: Record<string, unknown[]> }

/** The grid of a workload's document; undefined: it has none. */
export function gridOf(w: Pick<Workload, 'spec'>): Grid | undefined {
  const grid = (w.spec as { array?: { grid?: Record<string, unknown[]> } } | undefined)?.array?.grid
  const names = Object.keys(grid ?? {}).sort((a, b) => (a < b ? -1 : 1))
  return grid && names.length > 0 && names.every((n) => Array.isArray(grid[n]) && grid[n].length > 0) ? { names, values: grid } : undefined
}

/** The values of one task. */
export function cellOf(g: Grid, index: number): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const name of [...g.names].reverse()) {
    const all = g.values[name]!
    out[name] = all[index % all.length]
    index = Math.floor(index / all.length)
  }
  return out
}

/** How many tasks there are for each value of the last name: a row of the grid. */
export const rowLength = (g: Grid): number => g.values[g.names[g.names.length - 1]!]!.length
