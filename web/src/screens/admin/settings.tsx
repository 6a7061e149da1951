import type { ComponentType } from 'preact'
import type { ScreenProps } from '../../screen'
import { Page, Tabs } from '../../ui/basics'
import { Events } from './events'
import { Notifications } from './notifications'
import { Pools } from './pools'
import { Limits } from './limits'
import { Rules } from './rules'
import { Secrets } from './secrets'
import { Server } from './server'
import { Templates } from './templates'
import { T } from '../../texts'

const tabs: { id: string; title: string; view: ComponentType }[] = [
  { id: 'pools', title: T.$pools, view: Pools },
  { id: 'rules', title: T.$rulesAndChecks, view: Rules },
  { id: 'limits', title: T.$limitsAndPrices, view: Limits },
  { id: 'secrets', title: T.$secrets, view: Secrets },
  { id: 'templates', title: T.$assets, view: Templates },
  { id: 'notifications', title: T.$notifications, view: Notifications },
  { id: 'events', title: T.$events, view: Events },
  { id: 'server', title: T.$server, view: Server },
]

export function Admin({ query }: ScreenProps) {
  const tab = tabs.find((t) => t.id === query.get('tab')) ?? tabs[0]!
  return (
    <Page title={T.$settings} class="admin">
      <Tabs label={T.$settings} tabs={tabs} chosen={tab.id} to={(id) => 'settings?tab=' + id} />
      <div id="tabpanel" role="tabpanel" aria-labelledby={'tab-' + tab.id} class="panel"><tab.view key={tab.id} /></div>
    </Page>
  )
}
