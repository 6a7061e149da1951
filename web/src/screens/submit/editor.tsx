// A field for YAML: numbered lines, colours, and what is wrong at its line. What
// is typed into is a plain text area, above the coloured copy of its text.
import type { FieldProblem } from '../../api/types'
import { sentence } from '../../ui/basics'
import { YAMLLine } from '../../ui/yamlline'
import { T } from '../../texts'

/** The editor of one document. */
export function Editor({ id = 'yaml', label = T.$documentAsYAML, value, onChange, onFile, problems, describedBy }: {
  id?: string; label?: string; value: string; onChange: (text: string) => void
  /** Something was pasted in place of everything. */
  onFile?: (text: string) => void
  problems: FieldProblem[]; describedBy?: string
}) {
  const lines = value.split('\n')
  const wrong = new Map<number, string>()
  for (const p of problems) if (p.line) wrong.set(p.line, (wrong.get(p.line) ? wrong.get(p.line) + '; ' : '') + sentence(p.problem))
  return (
    <div class="editor">
      <div class="editor-sheet">
        <ol class="editor-numbers" aria-hidden="true">{lines.map((_, i) => <li key={i} data-bad={wrong.has(i + 1) || undefined} title={wrong.get(i + 1)}>{i + 1}</li>)}</ol>
        <div class="editor-text">
          <pre aria-hidden="true">{lines.map((l, i) => <div key={i} data-bad={wrong.has(i + 1) || undefined}><YAMLLine of={l} /></div>)}</pre>
          <textarea id={id} value={value} spellcheck={false} autocomplete="off" autocapitalize="off" wrap="off" aria-label={label} aria-invalid={problems.length > 0} aria-describedby={describedBy}
            onInput={(e) => onChange(e.currentTarget.value)}
            onPaste={(e) => {
              const el = e.currentTarget
              const got = e.clipboardData?.getData('text/plain') ?? ''
              if (onFile && got.includes('\n') && el.selectionStart === 0 && el.selectionEnd === el.value.length) {
                e.preventDefault()
                onFile(got)
              }
            }} />
        </div>
      </div>
    </div>
  )
}

/** Puts the caret of the editor into a line. */
export function toLine(n: number): void {
  const el = document.getElementById('yaml')
  if (!(el instanceof HTMLTextAreaElement)) return
  const lines = el.value.split('\n')
  const from = lines.slice(0, n - 1).reduce((sum, l) => sum + l.length + 1, 0)
  el.focus()
  el.setSelectionRange(from, from + (lines[n - 1] ?? '').length)
}
