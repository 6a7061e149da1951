package handover

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// Report is what a move takes along, and what its user has to see to.
type Report struct {
	From         string    `json:"from"` // the data directory
	To           string    `json:"to"`   // address of the server
	Installation string    `json:"installation"`
	ID           string    `json:"id,omitempty"` // of these very records
	Format       int       `json:"format"`       // of the database
	Bytes        int64     `json:"bytes"`        // of files that go
	Goes         []Count   `json:"goes"`
	Look         []Concern `json:"look"`   // what will not be there as it was here
	Blocks       []Concern `json:"blocks"` // why nothing can be moved yet
	DryRun       bool      `json:"dryRun"`
	Moved        bool      `json:"moved"`
	At           time.Time `json:"at,omitzero"` // when it was moved
}

// Count is how many records of a sort go.
type Count struct {
	What string `json:"what"`
	N    int    `json:"count"`
}

// Concern is something about what is moved, and what to do.
type Concern struct {
	What string `json:"what"` // workload vision/train
	Why  string `json:"why"`
	Fix  string `json:"fix"`
}

// Local is the name by which records know tasks of the machine itself.
const Local = "local"

// Examine reads what a store holds on the machine that is the node of that name. Nothing
// is written.
func Examine(ctx context.Context, st store.Store, node string) (Report, error) {
	x := examination{ctx: ctx, st: st, node: node, r: Report{Goes: []Count{}, Look: []Concern{}, Blocks: []Concern{}}}
	x.workloads()
	x.running()
	x.place()
	x.people()
	if x.err == nil {
		x.r.Installation, x.err = st.Installation(ctx)
	}
	return x.r, x.err
}

// examination is an Examine on its way; after an error nothing more is read.
type examination struct {
	ctx  context.Context
	st   store.Store
	node string
	r    Report
	err  error
}

func (x *examination) goes(what string, n int) {
	if n > 0 {
		x.r.Goes = append(x.r.Goes, Count{what, n})
	}
}

// read is one kind of records, unless an error came before.
func read[T any](x *examination, of func(context.Context) ([]T, error)) (all []T) {
	if x.err == nil {
		all, x.err = of(x.ctx)
	}
	return all
}

// workloads counts those that have ended and those that wait, in pages: there may be
// many.
func (x *examination) workloads() {
	ended, waiting, q := 0, 0, store.Query{Limit: 1000}
	for x.err == nil {
		page, err := x.st.List(x.ctx, q)
		if err != nil {
			x.err = err
			return
		}
		for _, w := range page.Items {
			if w.Phase.End() {
				ended++
				continue
			}
			waiting++
			x.look(w)
		}
		if q.Cursor = page.Next; q.Cursor == 0 {
			break
		}
	}
	slices.Reverse(x.r.Look) // a listing has the newest first
	x.goes("workloads that have ended, with their history, logs and GPU time", ended)
	x.goes("workloads that wait, in their places in line", waiting)
}

func nameOf(w *core.Workload) string { return fmt.Sprintf("workload %s/%s", w.Project, w.Name) }

// look finds what a workload that has not ended asks of this machine.
func (x *examination) look(w *core.Workload) {
	concern := func(why, fix string) { x.r.Look = append(x.r.Look, Concern{nameOf(w), why, fix}) }
	d := w.Spec
	if w.Phase == lifecycle.Building || w.Phase == lifecycle.Publishing {
		concern("it is "+string(w.Phase)+", which the next server begins anew", "nothing, if that has what it takes; else wait for it first")
	}
	switch {
	case len(d.Clusters) > 0 && !slices.ContainsFunc(d.Clusters, func(c string) bool { return c != Local }):
		concern("it wants to run on this machine (clusters: local), and waits for one of that name", "change clusters in its document, and submit that again")
	case d.Image == "" && d.Build == nil:
		concern("it has no image, so that it can run on a machine and in no cluster", "submit it again with --image, or move to a server that has --backend local too")
	}
	for _, v := range d.Volumes {
		if v.HostPath != "" {
			concern(fmt.Sprintf("its volume %s is %s of this machine", v.Path, v.HostPath), "bring the files to the nodes under that path, or use a claim")
		}
	}
	if host := hostOf(d); host != "" {
		concern("it asks for the node "+host, "see that there is one of that name")
	}
}

