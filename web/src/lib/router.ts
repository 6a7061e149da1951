import { computed, signal } from '@preact/signals'

/** Where the pages are, whatever a proxy has put before: it ends with "/". */
export const base = new URL('.', document.baseURI).pathname

/** The root of the server, where the API is. */
export const root = new URL('..', document.baseURI).pathname

export interface Place {
  path: string // below base, without a leading "/"
  query: string // without "?"
}

const here = (): Place => ({ path: decodePath(location.pathname), query: location.search.slice(1) })

function decodePath(pathname: string): string {
  return pathname.startsWith(base) ? pathname.slice(base.length).replace(/\/+$/, '') : ''
}

/** Where this browser is. */
export const place = signal<Place>(here())

/** What follows the "?" of it. */
export const query = computed(() => new URLSearchParams(place.value.query))

addEventListener('popstate', () => {
  place.value = here()
})

/** The address of a path below the pages. */
export const href = (path: string): string => base + path

/** Goes to a path below the pages, such as "workloads?q=status:failed". */
export function go(path: string, replace = false): void {
  const url = href(path)
  if (url === location.pathname + location.search) return
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  place.value = here()
}

/** Changes what follows the "?", keeping the rest; null and "" take away. */
export function setQuery(change: Record<string, string | null>, replace = true): void {
  const q = new URLSearchParams(place.value.query)
  for (const [k, v] of Object.entries(change)) {
    if (v === null || v === '') q.delete(k)
    else q.set(k, v)
  }
  const text = readable(q)
  go(place.value.path + (text && '?' + text), replace)
}

/** A query that people can read: what need not be escaped is not. */
export const readable = (q: URLSearchParams): string =>
  q.toString().replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%40', '@').replaceAll('%2F', '/')

/** The parts of a path that fits a pattern like "workloads/:project/:name". */
export function match(pattern: string, path: string): Record<string, string> | null {
  const want = pattern.split('/')
  const have = path.split('/')
  if (want.length !== have.length) return null
  const params: Record<string, string> = {}
  for (let i = 0; i < want.length; i++) {
    const w = want[i]!
    const h = have[i]!
    if (w.startsWith(':')) {
      try {
        params[w.slice(1)] = decodeURIComponent(h)
      } catch {
        return null
      }
    } else if (w !== h) return null
  }
  return params
}

/** A click that this page handles itself: none that opens another tab. */
export function plainClick(e: MouseEvent): boolean {
  return e.button === 0 && !e.metaKey && !e.ctrlKey && !e.shiftKey && !e.altKey && !e.defaultPrevented
}

/** The path of a workload's page. */
export const workloadPath = (project: string, name: string, tab = ''): string =>
  `workloads/${encodeURIComponent(project)}/${encodeURIComponent(name)}${tab && '?tab=' + tab}`
