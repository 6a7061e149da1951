import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'compare',
  title: () => T.$compare,
  view: lazy(() => import('../../later').then((m) => m.ComparePage)),
} satisfies Screen
