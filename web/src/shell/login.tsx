import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, asError, request } from '../api/client'
import type { Login as LoginBody, SignInWays } from '../api/types'
import { href } from '../lib/router'
import { tellSession } from '../live/stream'
import { Button, sentence, useTitle } from '../ui/basics'
import { phrase, T } from '../texts'
import { comeBack, leave, ways } from './signin'

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
  const [by, setBy] = useState<SignInWays>({})
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
      if (body.token) field.current?.focus()
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
  useEffect(() => {
    void ways().then(setBy)
    const answer = comeBack()
    if (answer instanceof ApiError) setError(answer)
    else if (answer) void submit({ answer })
    const code = new URLSearchParams(location.hash.slice(1)).get('code')
    if (!code) return
    history.replaceState(null, '', location.pathname + location.search) // it must not stay in the history
    void submit({ code })
  }, [])
  const others = !!(by.provider || by.directory)
  const failure = error && <p class="login-error" id="login-error" role="alert">{sentence(error.message)}. <span class="muted">{sentence(error.hint)}</span></p>
  return (
    <main class="login" id="main">
      <div class="login-card">
        <svg width="40" height="40" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" class="brand-tile" /><path d="M7 23V10l9 8 9-8v13" class="brand-line" /></svg>
        <h1>{T.$signInToMuster}</h1>
        {others && failure}
        {by.provider && <Button kind="main" type="button" disabled={busy} onClick={() => void away()}>{phrase(T.$signInWithProvider, { provider: by.provider })}</Button>}
        {by.directory && <Password name={by.directory} main={!by.provider} busy={busy} submit={(user, password) => void submit({ answer: { user, password } })} />}
        <form class="login-form" onSubmit={(e) => { e.preventDefault(); void submit({ token: field.current!.value.trim() }) }}>
          <p>{phrase(others ? T.$orRunCode : T.$onTheServersMachineRunCode, { code: <code>muster ui</code> })}</p>
          <label for="token">{T.$token}</label>
          <input id="token" ref={field} type="password" autocomplete={by.directory ? 'off' : 'current-password'} required disabled={busy} autoFocus aria-describedby={!others && error ? 'login-error' : undefined} aria-invalid={!others && !!error} />
          {!others && failure}
          <Button kind={others ? 'plain' : 'main'} type="submit" disabled={busy}>{busy ? T.$signingIn : T.$signIn}</Button>
        </form>
      </div>
    </main>
  )
}

/** Asks for a name and a password that a directory knows. */
function Password({ name, main, busy, submit }: { name: string; main: boolean; busy: boolean; submit: (user: string, password: string) => void }) {
  const user = useRef<HTMLInputElement>(null)
  const password = useRef<HTMLInputElement>(null)
  return (
    <form class="login-form" onSubmit={(e) => { e.preventDefault(); submit(user.current!.value.trim(), password.current!.value) }}>
      <label for="user">{T.$signInUser}</label>
      <input id="user" ref={user} autocomplete="username" autocapitalize="off" spellcheck={false} required disabled={busy} />
      <label for="password">{T.$signInPassword}</label>
      <input id="password" ref={password} type="password" autocomplete="current-password" required disabled={busy} />
      <Button kind={main ? 'main' : 'plain'} type="submit" disabled={busy}>{phrase(T.$signInWithProvider, { provider: name })}</Button>
    </form>
  )
}
