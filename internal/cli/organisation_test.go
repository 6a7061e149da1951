package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/submit"
)

// organisationAPI answers what is asked about projects, pools and nodes, and
// notes what is asked of them.
func organisationAPI(asked *[]string) http.Handler {
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, v any) { answer(w, http.StatusOK, v) }
	node := api.Node{
		Name: "gpu-a01", Backend: "kube", Pool: "h100", Ready: true, Cordoned: true, Draining: true, Note: "fan", Tasks: 2,
		Labels: map[string]string{"rack": "r1", "gpu": "h100"}, Taints: []api.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}, {Key: "x", Effect: "NoExecute"}},
		CPU: api.Amount{Total: 64000, Used: 1500}, Memory: api.Amount{Total: 512 << 30, Used: 1 << 30}, GPU: api.Amount{Total: 2000, Used: 500},
		Devices: []api.Device{{ID: "GPU-0", Product: "H100", Memory: 80 << 30, Healthy: true, Used: 500}, {ID: "GPU-1", Index: 1, Product: "H100", Memory: 80 << 30}},
	}
	project := api.Project{Name: "vision", Stopped: true, StoppedBy: "lab", Warnings: []string{"too much"}, ProjectSpec: api.ProjectSpec{
		Parent: "lab", Note: "noon", Priority: ptr(200), PoolOrder: []string{"h100", "default"}, NodeTypes: map[string][]string{"training": {"a", "b"}},
		Pools: map[string]api.PoolQuota{
			"h100": {GPU: &api.ResourceQuota{Quota: ptr(32.0), Limit: ptr(64.0), Weight: ptr(3.0)}, Memory: &api.MemoryQuota{Quota: "2Ti"}},
			"*":    {GPU: &api.ResourceQuota{Quota: ptr(0.0)}}, "free": {},
		},
		UserLimit: &api.UserLimit{GPU: ptr(8.0), MaxRunning: 1}, MaxRunning: 20, ReclaimMinRuntime: "10m",
	}}
	note := func(v any) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
			write(w, v)
		}
	}
	mux.HandleFunc("GET /v1/projects", func(w http.ResponseWriter, _ *http.Request) { write(w, api.ProjectList{Items: []api.Project{project}}) })
	mux.HandleFunc("GET /v1/nodes/{name}", func(w http.ResponseWriter, _ *http.Request) { write(w, node) })
	mux.HandleFunc("GET /v1/pools", func(w http.ResponseWriter, _ *http.Request) {
		write(w, api.PoolList{Items: []api.Pool{
			{Name: "default"}, {
				Name: "h100", Nodes: 2, GPU: api.Amount{Total: 16000, Used: 500}, CPU: api.Amount{Total: 1000},
				PoolSpec: api.PoolSpec{Selector: "gpu=h100", Topology: []string{"block", "rack"}, Placement: &api.PoolPlacement{GPU: "spread"}, MinRuntime: "10m"},
			},
		}})
	})
	mux.HandleFunc("GET /v1/quota", func(w http.ResponseWriter, _ *http.Request) {
		write(w, api.StandingList{Items: []api.Standing{
			{Project: "lab", Department: true, Pool: "h100", GPU: api.Use{Used: 108, Weight: 2}, Queued: 3},
			{Project: "vision", Parent: "lab", Pool: "h100", GPU: api.Use{Guaranteed: ptr(32.0), Used: 46, Reserved: 2, Over: 16, Limit: ptr(64.0), Weight: 3, Fixed: 4, Share: ptr(1.5)}, Queued: 3},
		}})
	})
	mux.HandleFunc("POST /v1/nodes/{name}/drain", note(api.Drain{Node: node, Items: []api.DrainStep{
		{Project: "vision", Workload: "train", User: "ana", Tasks: 2, GPU: 1500, Action: "move", Grace: "30s"},
		{Project: "vision", Workload: "big", User: "ben", Tasks: 1, GPU: 8000, Action: "park", Grace: "30s"},
		{Project: "nlp", Workload: "chat", User: "ana", Tasks: 1, Action: "wait", EndsBy: ptr(api.Time(noon.Add(time.Hour)))},
	}}))
	for _, pattern := range []string{"POST /v1/nodes/{name}/cordon", "POST /v1/nodes/{name}/uncordon", "POST /v1/nodes/{name}/label", "POST /v1/nodes/{name}/taint"} {
		mux.HandleFunc(pattern, note(node))
	}
	for _, pattern := range []string{"POST /v1/projects", "PATCH /v1/projects/{name}", "PATCH /v1/departments/{name}", "POST /v1/projects/{name}", "POST /v1/departments/{name}"} {
		mux.HandleFunc(pattern, note(project))
	}
	for _, pattern := range []string{"POST /v1/pools", "PATCH /v1/pools/{name}"} {
		mux.HandleFunc(pattern, note(api.Pool{Name: "h100", Nodes: 2}))
	}
	return mux
}

