// Labels and taints of a node.
import { send } from '../api/client'
import type { Node, NodeOptions, Taint } from '../api/types'
import { shell } from '../lib/format'
import { askFor, pairs, type Values } from '../ui/ask'
import { curl } from '../ui/copyas'
import { toast } from '../ui/overlay'
import { python } from '../work/acts'
import { phrase, T } from '../texts'

const effects: Taint['effect'][] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** A taint as it is written. */
export const taintText = (t: Taint): string => `${t.key}${t.value ? '=' + t.value : ''}:${t.effect}`

function taintOf(line: string): Taint | null {
  const m = /^([^=:\s]+)(?:=([^:\s]*))?:(\w+)$/.exec(line)
  const effect = effects.find((e) => e === m?.[3])
  return m && effect ? { key: m[1]!, effect, ...(m[2] ? { value: m[2] } : {}) } : null
}

const lines = (text: string | undefined): string[] => (text ?? '').split(/[\n,]+/).map((l) => l.trim()).filter(Boolean)

/** What has to be asked for so that a node has what is written, and nothing else. */
function changes(n: Node, v: Values): { label: NodeOptions; taint: NodeOptions; words: [string[], string[]] } {
  const have = n.labels ?? {}
  const want = pairs(v.labels)
  const set = Object.fromEntries(Object.entries(want).filter(([k, x]) => have[k] !== x))
  const gone = Object.keys(have).filter((k) => want[k] === undefined)
  const old = new Set((n.taints ?? []).map(taintText))
  const next = lines(v.taints).map(taintOf).filter((t) => t !== null)
  const texts = new Set(next.map(taintText))
  const kept = new Set(next.map((t) => t.key + ':' + t.effect))
  const taints = next.filter((t) => !old.has(taintText(t)))
  const drop = (n.taints ?? []).filter((t) => !texts.has(taintText(t))).map((t) => t.key + ':' + t.effect).filter((k) => !kept.has(k))
  return {
    label: { ...(Object.keys(set).length ? { set } : {}), ...(gone.length ? { drop: gone } : {}) },
    taint: { ...(taints.length ? { taints } : {}), ...(drop.length ? { drop } : {}) },
    words: [[...Object.entries(set).map(([k, x]) => `${k}=${x}`), ...gone.map((k) => k + '-')], [...taints.map(taintText), ...drop.map((k) => k + '-')]],
  }
}

/** Asks for the labels and taints of a node. */
export function marksForm(n: Node): void {
  const url = (verb: string): string => `v1/nodes/${encodeURIComponent(n.name)}/${verb}`
  const asked = (v: Values) => {
    const c = changes(n, v)
    return (['label', 'taint'] as const).map((verb, i) => ({ verb, body: c[verb], words: c.words[i]! })).filter((x) => x.words.length > 0)
  }
  askFor({
    title: phrase(T.$labelsAndTaintsOfName, { name: n.name }), yes: T.$save,
    first: { labels: Object.entries(n.labels ?? {}).sort().map(([k, x]) => `${k}=${x}`).join('\n'), taints: (n.taints ?? []).map(taintText).join('\n') },
    inputs: () => [
      { name: 'labels', kind: 'long', placeholder: 'rack=r7', note: T.$oneKEYVALUEPerLinePools },
      { name: 'taints', kind: 'long', placeholder: 'maintenance=fan:NoSchedule', note: T.$oneKEYVALUEEFFECTPerLine },
    ],
    refuse: (v) => {
      const bad = lines(v.taints).find((l) => !taintOf(l)) ?? lines(v.labels).find((l) => !/^[^=\s]+=\S*$/.test(l))
      return bad ? phrase(T.$badBad2, { bad, bad2: lines(v.labels).includes(bad) ? T.$notOfTheFormKEYVALUE : T.$notOfTheFormKEYVALUEEFFECT }) : asked(v).length === 0 ? T.$nothingHasChanged : undefined
    },
    said: (v) => ({
      cli: asked(v).map((x) => `muster node ${x.verb} ${shell(n.name)} ${x.words.map(shell).join(' ')}`).join('\n'),
      python: python(...asked(v).map((x) => `client.request("POST", ${JSON.stringify('/' + url(x.verb))}, body=${JSON.stringify(x.body)})`)),
      curl: asked(v).map((x) => curl(url(x.verb), { method: 'POST', json: x.body })).join('\n'),
    }),
    act: async (v) => {
      for (const x of asked(v)) await send<Node>('POST', url(x.verb), x.body)
      toast(phrase(T.$changedName, { name: n.name }))
    },
  })
}
