// Writes values as YAML that people read: block style, quotes only where they
// are needed.

const plainForm = /^[A-Za-z0-9_./@%+][A-Za-z0-9_./@%+: -]*$/
const other = /^(true|false|yes|no|on|off|null|~|[-+]?(\d[\d_]*)?\.?\d+([eE][-+]?\d+)?|0[xo][0-9a-f]+|\d{4}-\d\d-\d\d.*|[\d:]+)$/i

function scalar(v: unknown): string {
  if (v === null || v === undefined) return 'null'
  if (typeof v !== 'string') return String(v)
  if (plainForm.test(v) && !other.test(v) && !v.includes(': ') && !v.includes(' #') && !/[: ]$/.test(v)) return v
  return JSON.stringify(v)
}

function block(v: unknown, indent: string): string {
  if (Array.isArray(v)) {
    if (v.length === 0) return ' []'
    return v.map((x) => {
      const inner = block(x, indent + '  ')
      return `\n${indent}-` + (inner.startsWith('\n') ? ' ' + inner.trimStart() : inner)
    }).join('')
  }
  if (v !== null && typeof v === 'object') {
    const entries = Object.entries(v as Record<string, unknown>).filter(([, x]) => x !== undefined)
    if (entries.length === 0) return ' {}'
    return entries.map(([k, x]) => `\n${indent}${scalar(k)}:${block(x, indent + (Array.isArray(x) ? '' : '  '))}`).join('')
  }
  if (typeof v === 'string' && v.includes('\n') && !/^\s|[^\S\n]\n|[\u0000-\u0009\u000b-\u001f]/.test(v)) {
    const keep = v.endsWith('\n') ? '' : '-'
    const lines = v.replace(/\n$/, '').split('\n')
    return ` |${keep}\n` + lines.map((l) => (l ? indent + (indent ? '' : '  ') + l : '')).join('\n')
  }
  return ' ' + scalar(v)
}

/** A value as a YAML document. */
export const yaml = (v: unknown): string => block(v, '').replace(/^\n/, '').trimStart() + '\n'
