// The vocabulary of the dialect that was chosen, read once when it is.
import { effect, signal } from '@preact/signals'
import { get, params, workloadURL } from '../api/client'
import type { Lifecycle, Transition, TransitionList, Word, Workload } from '../api/types'
import { dialect } from '../lib/prefs'
import { useLive } from './fetch'
import { rowNamed } from './store'
import { phrase, T } from '../texts'

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

/** A word of the vocabulary; one with A/B in it stands for all numbers in their place. */
const entry = (status: string | undefined): Word | undefined => vocabulary.value.find((w) => w.status === status?.replace(/^Init:\d+\/\d+$/, 'Init:A/B'))

/** Whether the chosen dialect has a word. */
export const spoken = (word: string): boolean => entry(word) !== undefined

/** The colour that the platform gives a word, as #rrggbb; empty where it has none. */
export const colourOf = (status: string): string => entry(status)?.color ?? ''

/** What a word of the chosen dialect says of why: a reason, the number that the platform has for the word, and whether it says that resources are held. */
export function wordWhy(status: string | undefined, reason: string | undefined): string {
  const word = entry(status)
  return [reason, word?.code !== undefined && phrase(T.$codeCode, { code: word.code }), word?.resources && phrase(T.$resourcesResources, { resources: word.resources })].filter(Boolean).join(', ')
}

/** The words that the chosen dialect may say of a phase, with their codes. */
export const wordsOf = (phase: string): string[] =>
  vocabulary.value.filter((w) => w.phases.includes(phase)).map((w) => w.status + (w.code === undefined ? '' : phrase(T.$codeCode2, { code: w.code })))

/** The history of a workload with the words of the chosen dialect, once they have come. */
export function useHistory(w: Workload): Transition[] {
  const d = dialect.value
  const { data } = useLive<TransitionList>(d === 'native' ? null : workloadURL(w.project, w.name) + '/transitions' + params({ dialect: d, limit: 10_000 }), () => rowNamed(w.project, w.name)?.revision, 200)
  if (d === 'native' || !data) return w.transitions
  const words = new Map(data.items.map((t) => [t.seq, t.word]))
  return w.transitions.map((t) => ({ ...t, word: words.get(t.seq) ?? '' }))
}
