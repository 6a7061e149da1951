// What takes an act back, in the message that says it was done.
import { T } from '../texts'
import { complain } from './overlay'

/** An option of toast: back does the opposite, and then is done once it has. */
export const undoing = (back: () => Promise<unknown>, then: () => void) => ({ action: { label: T.$undo, run: () => void back().then(then, complain) } })
