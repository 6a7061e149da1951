// The field in which a filter is written: it proposes fields and their values.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useKeys } from '../lib/keys'
import { Keys } from './basics'
import { Icon } from './icons'
import { T } from '../texts'

export interface Field { name: string; about: string; values?: () => string[] }

interface Proposal { text: string; about: string }

/** What may follow in the word that ends at the caret. */
export function proposals(wordText: string, fields: Field[]): Proposal[] {
  const bare = wordText.replace(/^-/, '')
  const sign = wordText.startsWith('-') ? '-' : ''
  const m = /^([a-z.]+):(.*)$/i.exec(bare)
  if (!m) {
    if (bare === '') return fields.map((f) => ({ text: f.name + ':', about: f.about }))
    return fields.filter((f) => f.name.startsWith(bare.toLowerCase())).map((f) => ({ text: sign + f.name + ':', about: f.about }))
  }
  const field = fields.find((f) => f.name === m[1]!.toLowerCase())
  if (!field?.values) return []
  const given = m[2]!.split(',')
  const last = given.pop()!.toLowerCase()
  const head = sign + field.name + ':' + (given.length > 0 ? given.join(',') + ',' : '')
  const all = field.values().filter((v) => !given.some((g) => g.toLowerCase() === v.toLowerCase()))
  return all.filter((v) => v.toLowerCase().includes(last) && v.toLowerCase() !== last).slice(0, 12).map((v) => ({ text: head + v, about: '' }))
}

export function FilterBar({ value, onChange, fields, placeholder }: { value: string; onChange: (v: string) => void; fields: Field[]; placeholder: string }) {
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const [list, setList] = useState<Proposal[]>([])
  const [at, setAt] = useState(-1)
  const id = useId()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (document.activeElement !== input.current || value === '') setText(value)
  }, [value])
  useKeys(() => [{ keys: '/', does: T.$filter, run: () => { input.current?.focus(); input.current?.select() } }])

  const wordAt = (): [number, number] => {
    const el = input.current!
    const caret = el.selectionStart ?? el.value.length
    const start = el.value.lastIndexOf(' ', caret - 1) + 1
    const next = el.value.indexOf(' ', caret)
    return [start, next < 0 ? el.value.length : next]
  }
  const propose = (): void => {
    const [a, b] = wordAt()
    setList(proposals(input.current!.value.slice(a, b), fields))
    setAt(-1)
  }
  const set = (v: string): void => {
    setText(v)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onChange(v.trim()), 120)
  }
  const take = (p: Proposal): void => {
    const [a, b] = wordAt()
    const whole = p.text.endsWith(':') ? p.text : p.text + ' '
    const v = input.current!.value
    const next = v.slice(0, a) + whole + v.slice(b).trimStart()
    set(next)
    const caret = a + whole.length
    requestAnimationFrame(() => {
      input.current?.setSelectionRange(caret, caret)
      if (p.text.endsWith(':')) propose()
      else setList([])
    })
  }
  const open = list.length > 0
  return (
    <div class="filter" role="search">
      <Icon name="search" />
      <input ref={input} type="text" value={text} placeholder={placeholder} spellcheck={false} autocomplete="off" aria-label={T.$filter2}
        role="combobox" aria-expanded={open} aria-controls={id} aria-autocomplete="list" aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        onInput={(e) => { set(e.currentTarget.value); propose() }}
        onFocus={propose} onClick={propose} onBlur={() => setTimeout(() => setList([]), 120)}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown' && open) setAt((at + 1) % list.length)
          else if (e.key === 'ArrowUp' && open) setAt((at - 1 + list.length) % list.length)
          else if ((e.key === 'Enter' && at >= 0 || e.key === 'Tab' && at >= 0) && open) take(list[at]!)
          else if (e.key === 'Enter') {
            clearTimeout(timer.current)
            onChange(text.trim())
            setList([])
            return
          } else if (e.key === 'Escape') {
            if (open) setList([])
            else input.current?.blur()
          } else return
          e.preventDefault()
          e.stopPropagation()
        }} />
      {text ? <button type="button" class="filter-clear" aria-label={T.$clearFilter} onClick={() => { clearTimeout(timer.current); setText(''); onChange('') }}><Icon name="close" size={14} /></button> : <Keys of="/" />}
      {open && (
        <ul class="proposals" role="listbox" id={id} aria-label={T.$suggestions}>
          {list.map((p, i) => (
            <li key={p.text} id={`${id}-${i}`} role="option" aria-selected={i === at} onMouseDown={(e) => { e.preventDefault(); take(p) }}>
              <code>{p.text}</code><span>{p.about}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
