import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'settings',
  title: () => T.$settings,
  view: lazy(() => import('../../later').then((m) => m.Admin)),
  nav: { label: T.$settings, icon: 'gear', order: 90, key: ',' },
} satisfies Screen
