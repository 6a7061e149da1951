// Search over whole logs: the server looks, a stretch of two seconds at a time,
// and never is more of a log here than what is seen of it.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { asError, get, params, workloadURL } from '../../../api/client'
import type { LogHits } from '../../../api/types'
import { find, keyOf, type Line } from './buffer'
import type { From } from './source'

const most = 10_000 // lines that are listed
const typing = 200 // ms without a key before it begins

export interface Hit { key: number; at: string; task: number }
export interface Search { hits: Hit[]; part: number; done: boolean; full: boolean; error: string }

const none = { text: '', hits: [] as Hit[], part: 0, done: true, full: false, error: '' }

/** What is found in a log or, where task is null, in those of all tasks. */
export function useSearch(of: From, task: number | null, text: string, lines: Line[], what: RegExp | null): Search {
  const [got, setGot] = useState(none)
  useEffect(() => {
    setGot(of.part === 'build' ? { ...none, text } : none) // a build's log is here whole
    if (!text || !what || of.part === 'build') return
    const abort = new AbortController()
    const timer = setTimeout(async () => {
      const expression = /^\/(.+)\/$/.exec(text)
      const hits: Hit[] = []
      setGot({ ...none, text, done: false })
      try {
        for (let after = ''; ; ) {
          const p = await get<LogHits>(workloadURL(of.project, of.name) + '/logs/search' + params({
            attempt: String(of.attempt), tasks: task === null ? 'all' : String(task), q: expression ? expression[1]! : text, regexp: !!expression, after, limit: 2000,
          }), abort.signal)
          for (const h of p.hits) hits.push({ key: task === null ? keyOf(h.task, h.offset) : h.offset, at: h.at, task: h.task })
          const full = hits.length >= most
          setGot({ text, hits: [...hits], part: p.totalBytes ? p.scannedBytes / p.totalBytes : 1, done: !p.next || full, full, error: '' })
          if (!p.next || full) return
          after = p.next
        }
      } catch (e) {
        if (!abort.signal.aborted) setGot({ text, hits: [...hits], part: 0, done: true, full: false, error: asError(e).message })
      }
    }, typing)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [of.project, of.name, of.attempt, of.part, task, text])
  // What is here is found at once, and what came after the search as well.
  const here = useMemo(() => (what ? find(lines, what).map((i): Hit => ({ key: lines[i]!.offset, at: lines[i]!.at, task: lines[i]!.task ?? 0 })) : []), [what, lines, lines.length, lines[0]?.offset])
  const hits = useMemo(() => {
    if (got.hits.length === 0) return here
    const known = new Set(got.hits.map((h) => h.key))
    const more = here.filter((h) => !known.has(h.key))
    const all = more.length ? [...got.hits, ...more] : [...got.hits]
    return all.sort(task === null ? (a, b) => Date.parse(a.at) - Date.parse(b.at) || a.key - b.key : (a, b) => a.key - b.key)
  }, [got, here, task])
  return { ...got, done: got.done && (got.text === text || !what), hits }
}
