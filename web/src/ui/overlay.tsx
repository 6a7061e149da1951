// What lies over the page: dialogs, menus and short messages.
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { asError } from '../api/client'
import { Button, sentence } from './basics'
import { Icon, type IconName } from './icons'
import { T } from '../texts'

/** A dialog over the page. The browser keeps the focus in it, and Esc closes it. */
export function Dialog({ title, close, children, class: more = '', bare = false }: { title: string; close: () => void; children: ComponentChildren; class?: string; bare?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    // The first of its fields, where the browser takes the button that closes it.
    if (!ref.current?.querySelector('[autofocus]')) ref.current?.querySelector<HTMLElement>('input:not([disabled]):not([type=hidden]), textarea:not([disabled]), select:not([disabled])')?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog ref={ref} class={'dialog ' + more} aria-labelledby={bare ? undefined : id} aria-label={bare ? title : undefined}
      onClose={close} onCancel={(e) => { e.preventDefault(); close() }}
      onMouseDown={(e) => { if (e.target === ref.current) close() }}>
      <div class="dialog-body">
        {!bare && <header class="dialog-head"><h2 id={id}>{title}</h2><Button kind="quiet" icon="close" aria-label={T.$close} onClick={close} /></header>}
        {children}
      </div>
    </dialog>
  )
}

interface Question { title: string; text: ComponentChildren; yes: string; danger: boolean; answer: (yes: boolean) => void }

const question = signal<Question | null>(null)

/** Asks before something that cannot be taken back. */
export function ask(title: string, text: ComponentChildren, yes: string, danger = true): Promise<boolean> {
  return new Promise((done) => {
    question.value = { title, text, yes, danger, answer: (v) => { question.value = null; done(v) } }
  })
}

interface Toast { id: number; text: ComponentChildren; bad: boolean; action?: { label: string; run: () => void } | undefined }

const toasts = signal<Toast[]>([])
let number = 0

const drop = (id: number): void => {
  toasts.value = toasts.value.filter((t) => t.id !== id)
}

/** Says something shortly; what is bad stays until it is closed. */
export function toast(text: ComponentChildren, o: { bad?: boolean; action?: { label: string; run: () => void } | undefined } | undefined = {}): void {
  const t: Toast = { id: ++number, text, bad: o.bad ?? false, action: o.action }
  toasts.value = [...toasts.value.slice(-3), t]
  if (!t.bad) setTimeout(() => drop(t.id), t.action ? 10_000 : 6000)
}

/** Says what went wrong. */
export function complain(e: unknown, what = ''): void {
  const err = asError(e)
  if (err.status === 401) return // the login page says it
  toast(<><b>{what ? what + ': ' : ''}{what ? err.message : sentence(err.message)}</b>{err.hint && <span class="muted"> {sentence(err.hint)}</span>}</>, { bad: true })
}

/** Puts text on the clipboard. */
export async function copy(text: string, what: string = T.$copied): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast(what)
  } catch {
    toast(T.$theBrowserDoesNotAllow, { bad: true })
  }
}

/** What is shown over the whole page, if anything is. */
export const over = signal<ComponentChildren>(null)

/** Where dialogs and messages of the whole page are; lasting are messages that stay as long as what they tell of. */
export function Overlays({ lasting }: { lasting?: ComponentChildren }) {
  const q = question.value
  return (
    <>
      {over.value}
      {q && (
        <Dialog title={q.title} close={() => q.answer(false)}>
          <div class="dialog-text">{q.text}</div>
          <footer class="dialog-foot">
            <Button onClick={() => q.answer(false)} autoFocus={q.danger}>{T.$cancel}</Button>
            <Button kind={q.danger ? 'danger' : 'main'} onClick={() => q.answer(true)} autoFocus={!q.danger}>{q.yes}</Button>
          </footer>
        </Dialog>
      )}
      <div class="corner">
        {lasting}
        <div class="toasts" role="status" aria-live="polite">
          {toasts.value.map((t) => (
            <div key={t.id} class="toast" data-bad={t.bad || undefined}>
              <Icon name={t.bad ? 'warning' : 'tick'} />
              <div class="toast-text">{t.text}</div>
              {t.action && <Button kind="quiet" onClick={() => { t.action!.run(); drop(t.id) }}>{t.action.label}</Button>}
              <Button kind="quiet" icon="close" aria-label={T.$close} onClick={() => drop(t.id)} />
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

export interface MenuItem { label: ComponentChildren; icon?: IconName; run?: () => void; checked?: boolean; danger?: boolean; refused?: string | undefined; head?: boolean; /** Why it is not as one may expect. */ note?: string | undefined }

/** A button that opens a list of things to do. stays: it does not close at a choice. */
export function Menu({ label, icon, items, children, stays = false, align = 'end', kind = 'plain' }: {
  label: string; icon?: IconName; items: MenuItem[]; children?: ComponentChildren; stays?: boolean; align?: 'start' | 'end'; kind?: 'plain' | 'quiet'
}) {
  const [open, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const id = useId()
  useEffect(() => {
    if (!open) return
    const away = (e: Event): void => {
      if (!box.current?.contains(e.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', away)
    document.addEventListener('focusin', away)
    box.current?.querySelector<HTMLElement>('.menu button:not([aria-disabled])')?.focus()
    return () => {
      document.removeEventListener('pointerdown', away)
      document.removeEventListener('focusin', away)
    }
  }, [open])
  const step = (by: number): void => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>('.menu button') ?? [])]
    const i = all.indexOf(document.activeElement as HTMLElement)
    all[(i + by + all.length) % all.length]?.focus()
  }
  const shut = (): void => {
    setOpen(false)
    box.current?.querySelector<HTMLElement>('button')?.focus()
  }
  return (
    <div class="menu-box" ref={box} onKeyDown={(e) => {
      if (!open) return
      if (e.key === 'ArrowDown') step(1)
      else if (e.key === 'ArrowUp') step(-1)
      else if (e.key === 'Escape') shut()
      else return
      e.preventDefault()
      e.stopPropagation()
    }}>
      <Button kind={kind} {...(icon ? { icon } : {})} aria-label={label} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)} title={label}>
        {children}
      </Button>
      {open && (
        <div class="menu" role="menu" id={id} aria-label={label} data-align={align}>
          {items.map((m, i) => m.head
            ? <div key={i} class="menu-head" role="presentation">{m.label}</div>
            : (
              <button key={i} type="button" role={m.checked === undefined ? 'menuitem' : 'menuitemcheckbox'} aria-checked={m.checked} aria-disabled={m.refused ? true : undefined}
                title={m.refused} data-danger={m.danger || undefined}
                onClick={() => {
                  if (m.refused) return
                  if (!stays) shut()
                  m.run?.()
                }}>
                {m.checked !== undefined ? <span class="menu-mark">{m.checked && <Icon name="tick" size={14} />}</span> : m.icon ? <Icon name={m.icon} /> : null}
                <span>{m.label}</span>
                {m.note && <span class="menu-note">{m.note}</span>}
              </button>
            ))}
        </div>
      )}
    </div>
  )
}
