import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { dialect, dialectNames, dialects } from '../lib/prefs'
import { languageChoices, themeChoices } from './choices'
import { later } from '../lib/later'
import type { Row } from '../api/types'
import { go, place, query, workloadPath } from '../lib/router'
import { allRows, cluster, rowNamed } from '../live/store'
import { Icon, type IconName } from '../ui/icons'
import { Dialog } from '../ui/overlay'
import { Status } from '../ui/status'
import { acts, fit, inHand, perform, refusal, several, type Act } from '../work/acts'
import { decide } from '../work/remedy'
import { helpOpen } from './help'
import { places } from './shell'
import { phrase, T } from '../texts'

export const paletteOpen = signal(false)

interface Item { id: string; label: string; hint?: ComponentChildren; icon: IconName; run: () => void }

/** How well letters match, in order but not necessarily side by side; 0: not. */
export function score(text: string, want: string): number {
  const t = text.toLowerCase()
  const at = t.indexOf(want)
  if (at >= 0) return 1000 - at - t.length / 100 + (at === 0 ? 200 : 0)
  let i = 0
  let gaps = 0
  for (const c of want) {
    const j = t.indexOf(c, i)
    if (j < 0) return 0
    gaps += j - i
    i = j + 1
  }
  return Math.max(1, 300 - gaps * 4)
}

/** The row of a list in which somebody is, as the path of its workload; empty: none. */
const focused = (): string => new URL((document.activeElement?.closest('tr')?.querySelector('.row-link') as HTMLAnchorElement | null)?.href ?? location.href).pathname

/** The workload whose page is shown, why it waits, or in whose row one is. */
function oneAtHand(focus: string): Row | undefined {
  const why = place.value.path === 'queue' ? query.value.get('why') : null
  const [, project, name] = (why ? ['', ...why.split('/').map(encodeURIComponent)] : /(?:^|\/)workloads\/([^/]+)\/([^/]+)$/.exec(place.value.path) ?? /\/workloads\/([^/]+)\/([^/]+)$/.exec(focus)) ?? []
  return project && name ? rowNamed(decodeURIComponent(project), decodeURIComponent(name)) : undefined
}

/** What can be done with those that are chosen in a list. */
function chosenAtHand(): Item[] {
  const hint = <span class="muted">{several(inHand.value)}</span>
  return Object.values(acts).filter((a) => fit(a, inHand.value).length > 0).map((a: Act) => ({ id: 'act-' + a.id, label: a.label, hint, icon: a.icon, run: () => void perform(a, inHand.value) }))
}

/** What can be done with the workload at hand. */
function atHand(focus: string): Item[] {
  if (inHand.value.length > 0) return chosenAtHand()
  const w = oneAtHand(focus)
  if (!w) return []
  const to = (tab: string): void => go(workloadPath(w.project, w.name, tab))
  const hint = <span class="muted">{w.name}</span>
  const at = encodeURIComponent(w.project) + '/' + encodeURIComponent(w.name)
  const may = (id: string): boolean => !refusal({ id }, w)
  const all: (Item | false)[] = [
    ...Object.values(acts).map((a: Act) => may(a.id) && { id: 'act-' + a.id, label: a.label, hint, icon: a.icon, run: () => void perform(a, [w]) }),
    may('approve') && { id: 'act-approve', label: T.$approve, hint, icon: 'tick', run: () => void decide(w, true) },
    may('reject') && { id: 'act-reject', label: T.$reject, hint, icon: 'close', run: () => void decide(w, false) },
    may('change') && { id: 'act-change', label: T.$priorityAndLimits, hint, icon: 'gear', run: () => later((l) => l.changeForm([w])) },
    may('revise') && { id: 'act-revise', label: T.$editAndRestart, hint, icon: 'code', run: () => go('submit?revise=' + at) },
    { id: 'act-copy', label: T.$copyAndEdit, hint, icon: 'copy', run: () => go('submit?from=' + at) },
    { id: 'act-logs', label: T.$logs, hint, icon: 'list', run: () => to('logs') },
    { id: 'act-metrics', label: T.$metrics, hint, icon: 'chart', run: () => to('metrics') },
  ]
  return all.filter((i): i is Item => !!i)
}

