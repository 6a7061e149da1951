// What makes an app of the pages: the worker that keeps their shell, and notifications of
// workloads that somebody follows in this browser.
import { effect } from '@preact/signals'
import { remembered } from '../lib/prefs'
import { href, root, workloadPath } from '../lib/router'
import { phrase, T } from '../texts'
import { rowOf, rowsVersion } from './store'

declare global {
  interface Window { trustedTypes?: { createPolicy: (name: string, rules: { createScriptURL: (s: string) => string }) => { createScriptURL: (s: string) => string } } }
}

/** Registers the worker, where the browser allows one: pages over TLS, or of this machine. */
export function work(): void {
  if (!('serviceWorker' in navigator)) return
  const url = href('worker.js')
  const trusted = window.trustedTypes?.createPolicy('muster-worker', { createScriptURL: (s) => s }).createScriptURL(url) ?? url
  navigator.serviceWorker.register(trusted, { scope: href('') }).catch(() => {}) // the pages need none
}

const isPhases = (v: unknown): v is Record<string, string> => typeof v === 'object' && v !== null && !Array.isArray(v) && Object.values(v).every((x) => typeof x === 'string')

/** The phases that were told last, of the workloads that are followed in this browser, by their ids. */
export const followed = remembered<Record<string, string>>('followed', {}, isPhases)

const told = new Set(['Running', 'Failed', 'Completed', 'Stopped', 'TimedOut', 'Degraded', 'Unreachable'])

/** Tells of what is followed and has begun or ended. Tabs that tell the same replace each other's. */
export function tell(): void {
  effect(() => {
    void rowsVersion.value
    const now = { ...followed.peek() }
    let changed = false
    for (const [id, was] of Object.entries(now)) {
      const w = rowOf(id)
      if (!w || w.phase === was) continue
      changed = true
      if (w.endedAt) delete now[id]
      else now[id] = w.phase
      if (told.has(w.phase)) void show(phrase(T.$nameIsPhase, { name: w.name, phase: w.phase }), w.message ?? '', id, workloadPath(w.project, w.name))
    }
    if (changed) followed.value = now
  })
}

async function show(title: string, body: string, tag: string, path: string): Promise<void> {
  if (!('Notification' in window) || Notification.permission !== 'granted') return
  const options = { body, tag: root + tag, icon: href('icon.svg'), data: { path } }
  const worker = await navigator.serviceWorker?.getRegistration()
  if (worker?.active) return worker.showNotification(title, options)
  new Notification(title, options)
}

/** Follows a workload, or no longer. Whether the browser may tell is asked by it at the first. Returns what came of it. */
export async function follow(w: { id: string; phase: string }): Promise<'on' | 'off' | 'denied'> {
  if (w.id in followed.peek()) {
    const { [w.id]: _, ...rest } = followed.peek()
    followed.value = rest
    return 'off'
  }
  if ((await Notification.requestPermission()) !== 'granted') return 'denied'
  followed.value = { ...followed.peek(), [w.id]: w.phase }
  return 'on'
}

/** Why nothing can be followed in this browser; undefined: it can. */
export const noFollowing = (): string | undefined => ('Notification' in window && window.isSecureContext ? undefined : T.$notificationsNeedTLS)
