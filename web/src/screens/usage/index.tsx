import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'

export default {
  path: 'usage',
  title: () => 'Usage',
  view: lazy(() => import('../../later').then((m) => m.UsagePage)),
  nav: { label: 'Usage', icon: 'chart', order: 70, key: 'u' },
} satisfies Screen
