import { request, ApiError } from '../api/client'
import type { SignInAnswer, SignInWays, StartedSignIn } from '../api/types'
import { href } from '../lib/router'
import { T } from '../texts'

/** Where a sign-in is kept while the browser is at the identity provider: in this tab alone. */
const kept = 'muster.sign-in'

interface Begun { flow: string; state: string; search: string }

/** How one can sign in beside a token. */
export async function ways(): Promise<SignInWays> {
  try {
    return (await (await request('v1/sign-in')).json()) as SignInWays
  } catch {
    return {} // one can still show a token
  }
}

/** Sends the browser to the identity provider. */
export async function leave(): Promise<void> {
  const redirect = new URL(href('login'), location.href).href
  const r = await request('v1/sign-in', { method: 'POST', body: JSON.stringify({ redirect }), headers: { 'Content-Type': 'application/json' } })
  const s = (await r.json()) as StartedSignIn
  const begun: Begun = { flow: s.flow, state: s.state, search: location.search }
  sessionStorage.setItem(kept, JSON.stringify(begun))
  location.assign(s.address)
}

/** What the identity provider has answered, if the browser has just come back from it. It
 * does not stay in the address. */
export function comeBack(): SignInAnswer | ApiError | null {
  const q = new URLSearchParams(location.search)
  const [code, state, error] = [q.get('code'), q.get('state'), q.get('error')]
  if (state === null || (code === null && error === null)) return null
  let begun: Begun | null = null
  try {
    begun = JSON.parse(sessionStorage.getItem(kept) ?? 'null') as Begun | null
  } catch {
    // it is as if there were none
  }
  sessionStorage.removeItem(kept)
  history.replaceState(null, '', location.pathname + (begun?.search ?? ''))
  if (begun?.state !== state) return new ApiError(401, 'unauthenticated', T.$signInNotBegunHere, T.$signInAgain)
  if (error !== null) return new ApiError(401, 'unauthenticated', q.get('error_description') ?? error, T.$signInAgain)
  return { flow: begun.flow, code: code!, state }
}
