// The form, made of the schema: every field of a document has its place here
// because the server describes it, not because somebody thought of it.
import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useId, useState } from 'preact/hooks'
import type { Field, FieldProblem, PolicyField } from '../../api/types'
import { Button, sentence } from '../../ui/basics'
import { collapse, expand, isMap, scalar, type Doc } from './doc'
import { Bounds, optionsOf, type Ruled } from './rules'
import { below } from './state'
import { phrase, T } from '../../texts'

/** What the fields of a form share. */
export interface Around {
  problems: FieldProblem[]
  /** Values to choose from, by path; texts that are not among them are taken too. */
  suggest: (path: string) => string[]
  /** The kind of the document; fields of others are not shown. */
  kind: string
  /** What policies say, by path. */
  rules: Map<string, PolicyField>
}

export const Surroundings = createContext<Around>({ problems: [], suggest: () => [], kind: '', rules: new globalThis.Map() })

interface Props {
  of: Field
  value: unknown
  set: (v: unknown) => void
  /** With the indexes of lists, as problems have it. */
  at: string
  /** Shown instead of its explanation. */
  note?: ComponentChildren
  quiet?: boolean
}

/** Whether a field makes sense for a kind of workload. */
export const suits = (f: Field, kind: string): boolean => !f.only || f.only.split(',').includes(kind)

const isList = (f: Field): boolean => /^list of .*maps$/.test(f.type)
const isFields = (f: Field): boolean => !!f.fields?.length && !isList(f)

/** A field, whatever it is. */
export function AnyField(p: Props) {
  if (isList(p.of)) return <Items {...p} />
  if (isFields(p.of)) return <Map {...p} />
  if (p.of.type.startsWith('map of') || p.of.type === 'string or map of string to integer' && isMap(p.value)) return <Pairs {...p} />
  return <Plain {...p} />
}

/** A label above what is filled in, with what is wrong below. */
function Labelled({ id, p, children, exact = true }: { id: string; p: Props; children: ComponentChildren; exact?: boolean }) {
  const { problems, rules } = useContext(Surroundings)
  const ruled = rules.get(p.of.path ?? p.at)
  const mine = problems.filter((x) => (exact ? x.path === p.at || x.path.startsWith(p.at + '[') : x.path === p.at))
  return (
    <div class="field" data-bad={mine.length > 0 || undefined} data-path={p.at} data-locked={ruled?.fixed || undefined}>
      <label for={id}>{p.of.name}</label>
      {children}
      {ruled && <Bounds of={ruled} id={id + '-rule'} />}
      {mine.length > 0
        ? <p class="field-bad" id={id + '-about'}>{mine.map((x) => sentence(x.problem) + (x.hint ? '; ' + x.hint : x.allowed?.length ? phrase(T.$allowedList, { list: x.allowed.join(', ') }) : '')).join('. ')}</p>
        : p.note ? <p class="field-note" id={id + '-about'}>{p.note}</p> : !p.quiet ? <p class="field-note" id={id + '-about'}>{p.of.doc}</p> : null}
    </div>
  )
}

const many = (v: unknown): string[] => (Array.isArray(v) ? v.map((x) => (typeof x === 'string' ? x : JSON.stringify(x))) : [])
const isText = (f: Field): boolean => f.type === 'string' || f.type === 'string or list of strings'

