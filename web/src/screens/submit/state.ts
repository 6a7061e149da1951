// What is being written. It stays when the page is left, read anew or signed out of,
// until it is submitted or the tab is closed.
import { batch, effect, signal } from '@preact/signals'
import { ApiError, asError, get, request, send, workloadURL } from '../../api/client'
import type { Converted, ConvertNote, Draft, Field, FieldProblem, Template, Workload } from '../../api/types'
import { texts as isTexts, remembered } from '../../lib/prefs'
import { yaml } from '../../lib/yaml'
import { T } from '../../texts'
import { toast } from '../../ui/overlay'
import { bare, isMap, overlay, withFlags, withKey, withoutNode, type Doc } from './doc'

const begin = 'command: python3 train.py\nresources:\n  gpu: 1\n'

/** Texts of the documents, of which one is shown; a file may hold several. */
export const texts = remembered<string[]>('draft', [begin], isTexts, () => sessionStorage)
export const shown = signal(0)
export const text = (): string => texts.value[shown.value] ?? ''

/** What the text says; null while it is no YAML. */
export const doc = signal<Doc | null>(text() === begin ? { command: 'python3 train.py', resources: { gpu: 1 } } : null)
/** What the server thinks of it; null until it has answered for the first time. */
export const draft = signal<Draft | null>(null)
export const unreachable = signal<ApiError | null>(null)
/** Whether the draft is of a text that has changed since. */
export const stale = signal(true)
export const schema = signal<Field | null>(null)
export const schemaError = signal<ApiError | null>(null)

/** What became of a file of another system. */
export interface Conversion { of: string; format: string; notes: ConvertNote[]; problem: ApiError | null; source: string }

/** What could not be converted, as this tab keeps it: it stays when the page is read anew or signed in to again. */
interface Refused { of: string; source: string; message: string; hint: string; fields: FieldProblem[] }
const isRefused = (v: unknown): v is Refused | null => v === null || (isMap(v) && typeof v.of === 'string' && typeof v.source === 'string' && typeof v.message === 'string' && typeof v.hint === 'string' && Array.isArray(v.fields))
const refused = remembered<Refused | null>('refused', null, isRefused, () => sessionStorage)
const before = refused.peek()
export const conversion = signal<Conversion | null>(before && { of: before.of, format: '', notes: [], source: before.source, problem: new ApiError(422, 'invalid', before.message, before.hint, before.fields) })
effect(() => {
  const c = conversion.value
  refused.value = c?.problem ? { of: c.of, source: c.source, message: c.problem.message, hint: c.problem.hint, fields: c.problem.fields ?? [] } : null
})

let timer: ReturnType<typeof setTimeout> | undefined
let asking: AbortController | undefined

/** What is asked about: the text, and what it is for. */
const question = (): string => `${target.peek()?.name ?? ''} ${text()}`
let answered: string | null = null // what the draft is of

/** Asks what would become of the present text, once nothing has changed for a moment. */
export function plan(after = 300): void {
  if (!draft.peek() || question() !== answered) stale.value = true // asked again of the same, the answer that is there holds until then
  clearTimeout(timer)
  asking?.abort()
  timer = setTimeout(async () => {
    const asked = text()
    const about = question()
    const mine = (asking = new AbortController())
    const to = target.value // whose name is taken: by itself
    const body = to ? asked.replace(/^name:.*$/m, '') : asked
    try {
      const d = (await (await request('v1/drafts', { method: 'POST', body, headers: { 'Content-Type': 'application/yaml' }, signal: mine.signal })).json()) as Draft
      if (mine.signal.aborted || asked !== text()) return
      batch(() => {
        draft.value = d
        answered = about
        unreachable.value = null
        stale.value = false
        doc.value = isMap(d.document) ? (to ? { name: to.name, ...d.document } : d.document) : null
      })
    } catch (e) {
      if (!mine.signal.aborted) unreachable.value = asError(e)
    }
  }, after)
}

let edited = false // since the documents were begun with

/** Puts a text in place of the present one. */
export function write(next: string): void {
  edited = true
  texts.value = texts.value.map((t, i) => (i === shown.value ? next : t))
  plan()
}

/** Changes one top-level field, in text and document alike. */
export function change(key: string, value: unknown): void {
  const next = { ...doc.value }
  if (value === undefined) delete next[key]
  else next[key] = value
  doc.value = next
  write(withKey(text(), next, key))
}

