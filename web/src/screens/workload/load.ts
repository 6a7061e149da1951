import { workloadURL } from '../../api/client'
import type { Workload } from '../../api/types'
import { useLive, type Live } from '../../live/fetch'
import { rowNamed } from '../../live/store'

/** Of how many tasks of each attempt the page of a workload knows; more are read when they are looked at. */
export const tasksMost = 500

/** A workload whole, read anew whenever its row is newer. */
export const useWorkload = (project: string, name: string): Live<Workload> => useLive<Workload>(
  name ? workloadURL(project, name) + '?tasks=' + tasksMost : null,
  () => rowNamed(project, name)?.revision, 100,
  (have) => have.revision < (rowNamed(project, name)?.revision ?? Infinity),
)
