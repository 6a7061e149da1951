package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// course is what a workload may have come to.
func (m *model) course() core.Course {
	c := core.Course{Replicas: m.r.IntN(3), Generation: m.r.IntN(2), Image: pick(m.r, texts...)}
	if m.r.IntN(2) == 0 {
		c.Checks = []core.CheckState{{Name: "legal", Verdict: core.CheckAsked, Users: []string{"ada"}, Timeout: 3, AskAt: m.instant()}}
		c.Again = "user:ada"
		c.Published = &core.Published{Ref: "r", Size: 1 << 40}
		c.RuleUses, c.IdleSince, c.Warned = []int{0, 2}, m.instant(), m.instant()
	}
	return c
}

// instant is at a whole microsecond near the epoch, or none.
func (m *model) instant() time.Time {
	if m.r.IntN(4) == 0 {
		return time.Time{}
	}
	return epoch.Add(time.Duration(m.r.IntN(40)) * time.Microsecond)
}

// edit gives a version of a batch, which it may share with others, another
// document. It is the newest version of it.
func (m *model) edit(b *store.Batch, n *core.Workload) {
	n.Spec = &spec.Document{Name: n.Name, Image: "edited", Labels: map[string]string{pick(m.r, "x", "y"): pick(m.r, "1", "2")}}
	b.Edited = append(b.Edited, n.ID)
}

func (m *model) task(n *core.Workload) *core.Task {
	k := task(n.ID, n.Attempt, m.r.IntN(3))
	k.ID.Run, k.Pool = m.r.IntN(2), pick(m.r, "", "x", "y")
	k.PlacedAt, k.ReleasedAt, k.Devices = m.instant(), m.instant(), nil
	k.Counted = pick(m.r, "", "rdma/hca=2", "2g.10gb=2,rdma/hca=1")
	for i := range m.r.IntN(4) {
		k.Devices = append(k.Devices, core.Share{Device: pick(m.r, "a", "b"), Index: i, Milli: pick(m.r, 0, 1, 500, 1000)})
	}
	return k
}

func (m *model) chooseSecrets(b *store.Batch) {
	for range m.r.IntN(3) {
		k := secret(pick(m.r, "ada", "bob"), pick(m.r, "a", "b", "c"))
		k.CreatedAt, k.Everywhere = m.instant(), m.r.IntN(2) == 0
		id := core.SecretID{User: k.User, Name: k.Name}
		if slices.ContainsFunc(b.Secrets, func(o core.Secret) bool { return o.User == id.User && o.Name == id.Name }) {
			continue
		}
		if _, there := m.secrets[id]; there || m.r.IntN(4) == 0 {
			b.DropSecrets = append(b.DropSecrets, id)
		}
		if m.r.IntN(2) == 0 {
			b.Secrets = append(b.Secrets, k)
		}
	}
}

func (m *model) compareSecrets() {
	m.world.secrets(slices.SortedFunc(maps.Values(m.secrets), func(a, b core.Secret) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
	})...)
}

// charged is the meaning of a UseQuery.
func (m *model) charged(q store.UseQuery) []core.Use {
	var all []core.Use
	for _, n := range m.ws {
		if q.Project != "" && n.Project != q.Project || q.User != "" && n.User != q.User || q.Workload != "" && n.ID != q.Workload {
			continue
		}
		for _, id := range m.taskIDs() {
			k := m.tasks[id]
			from, to := k.PlacedAt, k.ReleasedAt
			if to.IsZero() {
				to = q.Now
			}
			if from.Before(q.From) && !from.IsZero() {
				from = q.From
			}
			if !q.To.IsZero() && q.To.Before(to) {
				to = q.To
			}
			if id.Workload != n.ID || from.IsZero() || !from.Before(to) {
				continue
			}
			have := slices.Clone(k.Devices)
			if strings.HasPrefix(k.Counted, "2g.10gb=2") {
				have = append(have, core.Share{Device: k.Counted, Milli: 4000})
			}
			for _, d := range have {
				if d.Milli > 0 {
					all = append(all, core.Use{
						Workload: n.ID, Name: n.Name, Project: n.Project, User: n.User, Kind: n.Kind, Attempt: id.Attempt, Task: id.Index, Run: id.Run,
						Succeeded: k.State == core.TaskSucceeded, Node: k.Node, Device: d.Device, Milli: d.Milli, From: from, To: to,
						GPUSeconds: to.Sub(from).Seconds() * float64(d.Milli) / 1000,
					})
				}
			}
		}
	}
	return all
}

