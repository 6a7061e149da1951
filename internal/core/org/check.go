package org

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Error says which field of a record is at fault, and what to do.
type Error struct {
	Field, Message, Hint string
}

func (e *Error) Error() string { return e.Field + ": " + e.Message }

func wrong(field, hint, format string, args ...any) error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Named reports whether a text can name a project, a department or a pool.
func Named(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= spec.MaxName && s[len(s)-1] != '-'
}

func named(s string) error {
	if Named(s) {
		return nil
	}
	return wrong("name", "begin with a letter; lower-case letters, digits and '-', at most 52 characters", "%q is not a name", s)
}

// Check says why a project or department cannot be as it is in t. Pools is
// what pools there are.
func (t Tree) Check(p *core.Project, pools []string) error {
	for _, check := range []func() error{
		func() error { return named(string(p.ID)) },
		func() error { return t.parent(p) },
		func() error { return quotas(p, pools) },
		func() error { return listed("poolOrder", p.PoolOrder, pools) },
		func() error { return nodeTypes(p.NodeTypes) },
		func() error { return numbers(p) },
		func() error { return rules(&p.Rules) },
		func() error { return budgets(p.Budgets) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Tree) parent(p *core.Project) error {
	if p.Parent == "" {
		return nil
	}
	above, ok := t(p.Parent)
	switch {
	case p.Parent == p.ID:
		return wrong("parent", "name another department, or none", "%q cannot stand below itself", p.ID)
	case !ok:
		return wrong("parent", fmt.Sprintf("muster department create %s makes it", p.Parent), "department %q does not exist", p.Parent)
	case !above.Department:
		return wrong("parent", "muster department list shows the departments", "%q is a project; projects stand below departments only", p.Parent)
	}
	path := t.Path(p.Parent)
	if i := slices.IndexFunc(path, func(x core.Project) bool { return x.ID == p.ID }); i >= 0 {
		names := []string{string(p.ID)}
		for _, x := range path[:i+1] {
			names = append(names, string(x.ID))
		}
		return wrong("parent", "move one of them elsewhere first", "it would stand above itself: %s", strings.Join(names, " below "))
	}
	if len(path) >= pathMax-1 {
		return wrong("parent", "hang it further up", "it would stand more than %d levels deep", pathMax)
	}
	return nil
}

func quotas(p *core.Project, pools []string) error {
	for _, pool := range slices.Sorted(maps.Keys(p.Pools)) {
		if err := known("pools", pool, pools, true); err != nil {
			return err
		}
		for _, r := range core.Resources() {
			field := fmt.Sprintf("pools.%s.%s", pool, r)
			q := p.Pools[pool].Of(r)
			for _, v := range []struct {
				name string
				n    *float64
			}{{"quota", q.Quota}, {"limit", q.Limit}, {"weight", q.Weight}, {"lendingLimit", q.LendingLimit}} {
				if err := amount(field+"."+v.name, v.n); err != nil {
					return err
				}
			}
			switch l := q.LendingLimit; {
			case l != nil && q.Quota == nil:
				return wrong(field+".lendingLimit", "give it a quota, or leave the lending limit out", "there is no quota of which it could be")
			case l != nil && *l > *q.Quota:
				return wrong(field+".lendingLimit", "lower it, or leave it out: then all of the quota is lent", "%v is more than its quota, %v", *l, *q.Quota)
			}
			if q.Quota != nil && q.Limit != nil && *q.Limit < *q.Quota {
				return wrong(field+".limit", "raise the limit, or lower the quota", "%v is less than its quota, %v", *q.Limit, *q.Quota)
			}
		}
	}
	return nil
}

// amountMax bounds amounts, so that sums of them stay exact.
const amountMax = 1 << 53

func amount(field string, n *float64) error {
	if n == nil || *n >= 0 && *n <= amountMax { // not a number is neither
		return nil
	}
	if math.IsNaN(*n) || *n > 0 {
		return wrong(field, "leave it out for no bound", "%v is not an amount", *n)
	}
	return wrong(field, "write 0 or more, or leave it out for no bound", "%v is negative", *n)
}

func known(field, pool string, pools []string, any bool) error {
	if any && pool == core.AnyPool || slices.Contains(pools, pool) {
		return nil
	}
	hint := "there are " + strings.Join(pools, ", ")
	if any {
		hint += "; * stands for all that are not named"
	}
	return wrong(field, hint+"; muster pool create makes one", "pool %q does not exist", pool)
}

func listed(field string, names, pools []string) error {
	for i, name := range names {
		if err := known(fmt.Sprintf("%s[%d]", field, i), name, pools, false); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return wrong(fmt.Sprintf("%s[%d]", field, i), "write each pool once", "%q stands there twice", name)
		}
	}
	return nil
}

func kind(field string, k lifecycle.Kind) error {
	if slices.Contains(lifecycle.Kinds(), k) {
		return nil
	}
	var all []string
	for _, k := range lifecycle.Kinds() {
		all = append(all, string(k))
	}
	return wrong(field+"."+string(k), "one of "+strings.Join(all, ", "), "%q is not a kind", k)
}

func nodeTypes(m map[lifecycle.Kind][]string) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := kind("nodeTypes", k); err != nil {
			return err
		}
		if len(m[k]) == 0 || slices.Contains(m[k], "") {
			return wrong("nodeTypes."+string(k), "name node types, or leave the kind out for any", "is empty, or has an empty name")
		}
	}
	return nil
}

