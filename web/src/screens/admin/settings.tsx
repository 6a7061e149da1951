import type { ComponentType } from 'preact'
import type { ScreenProps } from '../../screen'
import { Page, Tabs } from '../../ui/basics'
import { Events } from './events'
import { Notifications } from './notifications'
import { Pools } from './pools'
import { Rules } from './rules'
import { Secrets } from './secrets'
import { Server } from './server'
import { Templates } from './templates'

const tabs: { id: string; title: string; view: ComponentType }[] = [
  { id: 'pools', title: 'Pools', view: Pools },
  { id: 'rules', title: 'Rules and checks', view: Rules },
  { id: 'secrets', title: 'Secrets', view: Secrets },
  { id: 'templates', title: 'Assets', view: Templates },
  { id: 'notifications', title: 'Notifications', view: Notifications },
  { id: 'events', title: 'Events', view: Events },
  { id: 'server', title: 'Server', view: Server },
]

export function Admin({ query }: ScreenProps) {
  const tab = tabs.find((t) => t.id === query.get('tab')) ?? tabs[0]!
  return (
    <Page title="Settings" class="admin">
      <Tabs label="Settings" tabs={tabs} chosen={tab.id} to={(id) => 'settings?tab=' + id} />
      <div id="tabpanel" role="tabpanel" aria-labelledby={'tab-' + tab.id} class="panel"><tab.view key={tab.id} /></div>
    </Page>
  )
}
