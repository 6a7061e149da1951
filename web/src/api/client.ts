import { root } from '../lib/router'
import type { Problem } from './types'
import { phrase, T } from '../texts'

/** What the server refused, or that it did not answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly fields: Problem['errors'] = [],
  ) {
    super(message)
  }
}

/** Called when the server does not know this browser any more. */
let expired: () => void = () => {}
export const onExpired = (f: () => void): void => {
  expired = f
}

/** The address of a path of the API, such as "v1/nodes". */
export const apiURL = (path: string): string => root + path

/** A query without what is empty. */
export function params(values: Record<string, string | number | boolean | undefined | null>): string {
  const q = new URLSearchParams()
  for (const [k, v] of Object.entries(values)) {
    if (v !== undefined && v !== null && v !== '' && v !== false) q.set(k, String(v))
  }
  const text = q.toString()
  return text && '?' + text
}

/** Sends a request; an answer that is none of success is an ApiError. */
export async function request(path: string, init: RequestInit = {}, patience = 60): Promise<Response> {
  let r: Response
  try {
    r = await fetch(apiURL(path), { ...init, credentials: 'same-origin' })
  } catch (e) {
    if (init.signal?.aborted) throw e
    throw new ApiError(0, 'unreachable', 'the server does not answer', 'look whether it runs: muster server status')
  }
  if (r.ok) return r
  const wait = r.status === 429 ? Number(r.headers.get('Retry-After')) : 0
  if (wait > 0 && wait <= patience) {
    // It came too early, and nothing was done.
    await new Promise((go) => setTimeout(go, wait * 1000))
    if (!init.signal?.aborted) return request(path, init, patience - wait)
  }
  const p = await problemOf(r)
  if (r.status === 401) expired()
  throw p
}

async function problemOf(r: Response): Promise<ApiError> {
  try {
    const p = (await r.json()) as Problem
    return new ApiError(r.status, p.code, p.detail ?? p.title, p.hint ?? '', p.errors ?? [])
  } catch {
    return new ApiError(r.status, 'internal', phrase(T.$theServerAnsweredStatus, { status: r.status }), 'try again')
  }
}

const open = new Set<() => void>()

// A page that was left may be kept by the browser, to be shown again; its
// connections would be missing elsewhere, of which a browser has six to a server.
addEventListener('pagehide', () => {
  for (const end of [...open]) end()
})

/** Sends a request whose answer goes on, until abort or until the page is left. */
export async function stream(path: string, abort: AbortController, init: RequestInit = {}): Promise<Response> {
  const end = (): void => abort.abort()
  open.add(end)
  abort.signal.addEventListener('abort', () => open.delete(end))
  try {
    return await request(path, { ...init, signal: abort.signal })
  } catch (e) {
    open.delete(end)
    throw e
  }
}

/** The same while the page is seen; when it is hidden the answer breaks off. */
export async function streamSeen(path: string, abort: AbortController): Promise<Response> {
  const looked = (): void => {
    if (document.hidden) abort.abort()
  }
  if (document.hidden) await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }))
  document.addEventListener('visibilitychange', looked)
  abort.signal.addEventListener('abort', () => document.removeEventListener('visibilitychange', looked))
  return stream(path, abort)
}

/** Reads JSON. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(path, signal ? { signal } : {})).json()) as T
}

/** Sends JSON, and reads what comes back, if anything does. */
export async function send<T>(method: string, path: string, body?: unknown, type = 'application/json'): Promise<T> {
  const r = await request(path, body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { 'Content-Type': type } })
  return (r.status === 204 ? undefined : await r.json()) as T
}

/** What went wrong, as an ApiError whatever was thrown. */
export function asError(e: unknown): ApiError {
  return e instanceof ApiError ? e : new ApiError(0, 'internal', e instanceof Error ? e.message : String(e), 'reload the page; report it if it stays')
}

/** The path of a workload in the API. */
export const workloadURL = (project: string, name: string): string =>
  `v1/projects/${encodeURIComponent(project)}/workloads/${encodeURIComponent(name)}`
