import './app.css'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { onExpired } from './api/client'
import { lazy } from './lib/lazy'
import { go, href, place } from './lib/router'
import { learnRights } from './live/may'
import { tell, work } from './live/app'
import { start } from './live/store'
import { Shell } from './shell/shell'

onExpired(() => {
  if (place.value.path === 'login') return
  const to = place.value.path + (place.value.query && '?' + place.value.query)
  location.assign(href('login') + (to ? '?to=' + encodeURIComponent(to) : ''))
})

const Login = lazy(() => import('./later').then((m) => m.Login))

function App() {
  return place.value.path === 'login' ? <Login /> : <Shell />
}

effect(() => {
  if (place.value.path === '') go('workloads', true)
})

if (place.value.path !== 'login') {
  start()
  tell()
  work()
  void learnRights()
}
render(<App />, document.getElementById('app')!)