function Plain(p: Props) {
  const id = useId()
  const { suggest, problems, rules } = useContext(Surroundings)
  const f = ruledField(p.of, rules.get(p.of.path ?? p.at))
  const bad = problems.some((x) => below(x.path, p.at))
  const ruled: Ruled | undefined = rules.get(p.of.path ?? p.at)
  // What is locked is shown and cannot be typed; what a document says otherwise can be taken back.
  const locked = !!ruled?.fixed && (p.value === undefined || String(p.value) === String(ruled.usual))
  const same = { id, 'aria-invalid': bad, 'aria-describedby': (ruled ? id + '-rule ' : '') + id + '-about', title: p.quiet ? f.doc : undefined, disabled: locked }
  const set = (v: string): void => p.set(v === '' ? undefined : isText(f) ? v : scalar(v))
  const listOf = optionsOf(ruled)
  const options = f.type === 'boolean' ? ['true', 'false'] : listOf.length && !f.type.startsWith('list of') ? listOf.map((o) => o.value) : f.type === 'string' ? f.enum : undefined
  if (locked) return <Labelled id={id} p={p}><input {...same} value={ruled?.usual === undefined ? '' : typeof ruled.usual === 'string' ? ruled.usual : JSON.stringify(ruled.usual)} /></Labelled>
  if (options?.length) {
    const v = p.value === undefined || p.value === null ? '' : String(p.value)
    const says = (o: string): string => (f.type === 'boolean' ? (o === 'true' ? T.$yes : T.$no) : listOf.find((x) => x.value === o)?.displayed ?? o)
    return (
      <Labelled id={id} p={p}>
        <select {...same} value={v} onChange={(e) => p.set(e.currentTarget.value === '' ? undefined : f.type === 'boolean' ? e.currentTarget.value === 'true' : isText(f) ? e.currentTarget.value : scalar(e.currentTarget.value))}>
          <option value="">{f.default ? says(f.default) : T.$default}</option>
          {v !== '' && !options.includes(v) && <option value={v}>{v}</option>}
          {options.filter((o) => o !== f.default || v === o).map((o) => <option key={o} value={o}>{says(o)}</option>)}
        </select>
      </Labelled>
    )
  }
  const list = Array.isArray(p.value) ? p.value : []
  if (isMap(p.value) || list.some((x) => isMap(x) || Array.isArray(x))) {
    return <Labelled id={id} p={p}><input {...same} disabled value={JSON.stringify(p.value)} /></Labelled>
  }
  if (list.some((x) => String(x).includes('\n'))) { // a script among arguments
    return (
      <Labelled id={id} p={p}>
        {list.map((x, i) => (
          <textarea key={i} {...same} id={i ? undefined : id} aria-label={`${f.name} ${i + 1}`} rows={Math.min(12, String(x).split('\n').length)} spellcheck={false} value={String(x)}
            onInput={(e) => p.set(list.map((y, j) => (j === i ? e.currentTarget.value : y)))} />
        ))}
      </Labelled>
    )
  }
  const listed = f.type.startsWith('list of') || Array.isArray(p.value)
  if (listed || f.name === 'command') {
    const lines = listed ? many(p.value).join('\n') : String(p.value ?? '')
    const rows = Math.min(10, Math.max(f.name === 'command' ? 3 : 1, lines.split('\n').length))
    return (
      <Labelled id={id} p={p}>
        <Area same={same} rows={rows} value={lines} placeholder={listed ? T.$onePerLine : hint(f)}
          set={(v) => p.set(v === '' ? undefined : !listed ? v : v.split('\n').map((x) => (f.type === 'list of integers' ? scalar(x) ?? x : x)))} />
      </Labelled>
    )
  }
  const words = [...(f.enum ?? []), ...suggest(f.path ?? '')]
  return (
    <Labelled id={id} p={p}>
      <input {...same} {...edges(f, ruled)} autocomplete="off" autocapitalize="off" spellcheck={false} value={p.value === undefined || p.value === null ? '' : String(p.value)} placeholder={hint(f)} list={words.length ? id + '-list' : undefined}
        onInput={(e) => set(e.currentTarget.value)} />
      {words.length > 0 && <datalist id={id + '-list'}>{words.map((w) => <option key={w} value={w} />)}</datalist>}
    </Labelled>
  )
}

/** A field whose default is a policy's. */
const ruledField = (f: Field, r: Ruled | undefined): Field => (r?.default === undefined ? f : { ...f, default: typeof r.default === 'string' ? r.default : JSON.stringify(r.default) })

/** Bounds as browsers know them, of whole numbers. */
function edges(f: Field, r: Ruled | undefined): Record<string, unknown> {
  const { min, max, step } = r?.rule ?? {}
  if (f.type !== 'integer' || min === undefined && max === undefined && step === undefined) return { type: 'text' }
  return { type: 'number', min, max, step: step ?? 1 }
}

const hint = (f: Field): string => f.default || (f.example ? phrase(T.$forExampleExample, { example: f.example }) : '')

/** A text area that keeps what is typed, such as an empty last line, though the document does not. */
function Area({ value, set, same, rows, placeholder }: { value: string; set: (v: string) => void; same: Record<string, unknown>; rows: number; placeholder: string }) {
  const [typed, setTyped] = useState<string | null>(null)
  const trimmed = (s: string): string => s.replace(/\n+$/, '')
  return (
    <textarea {...same} rows={rows} spellcheck={false} autocapitalize="off" placeholder={placeholder} value={typed !== null && trimmed(typed) === trimmed(value) ? typed : value}
      onInput={(e) => { setTyped(e.currentTarget.value); set(trimmed(e.currentTarget.value)) }} />
  )
}

function Map(p: Props) {
  const { kind, problems } = useContext(Surroundings)
  const v = expand(p.value, p.of)
  const d: Doc = isMap(v) ? v : {}
  const own = problems.filter((x) => x.path === p.at)
  return (
    <fieldset class="field-map" data-path={p.at}>
      <legend>{p.of.name}</legend>
      {p.note ? <p class="field-note">{p.note}</p> : !p.quiet && <p class="field-note">{p.of.doc}</p>}
      {own.map((x) => <p key={x.problem} class="field-bad">{sentence(x.problem)}</p>)}
      <div class="field-grid">
        {p.of.fields!.filter((f) => suits(f, kind)).map((f) => (
          <AnyField key={f.name} of={f} at={p.at + '.' + f.name} value={d[f.name!]} {...(p.quiet ? { quiet: true } : {})}
            set={(x) => p.set(collapse(without({ ...d, [f.name!]: x }), p.of))} />
        ))}
      </div>
    </fieldset>
  )
}

