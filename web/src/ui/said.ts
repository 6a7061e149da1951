// How a word of another platform looks. It follows from the word alone, whatever
// the state behind it is in Muster: equal words look equal.
import { colourOf } from '../live/words'
import type { IconName } from './icons'
import type { Tone } from './status'

/**
 * The colours that platforms give their words. Their documents have them as
 * backgrounds; as text they cannot be read: on white only blue has more than 4.5:1,
 * and on our dark it has 2:1. So each is said in a tone of the same hue that has at
 * least 4.5:1 on everything that a status stands on, in light and in dark; app.css
 * has them, and a test compares hue and contrast. Of the two greys, the pale one is
 * the one nearer to the paper in light, and the bright one in dark, as they are.
 */
const tones: Record<string, Tone> = { '#599b3e': 'green', '#fd8608': 'orange', '#0000ff': 'blue', '#afafaf': 'grey', '#fb0007': 'red', '#d0d0d0': 'pale' }

/** What words mean, in small letters and without JOBSTAT_: their tone where a platform has no colours, and their icon. */
const looks: [Tone, IconName, string][] = [
  ['queued', 'clock', 'creating submitted pending queued resuming init submit_trying waiting'],
  ['queued', 'person', 'check_init check_running check_running_completed'],
  ['blocked', 'noentry', 'inadmissible'],
  ['starting', 'ring', 'initializing starting containercreating podinitializing init:a/b image_creating'],
  ['running', 'dot', 'running admitted updating scaling'],
  ['degraded', 'triangle', 'degraded lost'],
  ['stopping', 'dots', 'terminating stopping deleting killing unknown'],
  ['completed', 'tick', 'completed succeeded'],
  ['failed', 'back', 'crashloopbackoff imagepullbackoff init:crashloopbackoff'],
  ['failed', 'cross', 'failed fail error errimagepull init:error containercannotrun image_failed submit_failed delete_failed submit_model_failed deploy_service_failed check_failed mount_failed'],
  ['stopped', 'square', 'stopped deleted timedout killed canceled'],
  ['preempted', 'back', 'preempted'],
]
const known = new Map(looks.flatMap(([tone, icon, words]) => words.split(' ').map((w) => [w, [tone, icon]] as const)))

/** Tone and icon of a word of the chosen dialect; nothing of a word that is none. */
export function lookOfWord(word: string): [Tone, IconName] | undefined {
  const of = known.get(word.toLowerCase().replace(/^jobstat_/, '').replace(/^init:\d+\/\d+$/, 'init:a/b'))
  return of && [tones[colourOf(word)] ?? of[0], of[1]]
}
