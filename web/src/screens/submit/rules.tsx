// What policies say of the fields of the form, before one types.
import type { PolicyField, PolicySource } from '../../api/types'
import { Icon } from '../../ui/icons'
import { phrase, T } from '../../texts'

export type Ruled = PolicyField

const show = (v: unknown): string => (typeof v === 'string' ? v : JSON.stringify(v))

/** The values that a policy allows, with what people are shown. */
export const optionsOf = (r: Ruled | undefined): { value: string; displayed: string }[] =>
  (r?.rule?.options ?? []).map((o) => ({ value: show(o.value), displayed: o.displayed || show(o.value) }))

/** A policy in few words: its scope and what it is for. */
const who = (s: PolicySource | undefined): string => (s ? `${s.scope === '-' ? 'system' : s.scope}/${s.for}` : '')

/** What holds for a field, or for an entry of a map, and who says so. */
export function Bounds({ of: r, id, entry }: { of: Ruled; id?: string; entry?: string }) {
  const { rule } = r
  const out: string[] = []
  if (r.fixed) out.push(r.usual === undefined && r.default === undefined ? T.$lockedUnset : phrase(T.$lockedAt, { value: show(r.usual ?? r.default) }))
  else if (r.default !== undefined) out.push(phrase(T.$policyDefault, { value: show(r.default) }))
  if (rule?.required) out.push(T.$policyRequired)
  if (rule?.min !== undefined && rule.max !== undefined) out.push(phrase(T.$policyRange, { min: show(rule.min), max: show(rule.max) }))
  else if (rule?.min !== undefined) out.push(phrase(T.$policyLeast, { min: show(rule.min) }))
  else if (rule?.max !== undefined) out.push(phrase(T.$policyMost, { max: show(rule.max) }))
  if (rule?.step !== undefined) out.push(phrase(T.$policyStep, { step: show(rule.step) }))
  if (rule?.options) out.push(phrase(T.$policyOptions, { list: optionsOf(r).map((o) => o.displayed).join(', ') }))
  if (!out.length) return null
  return (
    <p class="field-rule" id={id}>
      {r.fixed && <Icon name="lock" />}{entry && <code>{entry}</code>} {phrase(T.$policySays, { what: out.join('; '), who: who(r.ruleFrom ?? r.defaultFrom) })}
    </p>
  )
}
