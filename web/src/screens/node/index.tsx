import './style.css'
import { lazy } from '../../lib/lazy'
import type { Screen } from '../../screen'

export default {
  path: 'nodes/:name',
  title: (p) => p.name ?? '',
  view: lazy(() => import('../../later').then((m) => m.NodePage)),
} satisfies Screen
