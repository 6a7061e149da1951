import type { ComponentType } from 'preact'
import type { IconName } from './ui/icons'

/** What a screen is given: the parts of its path, and what follows the "?". */
export interface ScreenProps {
  params: Record<string, string>
  query: URLSearchParams
}

/**
 * A screen of the pages. Each is the default export of an index.tsx in a folder
 * of its own below src/screens, and is found there: nothing has to be registered.
 */
export interface Screen {
  /** Path below the pages, like "workloads/:project/:name". */
  path: string
  /** Title of the window. */
  title: (params: Record<string, string>) => string
  view: ComponentType<ScreenProps>
  /** Its place in the navigation, if it has one; g and then key leads there. */
  nav?: { label: string; icon: IconName; order: number; key: string; group?: string }
}
