// When those that wait are expected to start, of whom the overview does not say it. Each
// costs the scheduler a simulation, so they are asked one after the other, the first of
// the queue first, and seldom again; what takes long takes a twentieth of the time, and
// what takes very long is not asked.
import { signal } from '@preact/signals'
import { get, workloadURL } from '../../api/client'
import type { Estimate, Why } from '../../api/types'

const most = 30 // workloads that are asked about
const fresh = 60_000 // ms for which an answer is believed while the queue stays as it is
const dear = 400 // ms that an answer may take
const cheap = 50 // ms up to which the next is asked at once

export interface Asked { id: string; project: string; name: string; /** What was known of its wait: another one makes the answer old. */ known: string }

/** What is expected, by id. */
export const estimates = signal<ReadonlyMap<string, Estimate | undefined>>(new Map())

const answers = new Map<string, { known: string; at: number }>()
let list: Asked[] = []
let running = false
let slow = false

/** Asks about these, as far as that is worth while. */
export function ask(all: Asked[]): void {
  list = all.slice(0, most)
  if (!running && !slow) void run()
}

const due = (a: Asked): boolean => {
  const have = answers.get(a.id)
  return !have || (have.known !== a.known && performance.now() - have.at > 5000) || performance.now() - have.at > fresh
}

async function run(): Promise<void> {
  running = true
  for (let a = list.find(due); a && !document.hidden; a = list.find(due)) {
    const begun = performance.now()
    answers.set(a.id, { known: a.known, at: begun })
    try {
      const y = await get<Why>(workloadURL(a.project, a.name) + '/why')
      const next = new Map([...estimates.peek()].filter(([id]) => list.some((x) => x.id === id)))
      next.set(a.id, y.estimate)
      estimates.value = next
    } catch {
      // It has just started, or is gone; the list will say so.
    }
    const took = performance.now() - begun
    if (took > dear) {
      slow = true
      setTimeout(() => (slow = false), fresh)
      break
    }
    await new Promise((done) => setTimeout(done, Math.max(30, took > cheap ? took * 20 : took)))
  }
  running = false
}
