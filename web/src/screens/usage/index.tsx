import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'usage',
  title: () => T.$usage,
  view: lazy(() => import('../../later').then((m) => m.UsagePage)),
  nav: { label: T.$usage, icon: 'chart', order: 70, key: 'u' },
} satisfies Screen