/** Begins anew with documents; what somebody wrote can be had back. */
export function replace(all: string[]): void {
  const [before, at] = [texts.peek(), shown.peek()]
  if (edited) {
    const back = (): void => {
      replace(before)
      show(at)
      edited = true
    }
    toast(T.$replacedTheDraft, { action: { label: T.$undo, run: back } })
  }
  edited = false
  batch(() => {
    texts.value = all.length ? all : ['']
    shown.value = 0
    draft.value = null
  })
  plan(0)
}

export function show(i: number): void {
  shown.value = i
  draft.value = null
  plan(0)
}

/** Makes documents of a file, whatever system it is for. */
export async function convert(source: string, of: string): Promise<void> {
  try {
    const c = await send<Converted>('POST', 'v1/convert', { content: source })
    target.value = null
    conversion.value = { of, format: c.format, notes: c.notes ?? [], problem: null, source }
    replace(c.format === 'muster' && c.documents?.length === 1 ? [source] : (c.documents ?? []).map((d) => yaml(d)))
  } catch (e) {
    conversion.value = { of, format: '', notes: [], problem: asError(e), source }
  }
}

/** What there is already and gets the document, instead of another workload being made. */
export interface Target { project: string; name: string; verb: 'revise' | 'update' }
export const target = signal<Target | null>(null)

/** Begins with the document of a workload that there is, for another one, or for itself; flags of muster run change it. */
export async function copyOf(project: string, name: string, of: Target | null, flags = '', without = ''): Promise<void> {
  const w = await get<Workload>(workloadURL(project, name))
  const d = bare(withoutNode(withFlags((w.spec ?? {}) as Doc, flags), without), schema.value?.fields ?? [])
  conversion.value = null
  target.value = of
  replace([yaml(of ? d : { ...d, name: again(String(d.name ?? name)) })])
}

/** Begins with a template, laid over the environment that it builds upon. */
export async function beginWith(t: Template): Promise<void> {
  const base = t.environment ? (await get<Template>(`v1/projects/${encodeURIComponent(t.project)}/environments/${encodeURIComponent(t.environment)}`)).document : {}
  conversion.value = target.value = null
  replace([yaml(overlay(base, t.document))])
}

/** A name after another: run, run-2, run-3. */
const again = (name: string): string => {
  const m = /^(.*)-(\d{1,4})$/.exec(name)
  return m ? `${m[1]}-${Number(m[2]) + 1}` : name + '-2'
}

export async function loadSchema(): Promise<void> {
  if (schema.value) return
  try {
    schema.value = await get<Field>('v1/schema')
    schemaError.value = null
  } catch (e) {
    schemaError.value = asError(e)
  }
}

/** Submits every document in turn; what was taken is not sent again. Returns the last. */
export async function submit(taken: Map<string, Workload>): Promise<Workload | null> {
  let last: Workload | null = null
  const to = target.value
  if (to) {
    const url = workloadURL(to.project, to.name) + ':' + to.verb
    return (await (await request(url, { method: 'POST', body: text(), headers: { 'Content-Type': 'application/yaml' } })).json()) as Workload
  }
  for (const [i, t] of texts.value.entries()) {
    const place = `${i} ${t}` // two that are equal are two
    const had = taken.get(place)
    if (had) {
      last = had
      continue
    }
    try {
      const r = await request('v1/projects/-/workloads', { method: 'POST', body: t, headers: { 'Content-Type': 'application/yaml', 'Idempotency-Key': key(place) } })
      last = (await r.json()) as Workload
      taken.set(place, last)
    } catch (e) {
      if (i !== shown.value) show(i)
      throw e
    }
  }
  return last
}

const visit = crypto.getRandomValues(new Uint32Array(2)).join('-')
let sends = 0

/** The same for the same text at the same place until it was taken: a click that is repeated submits nothing twice. */
function key(t: string): string {
  let h = 5381
  for (let i = 0; i < t.length; i++) h = ((h * 33) ^ t.charCodeAt(i)) >>> 0
  return `ui-${visit}-${sends}-${h}-${t.length}`
}

/** Forgets what was submitted. */
export function taken(): void {
  sends++
  edited = false
  conversion.value = target.value = null
  texts.value = [begin]
  shown.value = 0
  draft.value = null
  doc.value = null
}

/** The problems of the present draft. */
export const problems = (): FieldProblem[] => {
  const p = draft.value?.problem
  if (!p) return []
  return p.errors?.length ? p.errors : [{ path: '', problem: p.detail ?? p.title, ...(p.hint ? { hint: p.hint } : {}) }]
}

/** Whether a problem is of a path or below it. */
export const below = (at: string, path: string): boolean => at === path || at.startsWith(path + '.') || at.startsWith(path + '[')
