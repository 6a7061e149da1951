import { signal } from '@preact/signals'
import { bound } from '../lib/keys'
import { Keys } from '../ui/basics'
import { Dialog } from '../ui/overlay'
import { T } from '../texts'

export const helpOpen = signal(false)

/** What each key does at present. */
export function Help() {
  const seen = new Set<string>()
  const all = bound().filter((b) => !seen.has(b.keys) && seen.add(b.keys))
  const going = all.filter((b) => b.keys.startsWith('g '))
  const here = all.filter((b) => !b.keys.startsWith('g '))
  const list = (bs: typeof all) => <dl class="keylist">{bs.map((b) => <div key={b.keys}><dt><Keys of={b.keys} /></dt><dd>{b.does}</dd></div>)}</dl>
  return (
    <Dialog title={T.$keyboardShortcuts} close={() => (helpOpen.value = false)}>
      <div class="help">
        <section><h3>{T.$onThisPage}</h3>{list(here)}</section>
        <section><h3>{T.$goTo}</h3>{list(going)}</section>
      </div>
    </Dialog>
  )
}
