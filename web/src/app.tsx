import './app.css'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { onExpired } from './api/client'
import { go, href, place } from './lib/router'
import { start } from './live/store'
import { Login } from './shell/login'
import { Shell } from './shell/shell'

onExpired(() => {
  if (place.value.path === 'login') return
  const to = place.value.path + (place.value.query && '?' + place.value.query)
  location.assign(href('login') + (to ? '?to=' + encodeURIComponent(to) : ''))
})

function App() {
  return place.value.path === 'login' ? <Login /> : <Shell />
}

effect(() => {
  if (place.value.path === '') go('workloads', true)
})

if (place.value.path !== 'login') start()
render(<App />, document.getElementById('app')!)