// taskIDs are those of all tasks, by attempt, index and run.
func (m *model) taskIDs() []core.TaskID {
	return slices.SortedFunc(maps.Keys(m.tasks), func(a, b core.TaskID) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Run, b.Run))
	})
}

// compareSpans asks who had what since some time.
func (m *model) compareSpans() {
	from, now := m.instant(), epoch.Add(time.Duration(m.r.IntN(50))*time.Microsecond)
	var want, got []string
	for id, k := range m.tasks {
		i := slices.IndexFunc(m.ws, func(n *core.Workload) bool { return n.ID == id.Workload })
		to := k.ReleasedAt
		if to.IsZero() {
			to = now
		}
		if k.PlacedAt.IsZero() || !k.PlacedAt.Before(to) || !to.After(from) {
			continue
		}
		want = append(want, fmt.Sprintf("%s %s %d %d %d %v %v", m.ws[i].Project, k.Pool, k.Milli(), k.CPU, k.Memory, k.PlacedAt, to))
	}
	if err := m.s.Spans(m.t.Context(), from, now, func(s core.Span) bool {
		got = append(got, fmt.Sprintf("%s %s %d %d %d %v %v", s.Project, s.Pool, s.Milli, s.CPU, s.Memory, s.From, s.To))
		return true
	}); err != nil {
		m.t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	m.sameUses(fmt.Sprintf("Spans(%v, %v)", from, now), got, want)
}

// choosePromises replaces the promises by others now and then.
func (m *model) choosePromises(b *store.Batch) {
	if m.r.IntN(3) > 0 {
		return
	}
	b.Promises = []core.Promise{}
	for _, i := range m.r.Perm(len(m.ws))[:m.r.IntN(min(len(m.ws), 3)+1)] {
		b.Promises = append(b.Promises, core.Promise{Workload: m.ws[i].ID, Tasks: m.r.IntN(9)})
	}
}

// compareUses asks for random spans, and for both halves of each: time is
// neither lost nor charged twice between them.
func (m *model) compareUses() {
	for range 20 {
		q := store.UseQuery{Now: epoch.Add(time.Duration(m.r.IntN(50)) * time.Microsecond), From: m.instant(), To: m.instant()}
		if m.r.IntN(3) == 0 {
			q.Project = pick(m.r, core.ProjectID("p"), "q", "none")
		}
		if m.r.IntN(3) == 0 {
			q.User = pick(m.r, "ada", "bob", "none")
		}
		if m.r.IntN(3) == 0 && len(m.ws) > 0 {
			q.Workload = m.ws[m.r.IntN(len(m.ws))].ID
		}
		var want []string
		for _, u := range m.charged(q) {
			want = append(want, printed(u))
		}
		m.sameUses(fmt.Sprintf("Uses(%+v)", q), m.printed(q), want)
		first, second := q, q
		first.To = epoch.Add(time.Duration(m.r.IntN(50)) * time.Microsecond)
		second.From = first.To
		if !q.To.IsZero() && q.To.Before(first.To) || q.From.After(first.To) {
			continue
		}
		if whole, parts := m.sum(q), m.sum(first)+m.sum(second); whole != parts {
			m.t.Errorf("Uses(%+v): %d, but %d when it is cut at %v", q, whole, parts, first.To)
		}
	}
}

// printed is a use with its charge to a millionth of a microsecond: sums in
// another order differ in the last bit.
func printed(u core.Use) string {
	seconds := u.GPUSeconds
	u.GPUSeconds = 0
	return useText(u) + fmt.Sprintf(" %.12f", seconds)
}

func (m *model) printed(q store.UseQuery) []string {
	var all []string
	if err := m.s.Uses(m.t.Context(), q, func(u core.Use) bool { all = append(all, printed(u)); return true }); err != nil {
		m.t.Fatal(err)
	}
	return all
}

// sum is in microseconds of thousandths, where sums are exact.
func (m *model) sum(q store.UseQuery) (sum int64) {
	if err := m.s.Uses(m.t.Context(), q, func(u core.Use) bool {
		sum += u.To.Sub(u.From).Microseconds() * int64(u.Milli)
		return true
	}); err != nil {
		m.t.Fatal(err)
	}
	return sum
}
