// Keeps the shell of the pages (the page itself, its script, style and fonts), so that an
// installed app opens without its server and says that it cannot be reached. What the
// server says comes first always, so that a new release is there at the next load; what
// is known of workloads is never kept: only what is below the folder of the pages is
// looked at, and the API is not.

// What a worker has, as far as it is used here: its types do not go along with those of pages.
interface Lasting extends Event { waitUntil(p: Promise<unknown>): void }
interface Fetching extends Lasting { request: Request; respondWith(r: Promise<Response>): void }
interface Clicked extends Lasting { notification: Notification }
interface Tab { url: string; focus(): Promise<unknown>; navigate(url: string): Promise<unknown> }
interface Worker {
  registration: ServiceWorkerRegistration
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void>; matchAll(o: { type: 'window'; includeUncontrolled: boolean }): Promise<Tab[]>; openWindow(url: string): Promise<unknown> }
  addEventListener(name: 'install' | 'activate', f: (e: Lasting) => void): void
  addEventListener(name: 'fetch', f: (e: Fetching) => void): void
  addEventListener(name: 'notificationclick', f: (e: Clicked) => void): void
}
const worker = globalThis as unknown as Worker

const kept = 'muster-shell'
const scope = new URL(worker.registration.scope)
const page = scope.href // all addresses of the pages are one page

worker.addEventListener('install', () => void worker.skipWaiting())
worker.addEventListener('activate', (e) => e.waitUntil(worker.clients.claim()))

worker.addEventListener('fetch', (e) => {
  const r = e.request
  const url = new URL(r.url)
  if (r.method !== 'GET' || url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return
  e.respondWith(r.mode === 'navigate' ? navigate(e) : part(r))
})

/** The page as the server has it; without one, as it was when its scripts were kept. */
async function navigate(e: Fetching): Promise<Response> {
  const r = e.request
  const cache = await caches.open(kept)
  let answer: Response
  try {
    answer = await fetch(r)
  } catch (failed) {
    const was = await cache.match(page)
    if (!was) throw failed
    // The way back to the folder is another for each address.
    const up = '../'.repeat(new URL(r.url).pathname.slice(scope.pathname.length).split('/').length - 1) || './'
    return new Response((await was.text()).replace(/<base href="[^"]*"/, `<base href="${up}"`), { headers: was.headers })
  }
  if (answer.ok && !answer.redirected && answer.headers.get('Content-Type')?.startsWith('text/html')) {
    const text = await answer.clone().text()
    const release = /app\.js\?v=(\w+)/.exec(text)?.[1] ?? ''
    const was = await cache.match(page)
    if (was && was.headers.get('X-Release') !== release) for (const k of await cache.keys()) await cache.delete(k) // of another release nothing stays
    const headers = new Headers({ 'Content-Type': 'text/html; charset=utf-8', 'X-Release': release })
    for (const h of ['Content-Security-Policy', 'X-Content-Type-Options', 'Referrer-Policy']) if (answer.headers.has(h)) headers.set(h, answer.headers.get(h)!)
    await cache.put(page, new Response(text, { headers }))
    e.waitUntil(fill(cache, text))
  }
  return answer
}

/** Keeps what the page names: browsers have some of it in memory, and do not ask for it here. */
async function fill(cache: Cache, text: string): Promise<void> {
  for (const m of [...text.matchAll(/ (?:src|href)="([^"]+)"/g), ['', 'later.js']]) {
    const url = new URL(m[1]!.replace(/^(?:\.\.?\/)+/, '') || 'icon.svg', scope).href
    if (!(await cache.match(url))) await cache.add(url).catch(() => {}) // then it is not kept
  }
}

/** A part of the page: as the server has it, or else as it was. */
async function part(r: Request): Promise<Response> {
  const cache = await caches.open(kept)
  try {
    const answer = await fetch(r)
    if (answer.ok && !answer.headers.get('Content-Type')?.startsWith('text/html')) await cache.put(r, answer.clone())
    return answer
  } catch (e) {
    const was = await cache.match(r)
    if (was) return was
    throw e
  }
}

// A notification that is clicked shows the workload that it is of.
worker.addEventListener('notificationclick', (e) => {
  e.notification.close()
  const to = new URL(String((e.notification.data as { path?: string } | null)?.path ?? ''), scope).href
  e.waitUntil(worker.clients.matchAll({ type: 'window', includeUncontrolled: true }).then(async (all) => {
    const open = all.find((c) => c.url === to) ?? all[0]
    if (!open) return void (await worker.clients.openWindow(to))
    await open.focus()
    if (open.url !== to) await open.navigate(to)
  }))
})

export {} // a module of its own
