import { useState } from 'preact/hooks'
import { send } from '../../api/client'
import type { Secret, SecretList } from '../../api/types'
import { useLive } from '../../live/fetch'
import { Age, Button, Empty, Failure, Loading } from '../../ui/basics'
import { CopyAs, curl } from '../../ui/copyas'
import { ask, complain, toast } from '../../ui/overlay'
import { python } from '../../work/acts'
import { Ask, type Input, type Values } from '../../ui/ask'
import { phrase, T } from '../../texts'

interface Part { name: string; needed?: boolean; file?: boolean }
interface Kind { about: string; values: Part[]; fields: Part[] }

const path: Part = { name: 'path' }
const file = (name: string, needed = true): Part => ({ name, needed, file: true })

/** What each type of secret is made of. */
const kinds: Record<string, Kind> = {
  env: { about: T.$aVariableOfTheTasks, values: [{ name: 'value', needed: true }], fields: [{ name: 'variable', needed: true }] },
  mounted: { about: T.$aFileInTheTasks, values: [file('value')], fields: [path] },
  docker: { about: T.$userAndPasswordOfAnImage, values: [{ name: T.$password, needed: true }], fields: [{ name: T.$username, needed: true }, { name: 'server' }] },
  ssh: { about: T.$aPrivateKey, values: [file('key')], fields: [path] },
  'git-ssh': { about: T.$aPrivateKeyForGit, values: [file('key')], fields: [path] },
  'sftp-ssh': { about: T.$aPrivateKeyForComposer, values: [file('key'), file('known-hosts', false)], fields: [path] },
  s3: { about: T.$filesForAWSAndCompatible, values: [file('config'), file('credentials')], fields: [path] },
  gcp: { about: T.$aCredentialsFileForGoogle, values: [file('credentials')], fields: [path] },
  oci: { about: T.$filesForOracleCloud, values: [file('config'), file('key')], fields: [path] },
  databricks: { about: T.$hostAndTokenOfAWorkspace, values: [{ name: 'token', needed: true }], fields: [{ name: 'host', needed: true }] },
  hf: { about: T.$aHuggingFaceToken, values: [{ name: 'token', needed: true }], fields: [] },
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

/** Where a secret is: with whoever looks, or in a project, a department or the system. */
const at = (project?: string): string => (project ? `v1/projects/${encodeURIComponent(project)}/secrets` : 'v1/secrets')

/** Secrets of whoever looks, and those that they see of projects, departments and the system: names and types, never values. */
export function Secrets() {
  const own = useLive<SecretList>(at(), 'never')
  const shared = useLive<SecretList>(at('-'), 'never')
  const data = own.data && { items: [...own.data.items, ...(shared.data?.items ?? [])] }
  const error = own.error
  const again = (): void => {
    own.again()
    shared.again()
  }
  const [making, setMaking] = useState(false)
  if (error && !data) return <Failure error={error} again={again} />
  if (!data) return <Loading what={T.$loadingSecrets} rows={3} />
  return (
    <>
      <div class="toolbar">
        <span class="muted">{T.$onlyForYouTheirValuesAre}</span>
        <div class="toolbar-end">
          <CopyAs of={() => ({ cli: 'muster secret list', python: python('client.request("GET", "/v1/secrets")'), curl: curl('v1/secrets') })} />
          <Button kind="main" onClick={() => setMaking(true)}>{T.$newSecret}</Button>
        </div>
      </div>
      {data.items.length === 0 ? <Empty icon="check" title={T.$noSecrets}><p>{T.$storeTheTokensAndKeysThat}</p></Empty> : (
        <div class="card scroll-x" tabIndex={0} role="region" aria-label={T.$secrets}>
          <table class="plain rows stacked">
            <thead><tr><th scope="col">{T.$secret}</th><th scope="col">{T.$belongsTo}</th><th scope="col">{T.$type}</th><th scope="col">{T.$notEncrypted}</th><th scope="col">{T.$availableTo}</th><th scope="col">{T.$created}</th><th scope="col"><span class="sr">{T.$actions}</span></th></tr></thead>
            <tbody>{data.items.map((s) => <Row key={`${s.project ?? ''}/${s.name}`} s={s} again={again} />)}</tbody>
          </table>
        </div>
      )}
      {making && <Make close={() => setMaking(false)} done={again} />}
    </>
  )
}

function Row({ s, again }: { s: Secret; again: () => void }) {
  const remove = async (): Promise<void> => {
    if (!(await ask(phrase(T.$deleteSecretName, { name: s.name }), <p>{T.$tasksThatHaveItKeepItNew}</p>, T.$delete))) return
    try {
      await send('DELETE', at(s.project) + '/' + encodeURIComponent(s.name))
      toast(phrase(T.$deletedName, { name: s.name }))
      again()
    } catch (e) {
      complain(e)
    }
  }
  return (
    <tr>
      <th scope="row">{s.name}</th>
      <td data-head={T.$belongsTo}>{s.project === '-' ? T.$theSystem : s.project ?? T.$you}{s.createdBy && <span class="muted"> {s.createdBy}</span>}</td>
      <td data-head={T.$type}><span class="label">{s.type}</span> <span class="muted">{kinds[s.type]?.about}</span></td>
      <td data-head={T.$notEncrypted}>{Object.entries(s.fields ?? {}).map(([k, v]) => <span key={k} class="secret-field"><span class="muted">{k}</span> {v}</span>)}{!Object.keys(s.fields ?? {}).length && <span class="none">–</span>}</td>
      <td data-head={T.$availableTo}>{s.everywhere ? T.$allWorkloads : T.$workloadsThatRequestIt}</td>
      <td data-head={T.$created}><Age at={s.createdAt} /></td>
      <td class="row-acts"><Button kind="quiet" icon="trash" aria-label={phrase(T.$deleteName, { name: s.name })} onClick={() => void remove()} /></td>
    </tr>
  )
}

function Make({ close, done }: { close: () => void; done: () => void }) {
  const inputs = (v: Values): Input[] => {
    const k = kinds[v.type || 'env']!
    return [
      { name: 'name', required: true },
      { name: 'scope', label: T.$belongsTo, placeholder: T.$you, note: T.$aProjectOrDepartmentWhereAll },
      { name: 'type', options: Object.entries(kinds).map(([t, x]) => [t, `${t}: ${x.about}`]) },
      ...k.fields.map((f): Input => ({ name: 'field.' + f.name, label: f.name, required: f.needed ?? false, note: T.$notEncrypted })),
      ...k.values.map((f): Input => ({ name: 'value.' + f.name, label: f.name, kind: f.file ? 'long' : 'secret', required: f.needed ?? false, ...(f.file ? { placeholder: T.$pasteTheFileHere } : {}) })),
      { name: 'everywhere', kind: 'check', label: v.scope ? T.$provideItToAllWorkloadsThere : T.$provideItToAllMyWorkloads },
    ]
  }
  return (
    <Ask title={T.$newSecret} yes={T.$createSecret} inputs={inputs} first={{ type: 'env' }} close={close} text={T.$itCanBeNeitherReadNor}
      act={async (v) => {
        const k = kinds[v.type || 'env']!
        const parts = (of: Part[], head: string, code: (s: string) => string): Record<string, string> => Object.fromEntries(of.map((p): [string, string] => [p.name, v[head + p.name] ?? '']).filter(([, x]) => x !== '').map(([n, x]) => [n, code(x)]))
        await send('POST', at(v.scope?.trim()), { name: v.name!.trim(), type: v.type || 'env', fields: parts(k.fields, 'field.', (s) => s.trim()), values: parts(k.values, 'value.', base64), everywhere: v.everywhere === 'true' })
        toast(phrase(T.$createdSecretName, { name: v.name }))
        done()
      }} />
  )
}
