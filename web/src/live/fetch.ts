// What is read of the API beside the rows and the overview: once, and anew when the
// stream says that something has happened, or beats. No timer asks, and no
// reading is given up because another one is due.
import { computed, effect, untracked } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { asError, get, type ApiError } from '../api/client'
import { cluster, phases, rowsVersion, waits } from './store'
import { lastHeard, streamState } from './stream'

const pause = 2000 // ms between two readings at least
const restful = 9 // how many times as long as a reading took is rested after it

/** What makes something be read anew: a value of signals that has become another one. */
export type Wake = 'changes' | 'beat' | 'never' | (() => unknown)

const wakes: Record<string, () => unknown> = {
  changes: () => [rowsVersion.value, cluster.value, phases.value, waits.value],
  beat: () => lastHeard.value,
  never: () => 0,
}

export interface Live<T> { data: T | null; error: ApiError | null; again: () => void }

/** Something of the API for as long as it is shown. beat: as time goes on, too. */
export const useLive = <T>(path: string | null, wake: Wake = 'changes', atLeast = pause, old?: (have: T) => boolean): Live<T> =>
  useReading(path, (signal) => get<T>(path!, signal), wake, atLeast, old)

/**
 * The same of what takes more than one GET; key says what it is, null: nothing.
 * Between two readings are atLeast ms, and nine times as long as one took. Where
 * old is given, who is woken reads only if it says so of what there is.
 */
export function useReading<T>(key: string | null, read: (signal: AbortSignal) => Promise<T>, wake: Wake = 'changes', atLeast = pause, old?: (have: T) => boolean): Live<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: ApiError | null }>({ key: '', data: null, error: null })
  const [tries, setTries] = useState(0)
  const latest = useRef(read)
  latest.current = read
  useEffect(() => {
    if (key === null) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let next = 0
    let busy = false
    let wanted = false
    let failed = false
    let have: T | undefined
    const once = async (): Promise<void> => {
      timer = undefined
      busy = true
      wanted = false
      const begun = performance.now()
      try {
        const data = (have = await latest.current(abort.signal))
        failed = false
        if (!abort.signal.aborted) setState({ key, data, error: null })
      } catch (e) {
        failed = true
        if (!abort.signal.aborted) setState((s) => ({ key, data: same(s.key, key) ? s.data : null, error: asError(e) }))
      }
      busy = false
      next = performance.now() + Math.max(atLeast, (performance.now() - begun) * restful)
      if (wanted) plan()
    }
    const plan = (): void => {
      wanted = true
      if (document.hidden && have !== undefined) return // it is read once it is seen
      if (busy || timer !== undefined || abort.signal.aborted || (!failed && old && have !== undefined && !old(have))) return
      timer = setTimeout(() => void once(), Math.max(0, next - performance.now()))
    }
    const seen = (): void => {
      if (wanted) plan()
    }
    document.addEventListener('visibilitychange', seen)
    const woken = computed(typeof wake === 'string' ? wakes[wake]! : wake)
    const ends = [
      effect(() => {
        void woken.value
        untracked(plan)
      }),
      effect(() => {
        if (streamState.value === 'live' && failed) untracked(plan) // the server is there again
      }),
    ]
    return () => {
      for (const end of ends) end()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', seen)
      abort.abort()
    }
  }, [key, tries])
  // What is of another query is kept while the same thing is asked for otherwise.
  const mine = key !== null && same(state.key, key)
  return { data: mine ? state.data : null, error: mine ? state.error : null, again: () => setTries((n) => n + 1) }
}

const same = (a: string, b: string): boolean => a.split('?')[0] === b.split('?')[0]
