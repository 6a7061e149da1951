// Keys of the whole page. A component says what a key does while it is there;
// what was said last comes first.
import { useEffect, useRef } from 'preact/hooks'

export interface Binding {
  /** Like "j", "?", "g w" or "mod+k". */
  keys: string
  /** What it does, for the list of keys. */
  does: string
  run: (e: KeyboardEvent) => void
  /** Works in fields too. */
  inFields?: boolean
}

let bindings: Binding[] = []
let prefix = ''
let prefixTimer: ReturnType<typeof setTimeout> | undefined

/** Every binding there is now, for the list of keys. */
export const bound = (): readonly Binding[] => bindings

/** Binds keys until the returned function is called. */
export function bind(...more: Binding[]): () => void {
  bindings = [...more, ...bindings]
  return () => {
    bindings = bindings.filter((b) => !more.includes(b))
  }
}

/** Binds keys while a component is there; run sees the newest closure. */
export function useKeys(make: () => Binding[]): void {
  const latest = useRef(make)
  latest.current = make
  useEffect(() => {
    const stable = make().map((b) => ({
      ...b,
      run: (e: KeyboardEvent) => latest.current().find((x) => x.keys === b.keys)?.run(e),
    }))
    return bind(...stable)
  }, [])
}

function isField(t: EventTarget | null): boolean {
  return t instanceof HTMLElement && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName) && !(t instanceof HTMLInputElement && t.type === 'checkbox'))
}

/** Whether Enter is for what has the focus itself. */
const answers = (t: EventTarget | null): boolean => t instanceof Element && !!t.closest('a,button,summary,[role=button],[role=tab],[role^=menuitem]')

addEventListener('keydown', (e) => {
  if (e.isComposing || e.defaultPrevented) return
  const field = isField(e.target)
  if (document.querySelector('dialog[open]') && !(e.metaKey || e.ctrlKey)) return // a dialog has the keys
  let name = e.key.length === 1 ? e.key : e.key.toLowerCase()
  if (e.metaKey || e.ctrlKey) name = 'mod+' + name.toLowerCase()
  else if (e.altKey) return
  const sequence = prefix ? prefix + ' ' + name : name
  clearTimeout(prefixTimer)
  prefix = ''
  if (sequence === 'enter' && answers(e.target)) return
  const hit = bindings.find((b) => b.keys === sequence && (!field || b.inFields))
  if (hit) {
    e.preventDefault()
    hit.run(e)
    return
  }
  if (!field && bindings.some((b) => b.keys.startsWith(sequence + ' '))) {
    prefix = sequence
    prefixTimer = setTimeout(() => (prefix = ''), 1500)
  }
})
