import { useRef, useState } from 'preact/hooks'
import type { ConvertNote } from '../../api/types'
import { plural } from '../../lib/format'
import { Button, Card, sentence } from '../../ui/basics'
import { Icon, type IconName } from '../../ui/icons'
import { Editor } from './editor'
import { conversion, convert, type Conversion } from './state'
import { phrase, T } from '../../texts'

/** The box that takes any file. */
export function PasteBox() {
  const file = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState('')
  return (
    <div class="paste">
      <Icon name="upload" size={20} />
      <div class="paste-field">
        <label for="paste">{T.$haveAFileForAnotherSystem}</label>
        <textarea id="paste" rows={1} value={typed} spellcheck={false} placeholder={T.$pasteItHereOrDropIt}
          onPaste={(e) => {
            const got = e.clipboardData?.getData('text/plain') ?? ''
            if (!got.trim()) return
            e.preventDefault()
            void convert(got, T.$thePastedText)
          }}
          onInput={(e) => setTyped(e.currentTarget.value)} />
      </div>
      {typed.trim() && <Button kind="main" onClick={() => { void convert(typed, T.$theText); setTyped('') }}>{T.$convert}</Button>}
      <Button onClick={() => file.current?.click()}>{T.$chooseAFile}</Button>
      <input ref={file} type="file" hidden aria-label={T.$fileToConvert} onChange={(e) => {
        const f = e.currentTarget.files?.[0]
        if (f) void f.text().then((t) => convert(t, f.name))
        e.currentTarget.value = ''
      }} />
    </div>
  )
}

const names: Record<string, string> = { muster: 'Muster', kubernetes: 'Kubernetes', sbatch: 'sbatch', mcli: 'mcli', runai: 'Run:ai', skypilot: 'SkyPilot', dstack: 'dstack' }
const looks: Record<string, [IconName, string]> = { kept: ['tick', 'completed'], translated: ['tick', 'running'], approximated: ['triangle', 'degraded'], ignored: ['noentry', 'stopped'], refused: ['cross', 'failed'] }
const fates: Record<string, string> = { refused: T.$rejected, approximated: T.$approximated, ignored: T.$ignored, translated: T.$translated, kept: T.$kept }
const order = ['refused', 'approximated', 'ignored', 'translated', 'kept']

/** What became of each part of a file. */
export function Notes() {
  const c = conversion.value
  const [all, setAll] = useState(false)
  if (!c) return null
  const counts = new Map<string, number>()
  for (const n of c.notes) counts.set(n.fate, (counts.get(n.fate) ?? 0) + 1)
  const worth = c.notes.filter((n) => n.lossy || n.fate === 'refused' || n.fate === 'approximated')
  const shown = all || worth.length === 0 ? c.notes : worth
  if (c.problem) return <Refusal c={c} />
  return (
    <Card class="notes" title={phrase(T.$convertedOfFromMore, { of: c.of, more: names[c.format] ?? c.format })} aside={<Button kind="quiet" icon="close" aria-label={T.$closeTheNotes} onClick={() => (conversion.value = null)} />}>
      <p class="note-counts">{order.filter((f) => counts.has(f)).map((f) => <span key={f} class="status plain" data-tone={looks[f]![1]}><Icon name={looks[f]![0]} size={14} />{counts.get(f)} {fates[f]}</span>)}{c.notes.length === 0 && <span class="muted">{T.$everythingWasKeptAsItIs}</span>}</p>
      {shown.length > 0 && (
        <div class="scroll-x" tabIndex={0} role="region" aria-label={T.$resultForEachPart}>
          <table class="plain">
            <thead><tr><th scope="col">{T.$line}</th><th scope="col">{T.$input}</th><th scope="col">{T.$result}</th><th scope="col">{T.$reason}</th></tr></thead>
            <tbody>{shown.map((n, i) => <Note key={i} n={n} />)}</tbody>
          </table>
        </div>
      )}
      {worth.length > 0 && worth.length < c.notes.length && <Button kind="quiet" onClick={() => setAll(!all)}>{all ? T.$onlyChangesOfMeaning : phrase(T.$showAllList, { list: c.notes.length })}</Button>}
    </Card>
  )
}

function Note({ n }: { n: ConvertNote }) {
  const [icon, tone] = looks[n.fate] ?? ['info', 'stopped']
  return (
    <tr>
      <td class="muted">{n.line ? (n.last && n.last !== n.line ? `${n.line}–${n.last}` : n.line) : ''}</td>
      <td><code class="clip" title={n.value}>{n.field}{n.value ? ' ' + n.value : ''}</code></td>
      <td><span class="status plain" data-tone={tone}><Icon name={icon} size={14} />{n.fate}</span>{n.to && <> <code>{n.to}</code></>}</td>
      <td class="why-cell">{n.reason}</td>
    </tr>
  )
}

function Refusal({ c }: { c: Conversion }) {
  const lines = c.source.split('\n')
  const again = (): void => void convert(c.source, c.of)
  const errors = c.problem!.fields ?? []
  return (
    <Card class="notes" tone="bad" title={phrase(T.$couldNotConvertOf, { of: c.of })} aside={<Button kind="quiet" icon="close" aria-label={T.$closeTheNotes} onClick={() => (conversion.value = null)} />}>
      <ul class="wrongs" role="alert">
        {errors.length === 0 && <li><span>{sentence(c.problem!.message)}</span><span class="muted">{sentence(c.problem!.hint)}</span></li>}
        {errors.map((e, i) => (
          <li key={i}>
            {e.line ? <span><span class="muted">{phrase(T.$lineLine, { line: e.line })}</span> <code>{(lines[e.line - 1] ?? '').trim().slice(0, 80)}</code></span> : e.path ? <code>{e.path}</code> : null}
            <span>{sentence(e.problem)}</span>
            {e.hint && <span class="muted">{sentence(e.hint)}</span>}
          </li>
        ))}
      </ul>
      <Editor id="refused" label={c.of} value={c.source} onChange={(source) => (conversion.value = { ...c, source })} problems={errors} />
      <p class="refused-again"><Button kind="main" onClick={again}>{T.$convertAgain}</Button></p>
      {errors.length > 0 && <p class="muted">{phrase(T.$problemsTheDocumentBelowIs, { problems: plural(errors.length, T.$nProblems) })}</p>}
    </Card>
  )
}
