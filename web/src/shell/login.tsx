import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, asError, request } from '../api/client'
import type { Login as LoginBody } from '../api/types'
import { href } from '../lib/router'
import { tellSession } from '../live/stream'
import { Button, sentence, useTitle } from '../ui/basics'
import { phrase, T } from '../texts'
import { comeBack, leave, provider } from './signin'

/** Where to go once the browser is let in: back to where it was. */
function back(): string {
  const to = new URLSearchParams(location.search).get('to') ?? ''
  // Only a place below these pages: never another site.
  return /^[a-z]/i.test(to) && !/^[a-z][a-z0-9+.-]*:/i.test(to) && !to.startsWith('login') ? href(to) : href('workloads')
}

const enter = (body: LoginBody): Promise<Response> =>
  request('v1/session', { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } })

/** Lets a browser in, by the code of a link, by an identity provider or by a token. */
export function Login() {
  const [error, setError] = useState<ApiError | null>(null)
  const [busy, setBusy] = useState(false)
  const [by, setBy] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useTitle(T.$signIn)
  const submit = async (body: LoginBody): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await enter(body)
      tellSession()
      location.replace(back())
    } catch (e) {
      setError(asError(e))
      setBusy(false)
      field.current?.focus()
    }
  }
  const away = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      await leave()
    } catch (e) {
      setError(asError(e))
      setBusy(false)
    }
  }
  useEffect(() => void provider().then(setBy), [])
  useEffect(() => {
    const answer = comeBack()
    if (answer instanceof ApiError) setError(answer)
    else if (answer) void submit({ answer })
    const code = new URLSearchParams(location.hash.slice(1)).get('code')
    if (!code) return
    history.replaceState(null, '', location.pathname + location.search) // it must not stay in the history
    void submit({ code })
  }, [])
  return (
    <main class="login" id="main">
      <form class="login-card" onSubmit={(e) => { e.preventDefault(); void submit({ token: field.current!.value.trim() }) }}>
        <svg width="40" height="40" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" class="brand-tile" /><path d="M7 23V10l9 8 9-8v13" class="brand-line" /></svg>
        <h1>{T.$signInToMuster}</h1>
        {by && <Button kind="main" type="button" disabled={busy} onClick={() => void away()}>{phrase(T.$signInWithProvider, { provider: by })}</Button>}
        {by && error && <p class="login-error" role="alert">{sentence(error.message)}. <span class="muted">{sentence(error.hint)}</span></p>}
        <p>{phrase(by ? T.$orRunCode : T.$onTheServersMachineRunCode, { code: <code>muster ui</code> })}</p>
        <label for="token">{T.$token}</label>
        <input id="token" ref={field} type="password" autocomplete="current-password" required disabled={busy} autoFocus aria-describedby={!by && error ? 'login-error' : undefined} aria-invalid={!by && !!error} />
        {!by && error && <p class="login-error" id="login-error" role="alert">{sentence(error.message)}. <span class="muted">{sentence(error.hint)}</span></p>}
        <Button kind={by ? 'plain' : 'main'} type="submit" disabled={busy}>{busy ? T.$signingIn : T.$signIn}</Button>
      </form>
    </main>
  )
}
