import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'

/** How far the server's clock is ahead of this browser's, in milliseconds. */
export const skew = signal(0)

/** The server's present, so that a browser whose clock is wrong shows right ages. */
export const present = (): number => Date.now() + skew.peek()

/**
 * The present, once a second while the page is seen. Components that read it are
 * drawn again then; nothing else runs while a page rests.
 */
export const now = signal(Date.now())

/**
 * A text that depends on the present, to be put into an element as it is: when
 * it changes only that text is exchanged, and no component is drawn again.
 */
export function useTicking(text: (now: number) => string, ...on: unknown[]): ReadonlySignal<string> {
  return useMemo(() => computed(() => text(now.value)), on)
}

/** Set where what is shown is old: its ages stand still, as nobody knows what has become of it. */
export const held = signal(false)

/** Goes on each second that the page is seen, whatever is held. */
export const second = signal(0)

let timer: ReturnType<typeof setTimeout> | undefined

function tick(): void {
  clearTimeout(timer)
  if (document.hidden) return
  second.value++
  if (!held.peek()) now.value = present()
  timer = setTimeout(tick, 1000 - (Date.now() % 1000) + 5)
}

document.addEventListener('visibilitychange', tick)
tick()
