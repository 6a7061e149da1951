import { complain } from '../ui/overlay'

/** Does something with what is seldom needed, once that is here. */
export const later = (act: (of: typeof import('../later')) => unknown): void => {
  import('../later').then(act).catch(complain)
}
