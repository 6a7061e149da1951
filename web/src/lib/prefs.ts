import { effect, signal, type Signal } from '@preact/signals'

const head = 'muster.'

/** A signal that this browser remembers, or this tab alone. What is stored is checked by valid. */
export function remembered<T>(name: string, usual: T, valid: (v: unknown) => v is T, where: () => Storage = () => localStorage): Signal<T> {
  let first = usual
  try {
    const text = where().getItem(head + name)
    const v: unknown = text === null ? undefined : JSON.parse(text)
    if (valid(v)) first = v
  } catch {
    // Storage may be forbidden, or hold something else: then it is as usual.
  }
  const s = signal(first)
  let begun = false
  effect(() => {
    const v = s.value
    if (!begun) {
      begun = true
      return
    }
    try {
      where().setItem(head + name, JSON.stringify(v))
    } catch {
      // It holds until the page is closed.
    }
  })
  return s
}

/** Whether a value is one of a few words. */
export const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (v: unknown): v is T =>
    typeof v === 'string' && (words as readonly string[]).includes(v)

/** Whether a value is a list of texts. */
export const texts = (v: unknown): v is string[] => Array.isArray(v) && v.every((x) => typeof x === 'string')

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** Light, dark, or as the system has it. */
export const theme = remembered<Theme>('theme', 'system', oneOf(...themes))

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})

export const dialects = ['native', 'runai-workload', 'runai-job', 'jobq', 'mcli', 'modelarts'] as const
export type Dialect = (typeof dialects)[number]

/** In whose words states are said. */
export const dialect = remembered<Dialect>('dialect', 'native', oneOf(...dialects))

/** The language of the texts: system is the browser's. */
export const languages = ['system', 'en', 'de'] as const
export type Language = (typeof languages)[number]
export const language = remembered<Language>('language', 'system', oneOf(...languages))

/** What people call each dialect. */
export const dialectNames: Record<Dialect, string> = {
  native: 'Muster', 'runai-workload': 'Run:ai workloads', 'runai-job': 'Run:ai jobs', jobq: 'jobq', mcli: 'mcli', modelarts: 'ModelArts',
}
