import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'reports/week',
  title: () => T.$weeklyReport,
  view: lazy(() => import('../../later').then((m) => m.WeekPage)),
} satisfies Screen
