package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/server/problem"
)

// Project is the API's form of p, which stands in tree.
func Project(p core.Project, tree org.Tree) api.Project {
	out := api.Project{Name: string(p.ID), Department: p.Department, CreatedAt: At(p.CreatedAt), ProjectSpec: ProjectSpec(p)}
	if mode, by := tree.Stopped(p.ID); mode != core.StopNone {
		out.Stopped = true
		if p.StopMode == core.StopNone {
			out.StoppedBy, out.Note = string(by.ID), by.Note
		}
	}
	out.Effective = effectiveRules(p, tree)
	return out
}

// effectiveRules are what holds for what is submitted to p now; nil: nothing does.
func effectiveRules(p core.Project, tree org.Tree) *api.EffectiveRules {
	rules := tree.Rules(p.ID)
	out := api.EffectiveRules{TimeLimit: lengths(rules.TimeLimit), IdleLimit: lengths(rules.IdleLimit)}
	for _, k := range lifecycle.Kinds() {
		if types := tree.NodeTypes(p.ID, k); types != nil {
			if out.NodeTypes == nil {
				out.NodeTypes = map[string][]string{}
			}
			out.NodeTypes[string(k)] = types
		}
	}
	if len(out.TimeLimit)+len(out.IdleLimit)+len(out.NodeTypes) == 0 {
		return nil
	}
	return &out
}

// ProjectSpec is what was decided about a project.
func ProjectSpec(p core.Project) api.ProjectSpec {
	priority := p.Priority
	out := api.ProjectSpec{
		Parent: string(p.Parent), StopMode: string(p.StopMode), Note: p.Note, Priority: &priority, PoolOrder: p.PoolOrder, MaxRunning: p.MaxRunning,
		PreemptMinRuntime: lengthText(p.PreemptMinRuntime), ReclaimMinRuntime: lengthText(p.ReclaimMinRuntime), BorrowingTimeLimit: lengthText(p.BorrowingTimeLimit), ProjectRules: projectRules(p.Rules),
	}
	if len(p.Pools) > 0 {
		out.Pools = make(map[string]api.PoolQuota, len(p.Pools))
		for name, q := range p.Pools {
			out.Pools[name] = poolQuota(q)
		}
	}
	if len(p.NodeTypes) > 0 {
		out.NodeTypes = make(map[string][]string, len(p.NodeTypes))
		for k, types := range p.NodeTypes {
			out.NodeTypes[string(k)] = types
		}
	}
	if p.UserLimit != (core.UserLimit{}) {
		out.UserLimit = &api.UserLimit{GPU: p.UserLimit.GPU, MaxRunning: p.UserLimit.MaxRunning, MaxQueued: p.UserLimit.MaxQueued}
	}
	out.MaxQueued = p.MaxQueued
	for _, b := range p.Budgets {
		out.Budgets = append(out.Budgets, Budget(b))
	}
	return out
}

func projectRules(r core.Rules) api.ProjectRules {
	out := api.ProjectRules{TimeLimit: lengths(r.TimeLimit), IdleLimit: lengths(r.IdleLimit), BudgetHours: r.Budget / 3600}
	if r.Period > 0 {
		out.BudgetPeriod = spec.Duration(r.Period).String()
	}
	if len(r.Checks) > 0 {
		out.Checks, _ = json.Marshal(r.Checks) // they were read from JSON
	}
	return out
}

func lengthText(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return spec.Duration(*d).String()
}

func poolQuota(q core.PoolQuota) api.PoolQuota {
	var out api.PoolQuota
	if q.GPU != (core.ResourceQuota{}) {
		out.GPU = &api.ResourceQuota{Quota: q.GPU.Quota, Limit: q.GPU.Limit, LendingLimit: q.GPU.LendingLimit, Weight: q.GPU.Weight}
	}
	if q.CPU != (core.ResourceQuota{}) {
		out.CPU = &api.ResourceQuota{Quota: q.CPU.Quota, Limit: q.CPU.Limit, LendingLimit: q.CPU.LendingLimit, Weight: q.CPU.Weight}
	}
	if q.Memory != (core.ResourceQuota{}) {
		out.Memory = &api.MemoryQuota{Quota: bytesText(q.Memory.Quota), Limit: bytesText(q.Memory.Limit), LendingLimit: bytesText(q.Memory.LendingLimit), Weight: q.Memory.Weight}
	}
	return out
}

// bytesText writes bytes in the largest binary unit that divides them.
func bytesText(n *float64) string {
	if n == nil {
		return ""
	}
	v, unit := int64(*n), ""
	for _, u := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if v == 0 || v%1024 != 0 {
			break
		}
		v, unit = v/1024, u
	}
	return strconv.FormatInt(v, 10) + unit
}

