// What a browser may choose of how the pages look and speak.
import { language, languages, theme, themes, type Language, type Theme } from '../lib/prefs'
import { languageNames, T } from '../texts'
import type { IconName } from '../ui/icons'

interface Choice { id: string; label: string; icon: IconName; checked: boolean; run: () => void }

const themeIcons: Record<Theme, IconName> = { system: 'screen', light: 'sun', dark: 'moon' }

export const themeNames: Record<Theme, string> = { system: T.$system, light: T.$light, dark: T.$dark }

/** Light, dark, or as the system has it. */
export const themeChoices = (): Choice[] => themes.map((t) => ({ id: t, label: themeNames[t], icon: themeIcons[t], checked: theme.value === t, run: () => (theme.value = t) }))

const speak = (l: Language): void => {
  if (l === language.value) return
  language.value = l
  location.reload() // texts are read once, when the pages begin
}

/** The languages, each by its own name. */
export const languageChoices = (): Choice[] => languages.map((l) => ({ id: l, label: languageNames[l] ?? T.$asTheBrowser, icon: 'info', checked: language.value === l, run: () => speak(l) }))
