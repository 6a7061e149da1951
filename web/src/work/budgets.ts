import { T } from '../texts'

/** What how a budget stands is called. */
export const budgetStates: Record<string, string> = { open: T.$budgetOpen, warned: T.$budgetWarned, over: T.$budgetOver }
