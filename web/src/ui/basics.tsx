// The small parts that every screen is made of.
import type { ButtonHTMLAttributes, AnchorHTMLAttributes, ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ApiError } from '../api/client'
import { present, useTicking } from '../lib/clock'
import { ago, exact, localTimes, moment, ms } from '../lib/format'
import { go, href, place, plainClick } from '../lib/router'
import { Icon, type IconName } from './icons'
import { T } from '../texts'

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon'> & {
  icon?: IconName
  /** Why it cannot be pressed; it stays where it is and says so. */
  refused?: string | undefined
  kind?: 'plain' | 'main' | 'danger' | 'quiet'
}

/** A button. One without text needs an aria-label, which is its tooltip too. */
export function Button({ icon, refused, kind = 'plain', children, onClick, ...rest }: ButtonProps) {
  const label = rest['aria-label'] as string | undefined
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind} ${children ? '' : 'square'} ${(rest.class as string | undefined) ?? ''}`}
      aria-disabled={refused ? true : undefined}
      title={refused ?? (rest.title as string | undefined) ?? (children ? undefined : label)}
      onClick={refused ? (e) => e.preventDefault() : onClick}
    >
      {icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  )
}

/** A link to another place of the pages. */
export function Link({ to, children, ...rest }: { to: string; children: ComponentChildren } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'role' | 'href'>) {
  return (
    <a
      {...rest}
      href={href(to)}
      onClick={(e) => {
        if (plainClick(e)) {
          e.preventDefault()
          e.stopPropagation()
          go(to)
        }
      }}
    >
      {children}
    </a>
  )
}

/** A moment in local time; the tooltip has it with its zone, and in UTC. at may be milliseconds since 1970. */
export function At({ at, now, seconds = false }: { at: string | number; now: number; seconds?: boolean }) {
  const t = typeof at === 'number' ? new Date(at).toISOString() : at
  return <time dateTime={t} title={exact(t)}>{moment(t, now, seconds)}</time>
}

/** A moment as its age, which goes on; the tooltip has it exactly. */
export function Age({ at, counted = false }: { at: string | undefined | null; /** Of a sentence such as "5m ago", in which there is no "now". */ counted?: boolean }) {
  const text = useTicking((now) => (counted && now - ms(at) < 1000 ? '1s' : ago(at, now)), at)
  return <time dateTime={at ?? undefined} title={exact(at)}>{text}</time>
}

/** The frame of a screen: its heading, what can be done, and what it shows. */
export function Page({ title, sub, actions, children, fill = false, class: more = '' }: {
  title: ComponentChildren; sub?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; fill?: boolean; class?: string
}) {
  return (
    <main id="main" class={`page ${fill ? 'fill' : ''} ${more}`} tabIndex={-1}>
      <header class="page-head">
        <div class="page-title">
          <h1>{title}</h1>
          {sub && <div class="page-sub">{sub}</div>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </main>
  )
}

/** Something framed, with a heading. */
export function Card({ title, aside, children, class: more = '', tone }: { title?: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; class?: string; tone?: 'bad' | 'wait' }) {
  return (
    <section class={'card ' + more} data-tone={tone}>
      {(title || aside) && <header class="card-head"><h2>{title}</h2>{aside && <div class="card-aside">{aside}</div>}</header>}
      {children}
    </section>
  )
}

/** What is shown where there is nothing. */
export function Empty({ icon = 'list', title, children }: { icon?: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  )
}

/** What is shown while something comes: nothing for a moment, then its shape. */
export function Loading({ what = 'Loading', rows = 6 }: { what?: string; rows?: number }) {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const t = setTimeout(() => setLate(true), 150)
    return () => clearTimeout(t)
  }, [])
  return (
    <div class="loading" role="status" aria-label={what}>
      {late && Array.from({ length: rows }, (_, i) => <div key={i} class="bone" />)}
    </div>
  )
}

/** What went wrong, and the next step. */
export function Failure({ error, again }: { error: ApiError; again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" size={20} />
      <div>
        <p class="failure-title">{sentence(error.message)}</p>
        {(error.fields ?? []).length > 1 && <ul>{(error.fields ?? []).map((f) => <li key={f.path}><code>{f.path}</code> {f.problem}</li>)}</ul>}
        {error.hint && <p class="muted">{sentence(error.hint)}</p>}
        {again && <Button onClick={again} icon="restart">{T.$retry}</Button>}
      </div>
    </div>
  )
}

/** Text with a capital at its begin. */
export const sentence = (s: string): string => localTimes(s.charAt(0).toUpperCase() + s.slice(1), present())

/** Tabs, whose choice is kept in the address. */
export function Tabs({ label, tabs, chosen, to }: { label: string; tabs: { id: string; title: string; note?: ComponentChildren }[]; chosen: string; to: (id: string) => string }) {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const [box, at] = [list.current, list.current?.querySelector<HTMLElement>('[aria-selected="true"]')]
    if (box && at && box.scrollWidth > box.clientWidth) box.scrollLeft = at.offsetLeft - box.offsetLeft - (box.clientWidth - at.offsetWidth) / 2 // where there is no room for all, the chosen one is seen
  }, [chosen])
  const move = (by: number): void => {
    const i = tabs.findIndex((t) => t.id === chosen)
    const next = tabs[(i + by + tabs.length) % tabs.length]!
    go(to(next.id), true)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={(e) => {
      if (e.key === 'ArrowRight') move(1)
      else if (e.key === 'ArrowLeft') move(-1)
      else return
      e.preventDefault()
    }}>
      {tabs.map((t) => (
        <a key={t.id} id={'tab-' + t.id} data-tab={t.id} role="tab" aria-selected={t.id === chosen} aria-controls="tabpanel" tabIndex={t.id === chosen ? 0 : -1} href={href(to(t.id))}
          onClick={(e) => {
            if (plainClick(e)) {
              e.preventDefault()
              go(to(t.id), true)
            }
          }}>
          {t.title}{t.note !== undefined && <span class="tab-note">{t.note}</span>}
        </a>
      ))}
    </div>
  )
}

/** Names beside values. */
export function Facts({ of }: { of: ([string, ComponentChildren] | null | false | undefined)[] }) {
  return (
    <dl class="facts">
      {of.filter((f): f is [string, ComponentChildren] => !!f && f[1] !== undefined && f[1] !== null && f[1] !== '' && !(Array.isArray(f[1]) && f[1].length === 0)).map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  )
}

/** A bar of how much of something there is. */
export function Bar({ part, whole, label, tone = 'accent' }: { part: number; whole: number; label: string; tone?: 'accent' | 'running' | 'queued' }) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0
  return <span class="bar" data-tone={tone} role="img" aria-label={label} title={label}><span style={{ width: share * 100 + '%' }} /></span>
}

/** Keys, as they are printed on them. */
export function Keys({ of }: { of: string }) {
  const apple = /Mac|iP(hone|ad)/.test(navigator.platform)
  return <span class="keys">{of.split(' ').map((k) => <kbd key={k}>{k.replace('mod+', apple ? '⌘' : 'Ctrl ').replace('escape', 'Esc').replace('enter', '↵').replace('arrowdown', '↓').replace('arrowup', '↑')}</kbd>)}</span>
}

/** Calls back with the width of an element, whenever it changes. */
export function useWidth<T extends HTMLElement>(): [RefObject<T>, number] {
  const ref = useRef<T>(null) as RefObject<T>
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const el = ref.current
    if (!el) return
    const o = new ResizeObserver(() => setWidth(el.clientWidth))
    o.observe(el)
    setWidth(el.clientWidth)
    return () => o.disconnect()
  }, [])
  return [ref, width]
}

/** Names the window after what it shows. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? title + ' · Muster' : 'Muster'
  }, [title, place.value.path])
}