// hostOf is the node that a document names.
func hostOf(d *spec.Document) string {
	for _, label := range []string{"hostname", "kubernetes.io/hostname"} {
		if host := d.NodeSelector[label]; host != "" {
			return host
		}
	}
	return ""
}

// running finds what runs on this machine, which no stream can take along.
func (x *examination) running() {
	for _, e := range read(x, x.st.Live) {
		n := 0
		for i := range e.Tasks {
			if t := &e.Tasks[i]; t.Backend == Local && t.State.Held() {
				n++
			}
		}
		if n > 0 {
			x.r.Blocks = append(x.r.Blocks, Concern{nameOf(e.Workload), fmt.Sprintf("%d of its tasks run on this machine, or may", n),
				"start the server, and muster node drain " + x.node + " sends it back to its queue; or wait for it, or stop it"})
		}
	}
}

// place reads the records of the place.
func (x *examination) place() {
	projects, departments := 0, 0
	for _, p := range read(x, x.st.Projects) {
		if p.Department {
			departments++
		} else {
			projects++
		}
	}
	x.goes("departments, with their quotas", departments)
	x.goes("projects, with their quotas", projects)
	x.goes("node pools", len(read(x, x.st.Pools)))
	x.goes("licenses", len(read(x, x.st.Licenses)))
	for _, r := range read(x, x.st.Reservations) {
		x.r.Look = append(x.r.Look, Concern{"reservation " + r.Name, "it keeps nodes, which are others there", "muster reservation list, once it is moved"})
	}
	kinds := map[core.TemplateKind]int{}
	for _, t := range read(x, x.st.Templates) {
		kinds[t.Kind]++
	}
	names := map[core.TemplateKind]string{core.TemplateSchedule: "schedules", core.TemplatePolicy: "policies", core.TemplateCheck: "checks", core.TemplateReviewed: "images that were approved", core.TemplateDelegation: "delegations of approvals"}
	other := 0
	for kind, n := range kinds {
		if names[kind] == "" {
			other += n
		}
	}
	x.goes("templates and other assets", other)
	for _, kind := range []core.TemplateKind{core.TemplatePolicy, core.TemplateCheck, core.TemplateReviewed, core.TemplateDelegation, core.TemplateSchedule} {
		x.goes(names[kind], kinds[kind])
	}
}

// people reads what belongs to users, and who may do what.
func (x *examination) people() {
	secrets := read(x, x.st.Secrets)
	x.goes("secrets, with the keys that open them", len(secrets))
	x.goes("notifications that users asked for", len(read(x, x.st.Subscriptions)))
	if x.err != nil {
		return
	}
	a, err := x.st.Access(x.ctx)
	if err != nil {
		x.err = err
		return
	}
	x.goes("users and service accounts", len(a.Users))
	x.goes("roles of your own", len(a.Roles))
	x.goes("access rules", len(a.Rules))
	x.goes("tokens", len(a.Tokens))
	head, err := x.st.AuditHead(x.ctx)
	if err != nil {
		x.err = err
		return
	}
	x.goes("entries of the audit log, whose chain goes on", int(head.Seq))
	if !a.Control.Enabled {
		x.r.Look = append(x.r.Look, Concern{"access control", "it is off, as here the machine's own accounts keep others out", "muster access enable there, before others have its token"})
	}
	accounts := slices.DeleteFunc(slices.Clone(a.Users), func(u core.User) bool { return u.OSUser == "" })
	if len(accounts) > 0 {
		slices.SortFunc(accounts, func(a, b core.User) int { return cmp.Compare(a.Name, b.Name) })
		var all []string
		for _, u := range accounts {
			all = append(all, u.Name)
		}
		x.r.Look = append(x.r.Look, Concern{"users " + strings.Join(all, ", "), "they have accounts of this machine, as which their tasks run here; pods run as their images, or runAs, say", "give them tokens: muster token create"})
	}
}