const without = (d: Doc): Doc => Object.fromEntries(Object.entries(d).filter(([, v]) => v !== undefined))

function Items(p: Props) {
  const { kind } = useContext(Surroundings)
  const v = expand(p.value, p.of)
  const all: unknown[] = Array.isArray(v) ? v : []
  // An item that says nothing yet is kept, though a document could not hold it.
  const [fresh, setFresh] = useState(0)
  const shown = [...all, ...Array.from({ length: fresh }, () => ({}))]
  const put = (list: unknown[]): void => p.set(collapse(list.filter((x) => !isMap(x) || Object.keys(x).length > 0), p.of))
  return (
    <fieldset class="field-map field-items" data-path={p.at}>
      <legend>{p.of.name}</legend>
      <p class="field-note">{p.note ?? p.of.doc}</p>
      {shown.map((x, i) => (
        <div class="item" key={i}>
          <div class="field-grid">
            {p.of.fields!.filter((f) => suits(f, kind)).map((f) => (
              <AnyField key={f.name} of={f} at={`${p.at}[${i}].${f.name}`} value={isMap(x) ? x[f.name!] : undefined} quiet
                set={(y) => {
                  const next = [...shown]
                  next[i] = without({ ...(isMap(x) ? x : {}), [f.name!]: y })
                  if (i >= all.length && y !== undefined) setFresh(fresh - 1)
                  put(next)
                }} />
            ))}
          </div>
          <Button kind="quiet" icon="trash" aria-label={phrase(T.$removeNameX, { name: p.of.name, x: i + 1 })} onClick={() => { if (i >= all.length) setFresh(fresh - 1); else put(all.filter((_, k) => k !== i)) }} />
        </div>
      ))}
      <Button class="field-add" onClick={() => setFresh(fresh + 1)}>{phrase(T.$addToName, { name: p.of.name })}</Button>
    </fieldset>
  )
}

function Pairs(p: Props) {
  const id = useId()
  const d: Doc = isMap(p.value) ? p.value : {}
  const numbers = !p.of.type.endsWith('string to string')
  const { rules } = useContext(Surroundings)
  const given = [...rules.values()].filter((r) => r.path.startsWith(p.at + '.'))
  // Names while they are typed: two may be the same for a moment.
  const [rows, setRows] = useState<[string, string][] | null>(null)
  const said = Object.entries(d).map(([k, v]): [string, string] => [k, typeof v === 'string' ? v : JSON.stringify(v)])
  const shown = rows && JSON.stringify(Object.fromEntries(rows.filter(([k]) => k))) === JSON.stringify(Object.fromEntries(said)) ? rows : said
  const put = (next: [string, string][]): void => {
    setRows(next)
    const out: Doc = {}
    for (const [k, v] of next) {
      if (!k) continue
      const had = d[k]
      out[k] = typeof had !== 'string' && had !== undefined && JSON.stringify(had) === v ? had : numbers ? scalar(v) ?? '' : v
    }
    p.set(Object.keys(out).length ? out : undefined)
  }
  return (
    <div class="field" role="group" aria-labelledby={id} data-path={p.at}>
      <span class="field-name" id={id}>{p.of.name}</span>
      {shown.map(([k, v], i) => (
        <div class="pair" key={i}>
          <input type="text" value={k} aria-label={phrase(T.$nameNameX, { name: p.of.name, x: i + 1 })} spellcheck={false} autocomplete="off" onInput={(e) => put(shown.map((r, j) => (j === i ? [e.currentTarget.value, r[1]] : r)))} />
          <input type="text" value={v} aria-label={phrase(T.$nameValueX, { name: p.of.name, x: i + 1 })} spellcheck={false} autocomplete="off" onInput={(e) => put(shown.map((r, j) => (j === i ? [r[0], e.currentTarget.value] : r)))} />
          <Button kind="quiet" icon="trash" aria-label={phrase(T.$removeMore, { more: k || T.$entry })} onClick={() => put(shown.filter((_, j) => j !== i))} />
        </div>
      ))}
      {given.map((r) => <Bounds key={r.path} of={r} entry={r.path.slice(p.at.length + 1)} />)}
      <Problems at={p.at} />
      {!p.quiet && <p class="field-note">{p.note ?? p.of.doc}</p>}
      <Button class="field-add" onClick={() => setRows([...shown, ['', '']])}>{phrase(T.$addToName, { name: p.of.name })}</Button>
    </div>
  )
}

function Problems({ at }: { at: string }) {
  const { problems } = useContext(Surroundings)
  return <>{problems.filter((x) => below(x.path, at)).map((x) => <p key={x.path} class="field-bad"><code>{x.path}</code> {sentence(x.problem)}</p>)}</>
}