func TestOrganisationTexts(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"org-project":  "project describe vision",
		"org-projects": "project list",
		"org-node":     "node describe gpu-a01",
		"org-pools":    "pool list",
		"org-quota":    "quota -o wide",
		"org-drain":    "node drain gpu-a01 --dry-run",
	} {
		inBoth(t, name, strings.Fields(args), organisationAPI(new([]string)), outputAndNotes)
	}
}

func TestOrganisersAsk(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"node cordon gpu-a01 -m fan":                            `POST /v1/nodes/gpu-a01/cordon {"note":"fan"}`,
		"node uncordon gpu-a01":                                 `POST /v1/nodes/gpu-a01/uncordon {}`,
		"node drain gpu-a01 --force":                            `POST /v1/nodes/gpu-a01/drain {"force":true}`,
		"node label gpu-a01 a=b c= example.com/d-":              `POST /v1/nodes/gpu-a01/label {"set":{"a":"b","c":""},"drop":["example.com/d"]}`,
		"node taint gpu-a01 k=v:NoSchedule x:NoExecute y- z:A-": `POST /v1/nodes/gpu-a01/taint {"drop":["y","z:A"],"taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"x","effect":"NoExecute"}]}`,
		"project create a":                                      `POST /v1/projects {"name":"a"}`,
		"project create a --parent b --quota h100.gpu=2.5 --limit memory=2Ti --weight gpu=high": `POST /v1/projects {"name":"a","parent":"b","pools":{"*":{"gpu":{"weight":3},"memory":{"limit":"2Ti"}},"h100":{"gpu":{"quota":2.5}}}}`,
		"project update a --limit x.y.gpu=none --forget-pool z --max-running 0":                 `PATCH /v1/projects/a {"maxRunning":0,"pools":{"x.y":{"gpu":{"limit":null}},"z":null}}`,
		"department update a --priority 5 --user-gpus none --node-types training=":              `PATCH /v1/departments/a {"nodeTypes":{"training":null},"priority":5,"userLimit":{"gpu":null}}`,
		"project stop a --mode hold-and-drain -m why":                                           `POST /v1/projects/a:stop {"note":"why","mode":"hold-and-drain"}`,
		"department open a": `POST /v1/departments/a:start`,
		"pool create a --selector x=y --placement-cpu spread --topology b,r": `POST /v1/pools {"name":"a","selector":"x=y","placement":{"cpu":"spread"},"topology":["b","r"]}`,
		"pool update a --min-runtime 0s":                                     `PATCH /v1/pools/a {"minRuntime":"0s"}`,
	} {
		var asked []string
		w := newWorld(t, organisationAPI(&asked))
		if code := w.run(strings.Fields(args)...); code != 0 || len(asked) != 1 || asked[0] != want {
			t.Errorf("%s: exit code %d, asked %q, want %s: %s", args, code, asked, want, w.err.String())
		}
	}
	for _, args := range []string{
		"node cordon", "node cordon a b", "node label a", "node label a b", "node label a -", "node taint a k", "node taint a :NoSchedule", "node drain", "node describe",
		"project create", "project create a --quota gpus=1", "project create a --quota gpu", "project create a --quota gpu=x", "project update a", "project update a --weight gpu=huge",
		"project update a --node-types x", "project update a --quota z.gpu=1 --forget-pool z", "project delete a", "pool create", "pool update a", "pool delete a", "quota --resource disk", "apply", "department delete",
	} {
		var asked []string
		w := newWorld(t, organisationAPI(&asked))
		if code := w.run(strings.Fields(args)...); code != session.ExitUsage || len(asked) > 0 {
			t.Errorf("%s: exit code %d, asked %q: %s", args, code, asked, w.err.String())
		}
	}
}

func TestLinesOfFields(t *testing.T) {
	t.Parallel()
	const text = "kind: Node\nname: n\nlabels:\n  example.com/rack: r1\n  a: b\ntaints:\n  - key: k\n    effect: Never\n  - {key: x, effect: NoSchedule}\n---\n# nothing\n---\nkind: Pool\n"
	m := &submit.Manifest{}
	err := m.Read("f", []byte(text))
	items, nodes := m.Records.Items, m.Places
	if err != nil || len(items) != 2 || items[0]["name"] != "n" || items[1]["kind"] != "Pool" {
		t.Fatalf("%v, %v", items, err)
	}
	for path, want := range map[string]int{
		"": 1, "name": 2, "labels": 3, "labels.example.com/rack": 4, "labels.a": 5, "labels.gone": 4, "taints[0].effect": 8, "taints[1].key": 9, "gone": 1,
	} {
		if got := nodes[0].Line(path); got != want {
			t.Errorf("%q is in line %d, want %d", path, got, want)
		}
	}
	if got := nodes[1].Line("name"); got != 13 {
		t.Errorf("of the last document: line %d", got)
	}
	for _, text := range []string{"a: [", "- a", "text", "a: 1\na: 2", "{1: 2"} {
		if err := new(submit.Manifest).Read("f", []byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
