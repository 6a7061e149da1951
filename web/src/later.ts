// What is a file of its own, which comes when any of it is first needed: all of
// it together, so that parts that only these share are in it too.
export { Admin } from './screens/admin/settings'
export { keepForm } from './screens/admin/templates'
export { SchedulesPage } from './screens/schedules/page'
export { Submit } from './screens/submit/page'
export { UsagePage } from './screens/usage/page'
export { marksForm } from './fleet/marks'
export { askFor } from './ui/ask'
export { changeForm, scaleForm } from './work/change'
export { editProject, newProject } from './work/projects'
export { bulkOutcomes } from './work/outcomes'
export { Login } from './shell/login'
