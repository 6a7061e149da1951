import type { Workload } from '../../api/types'
import { Button } from '../../ui/basics'
import { copy } from '../../ui/overlay'
import { yaml } from '../../lib/yaml'

/** Its document, after defaults. */
export function Spec({ w }: { w: Workload }) {
  const text = yaml(w.spec ?? {})
  return (
    <div class="spec">
      <div class="toolbar"><Button icon="copy" onClick={() => void copy(text)}>Copy</Button><span class="muted">As it was submitted, with what was filled in. <code>muster run -f</code> takes it.</span></div>
      <pre class="code big" tabIndex={0} aria-label="Document"><code>{text}</code></pre>
    </div>
  )
}
