import { useState } from 'preact/hooks'
import { send } from '../../api/client'
import type { Secret, SecretList } from '../../api/types'
import { useLive } from '../../live/fetch'
import { Age, Button, Empty, Failure, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask, complain, toast } from '../../ui/overlay'
import { python } from '../../work/acts'
import { Ask, type Input, type Values } from '../../ui/ask'

interface Part { name: string; needed?: boolean; file?: boolean }
interface Kind { about: string; values: Part[]; fields: Part[] }

const path: Part = { name: 'path' }
const file = (name: string, needed = true): Part => ({ name, needed, file: true })

/** What each type of secret is made of. */
const kinds: Record<string, Kind> = {
  env: { about: 'a variable of the tasks', values: [{ name: 'value', needed: true }], fields: [{ name: 'variable', needed: true }] },
  mounted: { about: 'a file that tasks see', values: [file('value')], fields: [path] },
  docker: { about: 'user and password of an image registry', values: [{ name: 'password', needed: true }], fields: [{ name: 'username', needed: true }, { name: 'server' }] },
  ssh: { about: 'a private key', values: [file('key')], fields: [path] },
  'git-ssh': { about: 'a private key that git uses', values: [file('key')], fields: [path] },
  'sftp-ssh': { about: 'a private key that Composer uses', values: [file('key'), file('known-hosts', false)], fields: [path] },
  s3: { about: 'files for AWS and what speaks its protocol', values: [file('config'), file('credentials')], fields: [path] },
  gcp: { about: 'a credentials file of Google Cloud', values: [file('credentials')], fields: [path] },
  oci: { about: 'files for Oracle Cloud', values: [file('config'), file('key')], fields: [path] },
  databricks: { about: 'host and token of a workspace', values: [{ name: 'token', needed: true }], fields: [{ name: 'host', needed: true }] },
  hf: { about: 'a token of Hugging Face', values: [{ name: 'token', needed: true }], fields: [] },
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

/** Secrets of whoever looks: names and types, never values. */
export function Secrets() {
  const { data, error, again } = useLive<SecretList>('v1/secrets', 'never')
  const [making, setMaking] = useState(false)
  if (error && !data) return <Failure error={error} again={again} />
  if (!data) return <Loading what="Loading secrets" rows={3} />
  return (
    <>
      <div class="toolbar">
        <span class="muted">Yours alone. What they hold is sealed, and cannot be read again.</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster secret list', python: python('client.request("GET", "/v1/secrets")'), curl: curl('v1/secrets') })} />
          <Button kind="main" onClick={() => setMaking(true)}>New secret</Button>
        </div>
      </div>
      {data.items.length === 0 ? <Empty icon="check" title="You have no secrets"><p>Tokens and keys that workloads need are kept here, so that no document has to hold them.</p></Empty> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label="Secrets">
          <table class="plain rows">
            <thead><tr><th scope="col">Secret</th><th scope="col">Type</th><th scope="col">Not secret</th><th scope="col">Given to</th><th scope="col">Made</th><th scope="col"><span class="sr">Acts</span></th></tr></thead>
            <tbody>{data.items.map((s) => <Row key={s.name} s={s} again={again} />)}</tbody>
          </table>
        </div>
      )}
      {making && <Make close={() => setMaking(false)} done={again} />}
    </>
  )
}

function Row({ s, again }: { s: Secret; again: () => void }) {
  const remove = async (): Promise<void> => {
    if (!(await ask(`Delete secret ${s.name}?`, <p>Tasks that have it keep it. New ones that ask for it do not start.</p>, 'Delete'))) return
    try {
      await send('DELETE', 'v1/secrets/' + encodeURIComponent(s.name))
      toast(`Deleted ${s.name}`)
      again()
    } catch (e) {
      complain(e)
    }
  }
  return (
    <tr>
      <th scope="row">{s.name}</th>
      <td><span class="label">{s.type}</span> <span class="muted">{kinds[s.type]?.about}</span></td>
      <td>{Object.entries(s.fields ?? {}).map(([k, v]) => <span key={k} class="secret-field"><span class="muted">{k}</span> {v}</span>)}{!Object.keys(s.fields ?? {}).length && <span class="none">–</span>}</td>
      <td>{s.everywhere ? 'every workload' : 'who asks for it'}</td>
      <td><Age at={s.createdAt} /></td>
      <td class="row-acts"><Button kind="quiet" icon="trash" aria-label={'Delete ' + s.name} onClick={() => void remove()} /></td>
    </tr>
  )
}

function Make({ close, done }: { close: () => void; done: () => void }) {
  const inputs = (v: Values): Input[] => {
    const k = kinds[v.type || 'env']!
    return [
      { name: 'name', required: true },
      { name: 'type', options: Object.entries(kinds).map(([t, x]) => [t, `${t}: ${x.about}`]) },
      ...k.fields.map((f): Input => ({ name: 'field.' + f.name, label: f.name, required: f.needed ?? false, note: 'Not secret' })),
      ...k.values.map((f): Input => ({ name: 'value.' + f.name, label: f.name, kind: f.file ? 'long' : 'secret', required: f.needed ?? false, ...(f.file ? { placeholder: 'Paste the file here' } : {}) })),
      { name: 'everywhere', kind: 'check', label: 'Give it to every workload of mine' },
    ]
  }
  return (
    <Ask title="New secret" yes="Seal it" inputs={inputs} first={{ type: 'env' }} close={close} text="It cannot be read again, nor changed; delete it and make another."
      act={async (v) => {
        const k = kinds[v.type || 'env']!
        const parts = (of: Part[], head: string, code: (s: string) => string): Record<string, string> => Object.fromEntries(of.map((p): [string, string] => [p.name, v[head + p.name] ?? '']).filter(([, x]) => x !== '').map(([n, x]) => [n, code(x)]))
        await send('POST', 'v1/secrets', { name: v.name!.trim(), type: v.type || 'env', fields: parts(k.fields, 'field.', (s) => s.trim()), values: parts(k.values, 'value.', base64), everywhere: v.everywhere === 'true' })
        toast(`Sealed ${v.name}`)
        done()
      }} />
  )
}
