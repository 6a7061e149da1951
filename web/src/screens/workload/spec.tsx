import type { Workload } from '../../api/types'
import { Button } from '../../ui/basics'
import { copy } from '../../ui/overlay'
import { YAMLLine } from '../../ui/yamlline'
import { yaml } from '../../lib/yaml'
import { phrase, T } from '../../texts'

/** Its document, after defaults. */
export function Spec({ w }: { w: Workload }) {
  const text = yaml(w.spec ?? {})
  return (
    <div class="spec">
      <div class="toolbar"><Button icon="copy" onClick={() => void copy(text)}>{T.$copy}</Button><span class="muted">{phrase(T.$theDocumentAsSubmittedWith, { code: <code>muster run -f</code> })}</span></div>
      <pre class="code big" tabIndex={0} aria-label={T.$document}><code>{text.trimEnd().split('\n').map((l, i) => <YAMLLine key={i} of={l} />)}</code></pre>
    </div>
  )
}
