// By what GPUs are coloured, and what colours mean. None means anything without
// a shape or a text beside it.
import { cellWords, freeAt, type Cell, type CellState } from '../../fleet/nodes'
import { present } from '../../lib/clock'
import { T } from '../../texts'

export const modes = [['held', T.$allocation], ['project', T.$project], ['use', T.$gpuUtilization], ['time', T.$timeUntilFree]] as const
export type Mode = (typeof modes)[number][0]

/** What a square, or a part of it, looks like. */
export interface Look { id: string; color: string; mark?: 'hatch' | 'dot' | 'cross' | undefined; text?: string | undefined; name: string }

export const hollow: Look = { id: 'free', color: 'gpu-free', name: T.$free }

const states: Record<CellState, Look> = {
  free: hollow,
  part: { id: 'held', color: 'gpu-held', name: T.$allocated },
  held: { id: 'held', color: 'gpu-held', name: T.$allocated },
  starting: { id: 'starting', color: 'gpu-starting', mark: 'dot', name: cellWords.starting },
  others: { id: 'others', color: 'gpu-others', mark: 'hatch', name: cellWords.others },
  shut: { id: 'shut', color: 'gpu-shut', mark: 'hatch', name: cellWords.shut },
  broken: { id: 'broken', color: 'gpu-broken', mark: 'cross', name: cellWords.broken },
}

const unknown: Look = { id: 'unknown', color: 'gpu-others', mark: 'hatch', name: T.$unknown }
const idle: Look = { id: 'idle', color: 'gpu-idle', mark: 'dot', name: T.$allocatedButIdle }
const heats: Look[] = [T.$upTo20, T.$2040, T.$4060, T.$6080, T.$above80].map((name, i) => ({ id: 'heat' + i, color: `heat-${i + 1}`, name }))
const times: [number, Look][] = [[15 * 60, T.$within15m], [3600, T.$within1h], [6 * 3600, T.$within6h], [86400, T.$withinADay], [Infinity, T.$later]].map(([s, name], i) => [s as number, { id: 'time' + i, color: `heat-${i + 1}`, name: name as string }])

/** Everything that a mode may show, in its order. */
export function looksOf(mode: Mode, projects: string[]): Look[] {
  const shut = [states.others, states.shut, states.broken]
  if (mode === 'held') return [hollow, states.held, states.starting, ...shut]
  if (mode === 'use') return [hollow, idle, ...heats, unknown, ...shut.slice(1)]
  if (mode === 'time') return [hollow, ...times.map(([, l]) => l), unknown, ...shut.slice(1)]
  return [hollow, ...projects.map((_, i) => projectLook(projects, i)), ...shut]
}

const projectLook = (projects: string[], i: number): Look => (i < 12 ? { id: 'p' + i, color: `hue-${i + 1}`, text: String(i + 1), name: projects[i] ?? '' } : { id: 'p12', color: 'gpu-others', name: T.$otherProjects })

/** The parts of a square from left to right, each with its share of it. */
export function partsOf(c: Cell, mode: Mode, projects: string[]): { look: Look; share: number }[] {
  if (c.held.length === 0) {
    if (c.state === 'held' || c.state === 'part') return [{ look: mode === 'held' ? states.held : unknown, share: c.device.used / 1000 }]
    return [{ look: states[c.state], share: 1 }]
  }
  if (c.state === 'broken') return [{ look: states.broken, share: 1 }]
  return c.held.map((x) => ({ share: x.part / 1000, look: lookOfPart(c, x.by.project, mode, projects) }))
}

function lookOfPart(c: Cell, project: string, mode: Mode, projects: string[]): Look {
  switch (mode) {
    case 'held': return states[c.state]
    case 'project': return projectLook(projects, projects.indexOf(project))
    case 'use': return c.busy === undefined ? unknown : c.busy === 0 ? idle : heats[Math.min(4, Math.floor(c.busy * 5))]!
    case 'time': {
      const left = (freeAt(c) - (c.at ?? present())) / 1000
      return Number.isNaN(left) ? unknown : times.find(([s]) => left <= s)![1]
    }
  }
}
