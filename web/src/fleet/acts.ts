// What can be done with nodes.
import { send } from '../api/client'
import type { Drain, Node, NodeOptions } from '../api/types'
import { complain, toast } from '../ui/overlay'
import { curl, type Said } from '../ui/copyas'
import { shell } from '../lib/format'
import { python } from '../work/acts'
import { phrase, T } from '../texts'

const url = (name: string, verb: string): string => `v1/nodes/${encodeURIComponent(name)}/${verb}`

const done: Record<string, string> = { cordon: T.$cordoned, uncordon: T.$uncordoned }

/** Keeps new work from a node, or lets it in again; what it did can be taken back, unless it is the last of this. Reports whether it was done. */
export async function change(name: string, verb: 'cordon' | 'uncordon', o: NodeOptions = {}, last = false): Promise<boolean> {
  try {
    await send<Node>('POST', url(name, verb), o)
    toast(`${done[verb]} ${name}`, last ? {} : { action: { label: T.$undo, run: () => void change(name, verb === 'cordon' ? 'uncordon' : 'cordon', {}, true) } })
    return true
  } catch (e) {
    complain(e, phrase(T.$nameCouldNotChange, { name }))
    return false
  }
}

/** Drains a node, or says what would come of it. */
export const drain = (name: string, o: NodeOptions, dry: boolean): Promise<Drain> => send<Drain>('POST', url(name, 'drain') + (dry ? '?dry_run=true' : ''), o)

/** A drain as commands. */
export function saidDrain(name: string, o: NodeOptions, dry: boolean): Said {
  const flags = (dry ? ' --dry-run' : '') + (o.force ? ' --force' : '') + (o.note ? ' --note ' + shell(o.note) : '')
  const path = url(name, 'drain') + (dry ? '?dry_run=true' : '')
  const pairs = [o.force && '"force": True', o.note && `"note": ${JSON.stringify(o.note)}`].filter(Boolean)
  return {
    cli: `muster node drain ${shell(name)}${flags}`,
    python: python(`print(client.request("POST", ${JSON.stringify('/' + path)}, body={${pairs.join(', ')}}))`),
    curl: curl(path, { method: 'POST', json: o }),
  }
}
