import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'
import { T } from '../../texts'

export default {
  path: 'submit',
  title: () => T.$submit,
  view: lazy(() => import('../../later').then((m) => m.Submit)),
  nav: { label: T.$submit, icon: 'upload', order: 15, key: 's' },
} satisfies Screen
