// What an offer of the scheduler changes, done where it is said: seen first, and taken
// back if it was a mistake.
import { get, send, workloadURL } from '../api/client'
import type { Row, Suggestion, Workload } from '../api/types'
import { plural } from '../lib/format'
import { go, workloadPath } from '../lib/router'
import { withFlags, type Doc } from '../screens/submit/doc'
import { ask, complain, toast } from '../ui/overlay'
import { groups } from './filter'
import { priorityWord } from './priority'
import { phrase, T } from '../texts'

/** One way of taking an offer, and of taking that back. */
interface Way { about: string; did: string; act: () => Promise<unknown>; undid: string; undo: () => Promise<unknown> }

const patience = 100 // looks for an end, a tenth of a second apart

/** Stops one that waits, which is over soon as it has no tasks; where it has, it takes its time to end. */
async function stopped(url: string): Promise<void> {
  let w = await send<Workload>('POST', url + ':stop', {})
  for (let i = 0; i < patience && !groups.ended!.has(w.phase); i++) {
    await new Promise((done) => setTimeout(done, 100))
    w = await get<Workload>(url)
  }
}

/** Queues it again with another document; where that is refused after all, as it was. */
async function again(url: string, doc: Doc): Promise<void> {
  await stopped(url)
  try {
    await send('POST', url + ':revise', doc)
  } catch (e) {
    await send('POST', url + ':restart', {}).catch(() => {}) // it is told why it was refused
    throw e
  }
}

/** What can be changed while it waits is; for all else it is queued again, or elsewhere. */
async function wayOf(o: Suggestion, row: Row): Promise<Way> {
  const url = workloadURL(row.project, row.id)
  const patch = (p: Record<string, unknown>): Promise<unknown> => send('PATCH', url, p, 'application/merge-patch+json')
  const to = /^--priority (\S+)$/.exec(o.flags)?.[1]
  if (to) {
    const was = priorityWord(row.priority)
    const said = (word: string): string => phrase(T.$nameNowHasWordPriority, { name: row.name, word })
    return { about: phrase(T.$itsPriorityBecomesTo, { was, to }), did: said(to), undid: said(was), act: () => patch({ priority: to }), undo: () => patch({ priority: was }) }
  }
  if (o.flags === '--set preemptible=true') return { about: T.$itBecomesPreemptible, did: phrase(T.$changedName, { name: row.name }), undid: phrase(T.$changedName, { name: row.name }), act: () => patch({ preemptible: true }), undo: () => patch({ preemptible: false }) }
  const before = ((await get<Workload>(url)).spec ?? {}) as Doc
  const doc = withFlags(before, o.flags)
  const project = /^--project (\S+)$/.exec(o.flags)?.[1]
  if (project) {
    const there = workloadURL(project, row.name)
    return {
      about: phrase(T.$itIsSubmittedInProject, { project, was: row.project }), did: phrase(T.$nameIsNowInProject, { name: row.name, project }), undid: phrase(T.$nameIsNowInProject, { name: row.name, project: row.project }),
      act: async () => {
        await send('POST', 'v1/projects/-/workloads', doc) // what is refused there goes on waiting here
        await send('POST', url + ':stop', {})
        go(workloadPath(project, row.name))
      },
      undo: async () => {
        await stopped(url)
        await send('POST', url + ':restart', {})
        await send('POST', there + ':stop', {})
        go(workloadPath(row.project, row.name))
      },
    }
  }
  await send('POST', url + ':revise?dry_run=true', doc) // what would be refused is, before it leaves the queue
  return {
    about: phrase(T.$itIsQueuedAgainWithFlags, { flags: o.flags }), did: phrase(T.$nameIsQueuedAgainWithFlags, { name: row.name, flags: o.flags }), undid: phrase(T.$nameIsQueuedAgainAsItWas, { name: row.name }),
    act: () => again(url, doc), undo: () => again(url, before),
  }
}

/** Takes an offer, once it was seen what becomes another and who has to leave for it. */
export async function takeOffer(o: Suggestion, row: Row, label: string): Promise<void> {
  try {
    const way = await wayOf(o, row)
    const text = (
      <>
        <p>{way.about}</p>
        {o.displaces.length > 0 ? <><p>{T.$theseLeaveForItAndAreQueued}</p><ul class="names">{o.displaces.slice(0, 12).map((n) => <li key={n.id}><b>{n.name}</b> <span class="muted">{[plural(n.gpus, T.$nGPUs), n.project, n.user].join(' · ')}</span></li>)}{o.displaces.length > 12 && <li class="muted">{phrase(T.$andSideMostMore, { sideMost: o.displaces.length - 12 })}</li>}</ul></> : <p>{T.$nobodyHasToLeaveForIt}</p>}
      </>
    )
    const title = o.now || o.displaces.length > 0 ? phrase(T.$startNameNow, { name: row.name }) : phrase(T.$aName, { act: label, name: row.name })
    if (!(await ask(title, text, label, o.displaces.length > 0))) return
    await way.act()
    toast(way.did, { action: { label: T.$undo, run: () => void way.undo().then(() => toast(way.undid), complain) } })
  } catch (e) {
    complain(e, T.$couldNotChange)
  }
}
