// The one language of filters: words that are looked for, and field:value with
// several values separated by commas; a "-" before it means all others. Numbers
// and ages compare: gpus>=8, age<2d.

export type Operator = ':' | '<' | '<=' | '>' | '>='

export interface Term {
  field: string // empty: text
  op: Operator
  values: string[]
  not: boolean
  text: string // as it was written
}

const termForm = /^(-?)([a-z][a-z0-9.\-_/]*)(:|<=|>=|<|>)(.*)$/i

/** Splits at spaces that are not within quotes. */
export function split(text: string): string[] {
  return text.match(/(?:[^\s"]+|"[^"]*"?)+/g) ?? []
}

const unquote = (s: string): string => s.replaceAll('"', '')

/** Reads a filter. It never fails: what is no field is text. */
export function parse(text: string, fields: ReadonlySet<string>): Term[] {
  return split(text).map((t): Term => {
    const m = termForm.exec(t)
    const name = m?.[2]?.toLowerCase() ?? ''
    if (m && (fields.has(name) || name.startsWith('label.'))) {
      const field = name.startsWith('label.') ? m[2]! : name
      return { field, op: m[3] as Operator, values: m[4]!.split(',').map(unquote).filter(Boolean), not: m[1] === '-', text: t }
    }
    const not = t.startsWith('-') && t.length > 1
    return { field: '', op: ':', values: [unquote(not ? t.slice(1) : t).toLowerCase()], not, text: t }
  })
}

const sizes: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400, w: 604800 }

/** A length of time like 90m or 2d, in milliseconds; NaN where it is none. */
export function length(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(text)) return NaN
  let sum = 0
  for (const m of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) sum += Number(m[1]) * sizes[m[2]!]! * 1000
  return sum
}

/** Compares a number as a term says. */
export function compares(have: number, op: Operator, want: number): boolean {
  switch (op) {
    case '<': return have < want
    case '<=': return have <= want
    case '>': return have > want
    case '>=': return have >= want
    default: return have === want
  }
}

/** A text against a value, in which * stands for anything; whatever the case. */
export function like(have: string, want: string): boolean {
  const h = have.toLowerCase()
  const w = want.toLowerCase()
  if (!w.includes('*')) return h === w
  const parts = w.split('*')
  if (!h.startsWith(parts[0]!) || !h.endsWith(parts[parts.length - 1]!)) return false
  let at = 0
  for (const part of parts) {
    const i = h.indexOf(part, at)
    if (i < 0) return false
    at = i + part.length
  }
  return true
}

/** A filter with a term put in place of those of the same field; without values they go. */
export function withTerm(text: string, field: string, values: string[]): string {
  const rest = split(text).filter((t) => !t.replace(/^-/, '').toLowerCase().startsWith(field.toLowerCase() + ':'))
  if (values.length > 0) rest.unshift(field + ':' + values.map((v) => (/\s/.test(v) ? `"${v}"` : v)).join(','))
  return rest.join(' ')
}