// DecideProject puts what was decided into a record, in place of all that was.
func DecideProject(in api.ProjectSpec, p *core.Project) error {
	rules, err := RulesOf(in.ProjectRules)
	if err != nil {
		return err
	}
	n := core.NewProject(p.ID, p.CreatedAt)
	n.Department, n.Parent, n.StopMode, n.Note = p.Department, core.ProjectID(in.Parent), core.StopMode(in.StopMode), in.Note
	n.PoolOrder, n.MaxRunning, n.Rules = slices.Clone(in.PoolOrder), in.MaxRunning, rules
	if in.Priority != nil {
		n.Priority = *in.Priority
	}
	if n.PreemptMinRuntime, err = lengthOf("preemptMinRuntime", in.PreemptMinRuntime, "; 0s for none"); err != nil {
		return err
	}
	if n.ReclaimMinRuntime, err = lengthOf("reclaimMinRuntime", in.ReclaimMinRuntime, "; 0s for none"); err != nil {
		return err
	}
	if n.BorrowingTimeLimit, err = lengthOf("borrowingTimeLimit", in.BorrowingTimeLimit, "; leave it out for none"); err != nil {
		return err
	}
	if in.UserLimit != nil {
		n.UserLimit = core.UserLimit{GPU: in.UserLimit.GPU, MaxRunning: in.UserLimit.MaxRunning, MaxQueued: in.UserLimit.MaxQueued}
	}
	n.MaxQueued = in.MaxQueued
	for i, b := range in.Budgets {
		is, err := budgetOf(i, b)
		if err != nil {
			return err
		}
		n.Budgets = append(n.Budgets, is)
	}
	if len(in.NodeTypes) > 0 {
		n.NodeTypes = make(map[lifecycle.Kind][]string, len(in.NodeTypes))
		for k, types := range in.NodeTypes {
			n.NodeTypes[lifecycle.Kind(k)] = types
		}
	}
	if len(in.Pools) > 0 {
		n.Pools = make(map[string]core.PoolQuota, len(in.Pools))
		for _, name := range slices.Sorted(maps.Keys(in.Pools)) {
			if n.Pools[name], err = poolQuotaOf("pools."+name, in.Pools[name]); err != nil {
				return err
			}
		}
	}
	*p = n
	return nil
}

func poolQuotaOf(field string, in api.PoolQuota) (core.PoolQuota, error) {
	var out core.PoolQuota
	if in.GPU != nil {
		out.GPU = core.ResourceQuota{Quota: in.GPU.Quota, Limit: in.GPU.Limit, LendingLimit: in.GPU.LendingLimit, Weight: in.GPU.Weight}
	}
	if in.CPU != nil {
		out.CPU = core.ResourceQuota{Quota: in.CPU.Quota, Limit: in.CPU.Limit, LendingLimit: in.CPU.LendingLimit, Weight: in.CPU.Weight}
	}
	if in.Memory == nil {
		return out, nil
	}
	out.Memory.Weight = in.Memory.Weight
	var err error
	if out.Memory.Quota, err = bytesOf(field+".memory.quota", in.Memory.Quota); err != nil {
		return out, err
	}
	if out.Memory.LendingLimit, err = bytesOf(field+".memory.lendingLimit", in.Memory.LendingLimit); err != nil {
		return out, err
	}
	out.Memory.Limit, err = bytesOf(field+".memory.limit", in.Memory.Limit)
	return out, err
}

func bytesOf(field, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	q, err := spec.ParseQuantity(text)
	if err != nil || strings.HasPrefix(text, "-") {
		return nil, problem.BadValue(field, text, "is not an amount of memory", "write one like 512Gi, or leave it out for no bound")
	}
	n := float64(q.Units())
	return &n, nil
}

// lengthOf is a length of time; nil: nothing is said. none is what else could be
// written.
func lengthOf(field, text, none string) (*time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := spec.ParseDuration(text)
	if err != nil {
		return nil, problem.BadValue(field, text, "is not a length of time", "write one like 30m or 12h"+none)
	}
	n := d.Std()
	return &n, nil
}

func lengths(m map[lifecycle.Kind]time.Duration) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, d := range m {
		out[string(k)] = spec.Duration(d).String()
	}
	return out
}

// RulesOf reads what a project is to demand.
func RulesOf(in api.ProjectRules) (core.Rules, error) {
	var r core.Rules
	var err error
	if r.TimeLimit, err = limits("timeLimit", in.TimeLimit); err != nil {
		return r, err
	}
	if r.IdleLimit, err = limits("idleLimit", in.IdleLimit); err != nil {
		return r, err
	}
	if len(in.Checks) > 0 {
		if r.Checks, err = checksOf(in.Checks); err != nil {
			return r, err
		}
	}
	r.Budget = in.BudgetHours * 3600
	if in.BudgetPeriod != "" {
		d, err := spec.ParseDuration(in.BudgetPeriod)
		if err != nil || d <= 0 {
			return r, problem.BadValue("budgetPeriod", in.BudgetPeriod, "is not a length of time", "write one like 24h or 30d")
		}
		r.Period = d.Std()
	}
	if r.Budget > 0 && r.Period == 0 {
		return r, problem.BadRequest("budgetPeriod", "is missing beside budgetGpuHours", "write the length of the period, like 30d")
	}
	return r, nil
}

func limits(field string, in map[string]string) (map[lifecycle.Kind]time.Duration, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make(map[lifecycle.Kind]time.Duration, len(in))
	for _, k := range slices.Sorted(maps.Keys(in)) {
		kind, allowed := lifecycle.Kind(k), []string{"training", "distributed", "workspace", "inference", "external"}
		if field == "idleLimit" {
			kind, allowed = core.IdleKind(kind), append(allowed, "workspace"+core.WherePreemptible, "workspace"+core.WhereNonPreemptible)
		}
		if !slices.Contains(lifecycle.Kinds(), kind) {
			return nil, problem.OneOf(field+"."+k, k, allowed...)
		}
		d, err := spec.ParseDuration(in[k])
		if err != nil || d <= 0 {
			return nil, problem.BadValue(field+"."+k, in[k], "is not a length of time", "write one like 30m or 12h")
		}
		out[lifecycle.Kind(k)] = d.Std()
	}
	return out, nil
}

// checksOf reads checks as a document has them, by its rules.
func checksOf(raw json.RawMessage) ([]spec.Check, error) {
	doc, err := spec.Load([]byte(`{"command":["true"],"checks":` + string(raw) + `}`))
	var fields codec.Errors
	if errors.As(err, &fields) {
		for i := range fields {
			fields[i].Line = 0 // of a document that nobody wrote
		}
		return nil, problem.OfFields(fields)
	}
	if err != nil {
		return nil, err
	}
	return doc.Checks, nil
}
