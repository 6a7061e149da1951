package browser_test

import "testing"

// kept are the addresses that the worker keeps, and worker is true once it serves the page.
const (
	kept   = `caches.open('muster-shell').then(c => c.keys()).then(all => all.map(r => r.url))`
	worker = `navigator.serviceWorker.controller && navigator.serviceWorker.controller.state === 'activated'`
)

// The pages are an app: they open without their server and say that it is away, keep
// nothing that it said, and are of a new release as soon as the server is.
func TestThePagesAreAnApp(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: seen, command: "true"}`)
	g := w.enter(1280, 800)
	g.until(worker)
	g.must(g.Open(w.url + "/ui/workloads")) // once more, so that the worker has seen what is loaded
	g.until(row("seen") + `.includes('seen')`)
	g.must(g.UntilPromised(kept + `.then(all => all.some(u => u.includes('app.js')) && all.some(u => u.endsWith('/ui/')))`))
	var data []string
	g.must(g.Eval(kept+`.then(all => all.filter(u => !new URL(u).pathname.startsWith('/ui/')))`, &data))
	if len(data) > 0 {
		t.Errorf("kept are %q", data)
	}
	g.must(g.UntilPromised(`fetch(document.querySelector('link[rel=manifest]').href).then(r => r.ok && r.headers.get('Content-Type') === 'application/manifest+json' && r.json()).then(m => m.display === 'standalone' && m.icons.length > 0)`))

	// What another release has left goes with the first page of this one.
	g.must(g.Eval(`caches.open('muster-shell').then(async c => {
		const page = (await c.keys()).find(r => r.url.endsWith('/ui/'))
		await c.put(page, new Response('old', {headers: {'Content-Type': 'text/html', 'X-Release': 'former'}}))
		await c.put(new URL('left.js', page.url), new Response('old'))
	})`, nil))
	g.must(g.Open(w.url + "/ui/workloads"))
	g.must(g.UntilPromised(kept + `.then(all => !all.some(u => u.endsWith('left.js')) && all.some(u => u.includes('app.js')))`))

	w.stop()
	g.must(g.Open(w.url + "/ui/workloads/default/seen"))
	g.until(`document.querySelector('.shell') && new URL('.', document.baseURI).pathname === '/ui/'`)
	g.until(`document.querySelector('.failure, .notice.lost')`)
	w.start()
	g.until(`document.querySelector('h1')?.innerText === 'seen' && document.querySelector('.nav .live').dataset.state === 'live'`)
}

// Who follows a workload is told when it ends; nobody is asked before that.
func TestAFollowedWorkloadIsToldOf(t *testing.T) {
	w := newWorldInWhole(t)
	gone := t.TempDir() + "/go"
	w.submit(`{name: watched, command: "until [ -e ` + gone + ` ]; do sleep 0.05; done"}`)
	w.muster("wait", "watched", "--for", "Running")
	g := w.enter(1280, 800)
	g.until(worker)
	g.must(g.Eval(`Notification.requestPermission = (ask => function() { window.asked = true; return ask.call(Notification) })(Notification.requestPermission)`, nil))
	g.must(g.Grant("notifications", w.url))
	g.must(g.Eval(`history.pushState(null, '', '/ui/workloads/default/watched'); dispatchEvent(new PopStateEvent('popstate'))`, nil))
	g.until(`document.querySelector('h1')?.innerText === 'watched' && !window.asked`)
	g.click(`button[aria-label="More"]`)
	g.clickText(".menu button", "Notify me in this browser")
	g.shows("You are notified when watched starts or ends")
	g.until(`window.asked`)
	touch(t, gone)
	const shown = `navigator.serviceWorker.getRegistration().then(r => r.getNotifications())`
	g.must(g.UntilPromised(shown + `.then(all => all.some(n => n.title === 'watched: Completed' && n.data.path === 'workloads/default/watched'))`))
	g.until(`localStorage.getItem('muster.followed') === '{}'`) // it cannot do more
}
