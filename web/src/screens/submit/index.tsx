import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'

export default {
  path: 'submit',
  title: () => 'Submit',
  view: lazy(() => import('../../later').then((m) => m.Submit)),
  nav: { label: 'Submit', icon: 'upload', order: 15, key: 's' },
} satisfies Screen
