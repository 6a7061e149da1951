import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { screens } from 'screens:all'
import { get, send } from '../api/client'
import type { Session } from '../api/types'
import { dialect, dialectNames, dialects, theme, type Theme } from '../lib/prefs'
import { bind } from '../lib/keys'
import { go, match, place, query } from '../lib/router'
import { outdated, session } from '../live/store'
import { tellSession } from '../live/stream'
import type { Screen } from '../screen'
import { Button, Empty, Keys, Link, Page, useTitle } from '../ui/basics'
import { BulkActions } from '../work/bulk'
import { Icon, type IconName } from '../ui/icons'
import { complain, Menu, Overlays } from '../ui/overlay'
import { languageChoices, themeChoices, themeNames } from './choices'
import { Help, helpOpen } from './help'
import { LiveBadge, LostBar } from './live'
import { Palette, paletteOpen } from './palette'
import { phrase, T } from '../texts'

/** The screens that have a place in the navigation, in its order. */
export const places = screens.filter((s) => s.nav).sort((a, b) => a.nav!.order - b.nav!.order)

const navOpen = signal(false)

function found(): [Screen, Record<string, string>] | null {
  for (const s of screens) {
    const params = match(s.path, place.value.path)
    if (params) return [s, params]
  }
  return null
}

const themeIcons: Record<Theme, IconName> = { system: 'screen', light: 'sun', dark: 'moon' }
const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

/** Goes on to the next theme. */
export const turnTheme = (): void => {
  theme.value = nextTheme[theme.value]
}

export async function logOut(): Promise<void> {
  try {
    const { signOut } = await get<Session>('v1/session')
    await send('DELETE', 'v1/session')
    tellSession()
    if (signOut) location.assign(signOut)
    else location.reload()
  } catch (e) {
    complain(e, T.$couldNotSignOut)
  }
}

export function Shell() {
  const at = found()
  const [screen, params] = at ?? [null, {}]
  const title = screen ? screen.title(params) : T.$notFound
  useTitle(title)
  useEffect(() => {
    navOpen.value = false
  }, [place.value.path])
  useEffect(() => bind(
    { keys: '?', does: T.$keyboardShortcuts, run: () => (helpOpen.value = true) },
    { keys: 'mod+k', does: T.$searchPagesAndActions, inFields: true, run: () => (paletteOpen.value = !paletteOpen.value) },
    { keys: 't', does: T.$switchTheme, run: turnTheme },
    { keys: 'g r', does: T.$workloads, run: () => go('workloads') }, // runs, as others call them
    ...places.map((s) => ({ keys: 'g ' + s.nav!.key, does: s.nav!.label, run: () => go(s.path) })),
  ), [])
  const key = screen ? screen.path + '|' + Object.values(params).join('/') : 'none'
  return (
    <div class="shell" data-nav={navOpen.value ? 'open' : undefined}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus() }}>{T.$skipToContent}</a>
      <TopBar />
      <Nav chosen={screen?.path.split('/')[0] ?? ''} />
      <div class="scrim" onClick={() => (navOpen.value = false)} />
      {outdated.value && <div class="notice" role="status">{phrase(T.$theServerHasBeenUpdated, { button: <button type="button" onClick={() => location.reload()}>{T.$reload}</button> })}</div>}
      <LostBar />
      {screen ? <screen.view key={key} params={params} query={query.value} /> : <NotFound />}
      {paletteOpen.value && <Palette />}
      {helpOpen.value && <Help />}
      <Overlays lasting={<BulkActions />} />
    </div>
  )
}

function NotFound() {
  return (
    <Page title={T.$notFound}>
      <Empty icon="search" title={phrase(T.$nothingAtPath, { path: (place.value.path || '/') })}><Link to="workloads">{T.$showWorkloads}</Link></Empty>
    </Page>
  )
}

function TopBar() {
  return (
    <header class="topbar">
      <Button kind="quiet" icon="menu" aria-label={T.$navigation} aria-expanded={navOpen.value} onClick={() => (navOpen.value = !navOpen.value)} />
      <Brand />
      <LiveBadge />
    </header>
  )
}

const Brand = () => (
  <Link to="workloads" class="brand" aria-label={T.$musterShowWorkloads}>
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" class="brand-tile" /><path d="M7 23V10l9 8 9-8v13" class="brand-line" /></svg>
    <span>Muster</span>
  </Link>
)

function Nav({ chosen }: { chosen: string }) {
  const box = useRef<HTMLElement>(null)
  let group = ''
  return (
    <nav class="nav" aria-label={T.$main} ref={box}>
      <Brand />
      <button type="button" class="nav-find" onClick={() => (paletteOpen.value = true)} aria-haspopup="dialog">
        <Icon name="search" /><span>{T.$find}</span><Keys of="mod+k" />
      </button>
      <ul>
        {places.map((s) => {
          const head = s.nav!.group && s.nav!.group !== group ? (group = s.nav!.group) : ''
          return (
            <>
              {head && <li class="nav-group" key={head}>{head}</li>}
              <li key={s.path}>
                <Link to={s.path} aria-current={s.path === chosen ? 'page' : undefined}>
                  <Icon name={s.nav!.icon} /><span>{s.nav!.label}</span>
                </Link>
              </li>
            </>
          )
        })}
      </ul>
      <div class="nav-foot">
        <LiveBadge />
        <div class="nav-tools">
          <Menu kind="quiet" align="start" icon={themeIcons[theme.value]} label={phrase(T.$themeTheme, { theme: themeNames[theme.value] })} items={themeChoices().map(({ label, checked, run }) => ({ label, checked, run }))} />
          <Menu kind="quiet" align="start" icon="info" label={T.$statusVocabulary} items={[{ head: true, label: T.$language }, ...languageChoices().map(({ label, checked, run }) => ({ label, checked, run })), { head: true, label: T.$showStatusesInTheWordsOf }, ...dialects.map((d) => ({
            label: dialectNames[d], checked: dialect.value === d, run: () => (dialect.value = d),
          }))]} />
          <Button kind="quiet" icon="keyboard" aria-label={T.$keyboardShortcuts} onClick={() => (helpOpen.value = true)} />
          {session.value?.by === 'browser' && <Button kind="quiet" icon="exit" aria-label={T.$signOut} onClick={() => void logOut()} />}
        </div>
        {session.value && <div class="nav-user" title={'Muster ' + session.value.version}><Icon name="person" /><span>{session.value.user === 'token' ? T.$ownerLower : session.value.user}</span></div>}
      </div>
    </nav>
  )
}
