// How many wait, of all that there are: not every row is on the page.
import { computed } from '@preact/signals'
import { phases } from '../live/store'
import { groups } from './filter'

export const waitingCount = computed(() => [...groups.waiting!].reduce((n, p) => n + (phases.value[p] ?? 0), 0))

/** How many have not ended, of all that there are. */
export const live = computed(() => Object.values(phases.value).reduce((n, of) => n + of, 0))
