// The vocabulary of the dialect that was chosen, read once when it is.
import { effect, signal } from '@preact/signals'
import { get } from '../api/client'
import type { Lifecycle, Word } from '../api/types'
import { dialect } from '../lib/prefs'

/** Words of the chosen dialect; none in our own, or as long as they have not come. */
export const vocabulary = signal<Word[]>([])

effect(() => {
  const d = dialect.value
  vocabulary.value = []
  if (d === 'native') return
  get<Lifecycle>('v1/lifecycle?dialect=' + d)
    .then((l) => {
      if (dialect.peek() === d) vocabulary.value = l.words ?? []
    })
    .catch(() => {}) // then words are said without their codes
})

/** What a word of the chosen dialect says of why: a reason, the number that the platform has for the word, and whether it says that resources are held. */
export function wordWhy(status: string | undefined, reason: string | undefined): string {
  const word = vocabulary.value.find((w) => w.status === status)
  return [reason, word?.code !== undefined && 'code ' + word.code, word?.resources && 'resources: ' + word.resources].filter(Boolean).join(', ')
}

/** The words that the chosen dialect may say of a phase, with their codes. */
export const wordsOf = (phase: string): string[] =>
  vocabulary.value.filter((w) => w.phases.includes(phase)).map((w) => w.status + (w.code === undefined ? '' : ` (code ${w.code})`))
