import { useState } from 'preact/hooks'
import { apiURL } from '../api/client'
import { shell } from '../lib/format'
import { session } from '../live/store'
import { Button } from './basics'
import { copy, Dialog } from './overlay'
import { T } from '../texts'

/** The same thing said in three languages. */
export interface Said { cli: string; python: string; curl: string }

/** A curl command for a path of the API, as whoever asks would have to write it. */
export function curl(path: string, o: { method?: string; json?: unknown } = {}): string {
  const local = session.value?.by === 'socket'
  const parts = ['curl -sS']
  if (!local) parts.push(`-H "Authorization: Bearer $MUSTER_TOKEN"`)
  if (o.method && o.method !== 'GET') parts.push('-X ' + o.method)
  if (o.json !== undefined) parts.push(`-H 'Content-Type: application/json' -d ${shell(JSON.stringify(o.json))}`)
  parts.push(`'${location.origin}${apiURL(path).replaceAll("'", '%27')}'`)
  return parts.join(' \\\n  ')
}

const languages = [['cli', T.$shell], ['python', 'Python'], ['curl', 'curl']] as const

/** A button that shows how to do by command what the page shows or does. */
export function CopyAs({ of }: { of: () => Said }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button icon="code" onClick={() => setOpen(true)} aria-haspopup="dialog" aria-label={T.$copyAsACommand}>{T.$copyAs}</Button>
      {open && <Dialog title={T.$equivalentCommand} close={() => setOpen(false)} class="copyas"><Commands said={of()} /></Dialog>}
    </>
  )
}

/** Commands in the language that is chosen, to be copied. */
export function Commands({ said }: { said: Said }) {
  const [which, choose] = useState<keyof Said>('cli')
  return (
    <>
      <div class="segments" role="group" aria-label={T.$language}>
        {languages.map(([id, name]) => <button key={id} type="button" aria-pressed={which === id} onClick={() => choose(id)}>{name}</button>)}
      </div>
      <pre class="code" tabIndex={0} aria-label={T.$command}><code>{said[which]}</code></pre>
      <footer class="dialog-foot"><Button kind="main" icon="copy" onClick={() => void copy(said[which])}>{T.$copy}</Button></footer>
    </>
  )
}
