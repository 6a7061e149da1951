// The document while it is written: text, and what the text says. A change of
// the form changes only the part of the text that says it, so that comments and
// order stay as their author wrote them.
import { yaml } from '../../lib/yaml'
import type { Field } from '../../api/types'

export type Doc = Record<string, unknown>

export const isMap = (v: unknown): v is Doc => v !== null && typeof v === 'object' && !Array.isArray(v)

const top = /^(?:"([^"]+)"|'([^']+)'|([^\s#:"'-][^:#]*?))\s*:(?:\s|$)/

const mark = /^(---|\.\.\.)\s*(#.*)?$/ // where a document begins or ends

/** Text with the value of a top-level key replaced; undefined takes it away. */
export function withKey(text: string, whole: Doc, key: string): string {
  const value = whole[key]
  const lines = text.split('\n')
  const first = lines.find((l) => l.trim() && !l.startsWith('#') && !mark.test(l))
  if (first === undefined || /^\s*[{[]/.test(first) || !top.test(first)) return yaml(whole) // flow style, or nothing yet
  const said = value === undefined ? [] : yaml({ [key]: value }).trimEnd().split('\n')
  const from = lines.findIndex((l) => {
    const m = top.exec(l)
    return m && (m[1] ?? m[2] ?? m[3]) === key
  })
  if (from < 0) {
    const kept = text.replace(/\s+$/, '')
    return (kept ? kept + '\n' : '') + said.join('\n') + '\n'
  }
  let to = from + 1
  while (to < lines.length && !top.test(lines[to]!) && !mark.test(lines[to]!)) to++
  while (to > from + 1 && /^(#.*|\s*)$/.test(lines[to - 1]!)) to-- // what stands before the next key belongs to it
  return [...lines.slice(0, from), ...said, ...lines.slice(to)].join('\n')
}

/** The same value with everything short written long, as a form shows it. */
export function expand(v: unknown, f: Field): unknown {
  if (!f.short || v === undefined || v === null) return v
  if (f.type.startsWith('list')) return Array.isArray(v) ? v.map((x) => one(x, f)) : v
  return one(v, f)
}

function one(v: unknown, f: Field): unknown {
  if (isMap(v) || Array.isArray(v)) return v
  const part = f.part && typeof v === 'number' && !Number.isInteger(v)
  return { [part ? f.part! : f.short!]: v }
}

/** The reverse of expand; what is empty goes away. */
export function collapse(v: unknown, f: Field): unknown {
  if (Array.isArray(v)) {
    const all = v.map((x) => short(x, f)).filter((x) => x !== undefined)
    return all.length ? all : undefined
  }
  if (!isMap(v)) return v
  const s = short(v, f)
  return isMap(s) && Object.keys(s).length === 0 ? undefined : s
}

function short(v: unknown, f: Field): unknown {
  if (!isMap(v)) return v
  const entries = Object.entries(v).filter(([, x]) => x !== undefined)
  const only = entries[0]
  if (entries.length === 1 && (only![0] === f.short || only![0] === f.part) && !isMap(only![1])) return only![1]
  return Object.fromEntries(entries)
}

/** What a field's text means: a number where it is written as one. */
export function scalar(text: string): string | number | undefined {
  if (text === '') return undefined
  return /^-?\d+(\.\d+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text
}

/** A document without what it would have anyway. */
export function bare(v: Doc, fields: Field[]): Doc {
  const out: Doc = {}
  for (const [k, x] of Object.entries(v)) {
    const f = fields.find((f) => f.name === k)
    if (!f) {
      out[k] = x
      continue
    }
    const y = isMap(x) && f.fields && !f.type.startsWith('map of') ? collapse(bare(x, f.fields), f) : x
    if (y === undefined || (f.default !== undefined && JSON.stringify(y) === JSON.stringify(scalar(f.default) ?? '')) || String(y) === f.default) continue
    if (Array.isArray(y) ? y.length === 0 : isMap(y) && Object.keys(y).length === 0) continue
    out[k] = y
  }
  return out
}

/** base with what over says in its place: maps key by key, lists whole; arguments belong to their command. */
export function overlay(base: Doc, over: Doc): Doc {
  const out: Doc = { ...base }
  if (over.command !== undefined) delete out.args
  for (const [k, v] of Object.entries(over)) out[k] = isMap(v) && isMap(out[k]) ? overlay(out[k], v) : v
  return out
}

const named: Record<string, string> = { '--workers': 'workers', '--gpus': 'resources.gpu.count', '--gpu-type': 'resources.gpu.type', '--priority': 'priority', '--memory': 'resources.memory', '--project': 'project' }

/** A document with the changes that an offer of the scheduler makes, which are written as flags of muster run. */
export function withFlags(d: Doc, flags: string): Doc {
  const words = (flags.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []).map((w) => w.replace(/'([^']*)'|"([^"]*)"/g, (_, a, b) => a ?? b))
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [flag, text] = [words[i]!, words[i + 1]!]
    const cut = text.indexOf('=')
    if (flag === '--set') d = at(d, text.slice(0, cut).split('.'), meant(text.slice(cut + 1)))
    else if (named[flag]) d = at(d, named[flag].split('.'), meant(text))
  }
  return d
}

function meant(text: string): unknown {
  if (text === '' || text === '{}' || text === '[]') return undefined
  if (/^\[.*\]$/.test(text)) return text.slice(1, -1).split(',').map((x) => x.trim())
  return text === 'true' || text === 'false' ? text === 'true' : scalar(text)
}

function at(v: unknown, path: string[], x: unknown): Doc {
  const [k, ...rest] = path as [string, ...string[]]
  const around = isMap(v) ? v : k === 'count' || v === undefined ? {} : { count: v } // gpu: 2 is gpu: {count: 2}
  const out: Doc = { ...around, [k]: rest.length ? at(around[k], rest, x) : x }
  if (out[k] === undefined || (isMap(out[k]) && Object.keys(out[k]).length === 0)) delete out[k]
  return out
}

const hostname = 'kubernetes.io/hostname'

/** A document that does not run on a node; empty: on any. */
export function withoutNode(d: Doc, node: string): Doc {
  if (!node) return d
  const terms = Array.isArray(d.nodeAffinity) ? (d.nodeAffinity as unknown[]) : []
  const has = terms.find((t) => isMap(t) && t.key === hostname && t.op === 'NotIn' && Array.isArray(t.values)) as { values: unknown[] } | undefined
  if (has?.values.includes(node)) return d
  return { ...d, nodeAffinity: has ? terms.map((t) => (t === has ? { ...has, values: [...has.values, node] } : t)) : [...terms, { key: hostname, op: 'NotIn', values: [node] }] }
}