function items(want: string, focus: string): Item[] {
  const here = atHand(focus)
  const fixed: Item[] = [
    ...places.map((s): Item => ({ id: 'go-' + s.path, label: phrase(T.$goToLabel, { label: s.nav!.label }), icon: s.nav!.icon, run: () => go(s.path) })),
    ...themeChoices().map((c): Item => ({ ...c, id: 'theme-' + c.id, label: phrase(T.$themeTheme, { theme: c.label }) })),
    ...languageChoices().map((c): Item => ({ ...c, id: 'language-' + c.id, label: phrase(T.$languageName, { name: c.label }) })),
    ...dialects.map((d): Item => ({ id: 'dialect-' + d, label: phrase(T.$wordsOfDialectNames, { dialectNames: dialectNames[d] }), icon: 'info', run: () => (dialect.value = d) })),
    { id: 'keys', label: T.$keyboardShortcuts, icon: 'keyboard', run: () => (helpOpen.value = true) },
  ]
  if (!want) {
    const recent = allRows().sort((a, b) => b.number - a.number).slice(0, 5)
    return [...here, ...fixed.slice(0, places.length), ...recent.map(ofRow), ...fixed.slice(places.length)]
  }
  const hits = fixed.map((i): [number, Item] => [score(i.label, want), i]).filter(([n]) => n > 0)
  for (const i of here) {
    const n = score(i.label, want)
    if (n > 0) hits.push([n + 100, i])
  }
  const find = (id: string, label: string, icon: IconName, what: string, to: string): void => {
    const n = score(label, want)
    if (n > 0) hits.push([n, { id: id + label, label, icon, hint: <span class="muted">{what}</span>, run: () => go(to + encodeURIComponent(label)) }])
  }
  for (const p of cluster.value?.projects ?? []) find('project-', p.name, 'people', T.$project, 'projects/')
  for (const x of cluster.value?.nodes ?? []) find('node-', x.name, 'node', T.$node, 'nodes/')
  for (const r of allRows()) {
    const n = Math.max(score(r.name, want), score(r.project + '/' + r.name, want) - 50)
    if (n > 0) hits.push([n + 5, ofRow(r)])
  }
  return hits.sort((a, b) => b[0] - a[0]).slice(0, 40).map(([, i]) => i)
}

const ofRow = (r: ReturnType<typeof allRows>[number]): Item => ({
  id: r.id, label: r.name, icon: 'list', hint: <><span class="muted">{r.project}</span><Status of={r} plain /></>, run: () => go(workloadPath(r.project, r.name)),
})

/** One field from which everything can be reached. */
export function Palette() {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [focus] = useState(focused) // before the dialog has it
  const list = useRef<HTMLUListElement>(null)
  const all = items(text.trim().toLowerCase(), focus)
  const close = (): void => {
    paletteOpen.value = false
  }
  const run = (i: Item | undefined): void => {
    close()
    i?.run()
  }
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' })
  }, [at])
  return (
    <Dialog title={T.$find} close={close} bare class="palette">
      <div class="palette-field">
        <Icon name="search" />
        <input type="text" autoFocus value={text} placeholder={T.$workloadPageOrAction} aria-label={T.$find} role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={all[at] ? 'palette-' + at : undefined}
          spellcheck={false} autocomplete="off"
          onInput={(e) => { setText(e.currentTarget.value); setAt(0) }}
          onKeyDown={(e) => {
            if (e.key === 'ArrowDown') setAt(Math.min(all.length - 1, at + 1))
            else if (e.key === 'ArrowUp') setAt(Math.max(0, at - 1))
            else if (e.key === 'Enter') run(all[at])
            else return
            e.preventDefault()
          }} />
      </div>
      <ul class="palette-list" role="listbox" id="palette-list" aria-label={T.$results} ref={list}>
        {all.map((i, n) => (
          <li key={i.id} id={'palette-' + n} role="option" aria-selected={n === at} onMouseMove={() => at !== n && setAt(n)} onClick={() => run(i)}>
            <Icon name={i.icon} /><span class="palette-label">{i.label}</span>{i.hint && <span class="palette-hint">{i.hint}</span>}
          </li>
        ))}
        {all.length === 0 && <li class="palette-none" role="presentation">{phrase(T.$noMatchesForText, { text })}</li>}
      </ul>
    </Dialog>
  )
}
