// The texts of the pages in the language of this browser. The server's own
// sentences (reasons, errors, messages of workloads) and tokens of the API
// (phases, kinds, fields of documents) come as they are, in English.
import type { ComponentChildren } from 'preact'
import { language as wanted } from '../lib/prefs'
import { en } from './en'

/** Every text by its key; each language has all of them. */
export type Texts = { readonly [K in keyof typeof en]: string }

/** The languages there are, each by its own name; all but English come when they are wanted. */
const others: Record<string, () => Promise<Texts>> = { de: () => import('./de').then((m) => m.de) }
export const languageNames: Record<string, string> = { en: 'English', de: 'Deutsch' }

/** The language in use: the one that was chosen, or the first of the browser's that there is. */
export const language: string = [wanted.peek(), ...navigator.languages].map((l) => l.split('-')[0]!).find((l) => l in languageNames) ?? 'en'

/** How dates are written. */
export const locale = language === 'en' ? 'en-GB' : language

/** The texts. The type is that of the English ones, so that the placeholders of each are known. */
export const T = ((await others[language]?.().catch(() => undefined)) ?? en) as typeof en

document.documentElement.lang = language

/** The names of the placeholders of a text. */
type Names<S extends string> = S extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never

/** A text with its placeholders filled in. With elements among the values it is a list to be drawn, otherwise a string. */
export function phrase<S extends string>(text: S, values: Record<Names<S>, string | number | false | undefined>): string
export function phrase<S extends string>(text: S, values: Record<Names<S>, ComponentChildren>): ComponentChildren
export function phrase(text: string, values: Record<string, unknown>): unknown {
  const parts = text.split(/[{}]/).map((part, i) => (i % 2 === 0 ? part : (values[part] || values[part] === 0) ? values[part] : ''))
  return parts.some((p) => typeof p === 'object') ? parts : parts.join('')
}

const rules = new Intl.PluralRules(language)
const forms = rules.resolvedOptions().pluralCategories

/** Which of the forms of a text, which | separates, is that of a number. */
export const formOf = (text: string, n: number): string => {
  const all = text.split('|')
  return all[Math.min(forms.indexOf(rules.select(n)), all.length - 1)]!
}