func numbers(p *core.Project) error {
	for _, n := range []struct {
		field string
		n     int
	}{{"maxRunning", p.MaxRunning}, {"userLimit.maxRunning", p.UserLimit.MaxRunning}, {"maxQueued", p.MaxQueued}, {"userLimit.maxQueued", p.UserLimit.MaxQueued}} {
		if n.n < 0 {
			return wrong(n.field, "write how many workloads may run or wait, or 0 for any", "%d is negative", n.n)
		}
	}
	for _, d := range []struct {
		field string
		d     *time.Duration
	}{{"preemptMinRuntime", p.PreemptMinRuntime}, {"reclaimMinRuntime", p.ReclaimMinRuntime}} {
		if d.d != nil && *d.d < 0 {
			return wrong(d.field, "write a length of time like 10m, or 0s for none", "%v is negative", *d.d)
		}
	}
	if d := p.BorrowingTimeLimit; d != nil && *d <= 0 {
		return wrong("borrowingTimeLimit", "write a length of time like 4h, or leave it out: then nothing has to end; a limit equal to the quota forbids borrowing", "%v is not a limit", *d)
	}
	if m := p.StopMode; m != core.StopNone && m != core.StopHold && m != core.StopHoldAndDrain {
		return wrong("stopMode", "one of hold, hold-and-drain; empty: it is open", "%q is not a mode", m)
	}
	return amount("userLimit.gpu", p.UserLimit.GPU)
}

func rules(r *core.Rules) error {
	for _, l := range []struct {
		field string
		m     map[lifecycle.Kind]time.Duration
	}{{"timeLimit", r.TimeLimit}, {"idleLimit", r.IdleLimit}} {
		for _, k := range slices.Sorted(maps.Keys(l.m)) {
			of := k
			if l.field == "idleLimit" {
				of = core.IdleKind(k)
			}
			if err := kind(l.field, of); err != nil {
				return err
			}
			if l.m[k] <= 0 {
				return wrong(l.field+"."+string(k), "write a length of time like 12h", "%v is not a limit", l.m[k])
			}
		}
	}
	if err := amount("budgetGpuHours", &r.Budget); err != nil {
		return err
	}
	if r.Period < 0 || r.Budget > 0 && r.Period == 0 {
		return wrong("budgetPeriod", "write the length of the period, like 30d", "is missing beside budgetGpuHours")
	}
	return nil
}

// CheckPool says why a pool cannot be as it is beside the others.
func CheckPool(p *core.Pool, all map[string]core.Pool) error {
	if err := named(p.Name); err != nil {
		return err
	}
	if p.Name == core.DefaultPool && p.Selector != (core.Label{}) {
		return wrong("selector", "leave it out; make another pool for these nodes", "the default pool has the nodes that no other gathers, and no selector")
	}
	if p.Name != core.DefaultPool {
		if err := CheckLabel("selector", p.Selector); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if name != p.Name && all[name].Selector == p.Selector {
				return wrong("selector", "choose another label", "pool %q gathers the nodes with %s already", name, p.Selector)
			}
		}
	}
	strategies := []core.Strategy{"", core.PlaceFill, core.PlaceBinPack, core.PlaceSpread}
	for _, s := range []struct {
		field string
		s     core.Strategy
	}{{"placement.gpu", p.Placement.GPU}, {"placement.cpu", p.Placement.CPU}} {
		if !slices.Contains(strategies, s.s) {
			return wrong(s.field, "one of fill, binpack, spread", "%q is not a strategy", s.s)
		}
	}
	for i, key := range p.Topology {
		field := fmt.Sprintf("topology[%d]", i)
		if !labelKey(key) {
			return wrong(field, labelHint, "%q is not the key of a label", key)
		}
		if slices.Contains(p.Topology[:i], key) {
			return wrong(field, "write each level once, the widest first", "%q stands there twice", key)
		}
	}
	if p.MinRuntime < 0 {
		return wrong("minRuntime", "write a length of time like 10m, or 0s for none", "%v is negative", p.MinRuntime)
	}
	return nil
}

const labelHint = "letters, digits, '-', '_', '.' and, in the key, '/'; at most 63 characters after it"

// CheckLabel says why a node cannot have a label.
func CheckLabel(field string, l core.Label) error {
	if !labelKey(l.Key) {
		return wrong(field, labelHint, "%q is not the key of a label", l.Key)
	}
	if !labelPart(l.Value, true) {
		return wrong(field, labelHint, "%q is not the value of a label", l.Value)
	}
	return nil
}

// CheckTaint says why a node cannot have a taint.
func CheckTaint(t core.Taint) error {
	if err := CheckLabel("taints", core.Label{Key: t.Key, Value: t.Value}); err != nil {
		return err
	}
	if !slices.Contains([]core.TaintEffect{core.NoSchedule, core.PreferNoSchedule, core.NoExecute}, t.Effect) {
		return wrong("taints", "one of NoSchedule, PreferNoSchedule, NoExecute", "%q is not the effect of a taint", t.Effect)
	}
	return nil
}

func labelKey(key string) bool {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		return labelPart(key, false)
	}
	return len(prefix) <= 253 && labelPart(name, false) && labelPart(prefix[:min(len(prefix), 63)], false)
}

func labelPart(s string, empty bool) bool {
	if s == "" {
		return empty
	}
	if len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || i == len(s)-1 || strings.IndexByte("-_.", c) < 0) {
			return false
		}
	}
	return true
}
