import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'approvals',
  title: () => T.$approvals,
  view: lazy(() => import('../../later').then((m) => m.Approvals)),
  nav: { label: T.$approvals, icon: 'check', order: 40, key: 'a' },
} satisfies Screen
