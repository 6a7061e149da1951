import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'schedules',
  title: () => T.$schedules,
  view: lazy(() => import('../../later').then((m) => m.SchedulesPage)),
  nav: { label: T.$schedules, icon: 'clock', order: 35, key: 't' },
} satisfies Screen
