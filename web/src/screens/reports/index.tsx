import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'reports',
  title: () => T.$reportsOfUse,
  view: lazy(() => import('../../later').then((m) => m.ReportsPage)),
  nav: { label: T.$reportsOfUse, icon: 'columns', order: 72, key: 'r' },
} satisfies Screen
