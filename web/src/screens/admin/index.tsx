import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'

export default {
  path: 'settings',
  title: () => 'Settings',
  view: lazy(() => import('../../later').then((m) => m.Admin)),
  nav: { label: 'Settings', icon: 'gear', order: 90, key: ',' },
} satisfies Screen
