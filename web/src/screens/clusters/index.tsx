import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'clusters',
  title: () => T.$clusters,
  view: lazy(() => import('../../later').then((m) => m.Clusters)),
  nav: { label: T.$clusters, icon: 'screen', order: 54, key: 'c', group: T.$infrastructure },
} satisfies Screen
