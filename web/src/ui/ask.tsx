// A dialog with fields, for what is made or changed.
import { useState, useId } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { asError, type ApiError } from '../api/client'
import { Button, sentence } from './basics'
import { CopyAs, type Said } from './copyas'
import { Dialog, over } from './overlay'
import { phrase, T } from '../texts'

export type Values = Record<string, string>

export interface Input {
  name: string
  label?: string
  note?: string
  /** Choices; the first is what is usual. */
  options?: [string, string][]
  kind?: 'text' | 'secret' | 'long' | 'check'
  required?: boolean
  placeholder?: string
}

export interface AskProps {
  title: string; text?: ComponentChildren
  /** Given what is filled in so far, as some inputs depend on others. */
  inputs: (v: Values) => Input[]
  first?: Values; yes: string; act: (v: Values) => Promise<unknown>; close: () => void
  /** Why it cannot be done as it is filled in. */
  refuse?: (v: Values) => string | undefined
  /** The same by command. */
  said?: (v: Values) => Said
}

/** Shows a dialog with fields over the page. */
export function askFor(of: Omit<AskProps, 'close'>): void {
  over.value = <Ask {...of} close={() => (over.value = null)} />
}

/** Shows inputs and does something with what they hold; what is refused stands at its input. */
export function Ask({ title, text, inputs, first = {}, yes, act, close, refuse, said }: AskProps) {
  const [v, setV] = useState<Values>(first)
  const [error, setError] = useState<ApiError | null>(null)
  const [busy, setBusy] = useState(false)
  const shown = inputs(v)
  const missing = shown.find((i) => i.required && !v[i.name]?.trim())
  const no = missing ? phrase(T.$nameIsMissing, { name: sentence(missing.label ?? missing.name) }) : refuse?.(v)
  const fields = error?.fields ?? []
  const mine = (i: Input): string => fields.filter((f) => f.path.replace(/^body\./, '').split(/[.[]/)[0] === i.name || f.path === i.name).map((f) => sentence(f.problem) + (f.hint ? '; ' + f.hint : '')).join('. ')
  const act1 = async (): Promise<void> => {
    if (no || busy) return
    setBusy(true)
    try {
      await act(v)
      close()
    } catch (e) {
      setError(asError(e))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} close={close} class="admin-dialog">
      <form class="dialog-form" onSubmit={(e) => { e.preventDefault(); void act1() }}>
        {text && <p class="muted">{text}</p>}
        <div class="ask-fields">{shown.map((i) => <One key={i.name} i={i} value={v[i.name] ?? ''} set={(x) => setV((now) => ({ ...now, [i.name]: x }))} bad={mine(i)} />)}</div>
        {error && !shown.some((i) => mine(i)) && <p class="field-bad" role="alert">{sentence(error.message)}{error.hint && <> {sentence(error.hint)}</>}</p>}
        <footer class="dialog-foot">{said && !no && <CopyAs of={() => said(v)} />}<Button onClick={close}>{T.$cancel}</Button><Button type="submit" kind="main" refused={no ?? (busy ? T.$sending : undefined)}>{yes}</Button></footer>
      </form>
    </Dialog>
  )
}

function One({ i, value, set, bad }: { i: Input; value: string; set: (v: string) => void; bad: string }) {
  const id = useId()
  const same = { id, 'aria-invalid': bad !== '', 'aria-describedby': bad || i.note ? id + '-about' : undefined, 'aria-required': i.required || undefined }
  const about = bad ? <p class="field-bad" id={id + '-about'}>{bad}</p> : i.note ? <p class="field-note" id={id + '-about'}>{i.note}</p> : null
  const label = i.label ?? i.name
  if (i.kind === 'check') {
    return <div class="field check-field"><label for={id}><input type="checkbox" {...same} checked={value === 'true'} onChange={(e) => set(e.currentTarget.checked ? 'true' : '')} /> {label}</label>{about}</div>
  }
  return (
    <div class="field" data-bad={bad !== '' || undefined} data-wide={i.kind === 'long' || undefined}>
      <label for={id}>{label}</label>
      {i.options
        ? <select {...same} value={value} onChange={(e) => set(e.currentTarget.value)}>{i.options.map(([o, says]) => <option key={o} value={o}>{says}</option>)}</select>
        : i.kind === 'long'
          ? <textarea {...same} rows={Math.min(14, Math.max(3, value.split('\n').length))} spellcheck={false} autocomplete="off" value={value} placeholder={i.placeholder} onInput={(e) => set(e.currentTarget.value)} />
          : i.kind === 'secret'
            ? <input {...same} type="password" autocomplete="new-password" value={value} onInput={(e) => set(e.currentTarget.value)} />
            : <input {...same} type="text" autocomplete="off" autocapitalize="off" spellcheck={false} value={value} placeholder={i.placeholder} onInput={(e) => set(e.currentTarget.value)} />}
      {about}
    </div>
  )
}

/** What is filled in, without what is empty. */
export const given = (v: Values, ...names: string[]): Values => Object.fromEntries(names.map((n): [string, string] => [n, (v[n] ?? '').trim()]).filter(([, x]) => x !== ''))

/** Words with commas or spaces between. */
export const list = (text: string | undefined): string[] => (text ?? '').split(/[\s,]+/).filter(Boolean)

/** Lines of name=value. */
export const pairs = (text: string | undefined): Record<string, string> => Object.fromEntries((text ?? '').split(/[\n,]+/).map((l) => l.trim()).filter(Boolean).map((l) => [l.split('=')[0]!.trim(), l.slice(l.indexOf('=') + 1).trim()]))
