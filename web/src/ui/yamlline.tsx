import type { ComponentChildren } from 'preact'

const parts = /(^\s*(?:- )*)(?:([^\s#:"'{}[\],-][^:#]*?)(:)(?=\s|$))?|(#.*$)|("(?:[^"\\]|\\.)*"?|'[^']*'?)|\b(true|false|null|yes|no)\b|((?<![\w.-])-?\d+(?:\.\d+)?(?![\w.]))/gm

/** One line of YAML, coloured. */
export function YAMLLine({ of }: { of: string }) {
  const out: ComponentChildren[] = []
  let at = 0
  const put = (s: string, tone?: string): void => {
    if (s) out.push(tone ? <span class={'y-' + tone}>{s}</span> : s)
  }
  for (const m of of.matchAll(parts)) {
    if (m.index < at || !m[0]) continue
    put(of.slice(at, m.index))
    at = m.index + m[0].length
    if (m[4]) put(m[4], 'comment')
    else if (m[5]) put(m[5], 'text')
    else if (m[6]) put(m[6], 'word')
    else if (m[7]) put(m[7], 'number')
    else {
      put(m[1] ?? '')
      put(m[2] ?? '', 'key')
      put(m[3] ?? '')
    }
  }
  put(of.slice(at))
  return <>{out}{'\n'}</>
}
