package admin

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// projectFlags are what can be decided about a project or department, beside
// what it demands of workloads.
type projectFlags struct {
	parent, note             string
	priority                 int
	quota, limit, weight     []string
	lend                     []string
	forget, order, nodeTypes []string
	preempt, reclaim         string
	borrowing                string
	maxRunning, userRunning  int
	maxQueued, userQueued    int
	userGPUs                 string
}

func (p *projectFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.parent, "parent", "", "department that it stands below; empty: none")
	f.IntVar(&p.priority, "priority", 100, "rank among its siblings: what is left over quota goes to the highest first")
	f.StringArrayVar(&p.quota, "quota", nil, "[POOL.]RESOURCE=AMOUNT that is guaranteed, like h100.gpu=32 or memory=2Ti; without a pool: of every one that is not named; none: no bound")
	f.StringArrayVar(&p.limit, "limit", nil, "[POOL.]RESOURCE=AMOUNT that is never exceeded; none: no bound")
	f.StringArrayVar(&p.lend, "lending-limit", nil, "[POOL.]RESOURCE=AMOUNT of the quota that others may use while it does not; the rest is kept for it; none: all of it")
	f.StringArrayVar(&p.weight, "weight", nil, "[POOL.]RESOURCE=WEIGHT over quota: lowest, low, medium, high or a number")
	f.StringArrayVar(&p.forget, "forget-pool", nil, "forget all that was said of a pool")
	f.StringSliceVar(&p.order, "pool-order", nil, "pools that its workloads go to which name none, in order")
	f.StringArrayVar(&p.nodeTypes, "node-types", nil, "KIND=TYPE,TYPE that its workloads may use; KIND= any")
	f.StringVar(&p.preempt, "preempt-min-runtime", "", "for how long what has started is let alone by higher priorities of its queue; empty: as above it")
	f.StringVar(&p.reclaim, "reclaim-min-runtime", "", "the same for other queues")
	f.StringVar(&p.borrowing, "borrowing-time-limit", "", "how long work may last at most, by its --max-duration, that uses more than the quota; empty: as above it, else any time")
	f.IntVar(&p.maxRunning, "max-running", 0, "workloads at once; 0: any")
	f.IntVar(&p.maxQueued, "max-queued", 0, "workloads that have not started; one more is refused; 0: any")
	f.IntVar(&p.userQueued, "user-queued", 0, "workloads of each user that have not started; one more is refused; 0: any")
	f.StringVar(&p.userGPUs, "user-gpus", "", "GPUs that each user may have at once; none: any")
	f.IntVar(&p.userRunning, "user-running", 0, "workloads that each user may have at once; 0: any")
	f.StringVarP(&p.note, "note", "m", "", "why it is stopped")
}

// patch is a JSON merge patch of what flags say.
func (p *projectFlags) patch(cmd *cobra.Command) (map[string]any, error) {
	changed := cmd.Flags().Changed
	out := map[string]any{}
	for flag, v := range map[string]struct {
		field string
		value any
	}{
		"parent": {"parent", p.parent}, "note": {"note", p.note}, "priority": {"priority", p.priority}, "pool-order": {"poolOrder", p.order},
		"preempt-min-runtime": {"preemptMinRuntime", p.preempt}, "reclaim-min-runtime": {"reclaimMinRuntime", p.reclaim}, "max-running": {"maxRunning", p.maxRunning}, "max-queued": {"maxQueued", p.maxQueued},
		"borrowing-time-limit": {"borrowingTimeLimit", p.borrowing},
	} {
		if changed(flag) {
			out[v.field] = v.value
		}
	}
	user := map[string]any{}
	if changed("user-running") {
		user["maxRunning"] = p.userRunning
	}
	if changed("user-queued") {
		user["maxQueued"] = p.userQueued
	}
	if changed("user-gpus") {
		n, err := amountOf("--user-gpus", "gpu", p.userGPUs)
		if err != nil {
			return nil, err
		}
		user["gpu"] = n
	}
	if len(user) > 0 {
		out["userLimit"] = user
	}
	for _, text := range p.nodeTypes {
		kind, list, ok := strings.Cut(text, "=")
		if !ok || kind == "" {
			return nil, session.UsageError(fmt.Sprintf("--node-types %s: is not KIND=TYPE,TYPE", text), "write --node-types training=a100,h100")
		}
		below(out, "nodeTypes")[kind] = nil
		if list != "" {
			below(out, "nodeTypes")[kind] = strings.Split(list, ",")
		}
	}
	return out, p.pools(out)
}

func below(m map[string]any, key string) map[string]any {
	if inner, ok := m[key].(map[string]any); ok {
		return inner
	}
	inner := map[string]any{}
	m[key] = inner
	return inner
}

func (p *projectFlags) pools(out map[string]any) error {
	for _, pool := range p.forget {
		below(out, "pools")[pool] = nil
	}
	for _, set := range []struct {
		field string
		texts []string
	}{{"quota", p.quota}, {"limit", p.limit}, {"weight", p.weight}, {"lendingLimit", p.lend}} {
		for _, text := range set.texts {
			name := strings.Replace(set.field, "lendingLimit", "lending-limit", 1)
			flag := "--" + name + " " + text
			what, amount, ok := strings.Cut(text, "=")
			pool, resource := "*", what
			if dot := strings.LastIndexByte(what, '.'); dot >= 0 {
				pool, resource = what[:dot], what[dot+1:]
			}
			if !ok || pool == "" || !slices.Contains([]string{"gpu", "cpu", "memory"}, resource) {
				return session.UsageError(flag+": is not [POOL.]RESOURCE=AMOUNT", "the resources are gpu, cpu and memory: write --"+name+" h100.gpu=4")
			}
			if slices.Contains(p.forget, pool) {
				return session.UsageError(fmt.Sprintf("%s and --forget-pool %s contradict each other", flag, pool), "write one of them; none as an amount takes a single bound away")
			}
			value, err := amountOf(flag, resource, amount)
			if set.field == "weight" {
				value, err = weightOf(flag, amount)
			}
			if err != nil {
				return err
			}
			below(below(below(out, "pools"), pool), resource)[set.field] = value
		}
	}
	return nil
}

// amountOf reads an amount of a resource; nil: no bound.
func amountOf(flag, resource, text string) (any, error) {
	if text == "" || text == "none" {
		return nil, nil
	}
	if resource == "memory" {
		return text, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 1) {
		return nil, session.UsageError(fmt.Sprintf("%s: %q is not an amount", flag, text), "0 or more, like 4 or 2.5; none: no bound")
	}
	return n, nil
}

var weights = map[string]float64{"lowest": 0, "low": 1, "medium": 2, "high": 3}

func weightOf(flag, text string) (any, error) {
	if n, ok := weights[text]; ok {
		return n, nil
	}
	if text == "" || text == "none" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 1) {
		return nil, session.UsageError(fmt.Sprintf("%s: %q is not a weight", flag, text), "lowest, low, medium, high or a number that is not negative")
	}
	return n, nil
}

func newProjectCreate(s *session.Session, n session.ProjectNoun) *cobra.Command {
	p := &projectFlags{}
	cmd := &cobra.Command{
		Use: "create " + n.Arg + " [flags]", Short: "Make a " + n.Word,
		Example: "  muster " + n.Word + " create vision\n  muster " + n.Word + " create vision --parent research --quota h100.gpu=32 --limit h100.gpu=64 --quota gpu=0",
		Args:    session.OneName(n.Word),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := p.patch(cmd)
			if err != nil {
				return err
			}
			data, err := json.Marshal(patch)
			if err != nil {
				return session.UsageError(err.Error(), "write numbers that there are")
			}
			in := api.NewProject{Name: args[0]}
			if err := json.Unmarshal(data, &in.ProjectSpec); err != nil {
				return err
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			made, err := c.Of(n.Records).Create(cmd.Context(), in)
			if err != nil {
				return err
			}
			return projectDone(s, n, made)
		},
	}
	p.register(cmd)
	return cmd
}

func newProjectUpdate(s *session.Session, n session.ProjectNoun) *cobra.Command {
	p := &projectFlags{}
	cmd := &cobra.Command{
		Use: "update " + n.Arg + " [flags]", Aliases: []string{"edit"}, Short: "Change the place, quotas and limits of a " + n.Word,
		Long: "Changes what flags name; everything else stays. What it demands of workloads is\nchanged with muster " + n.Word + " set, and from files with muster apply.",
		Example: "  muster " + n.Word + " update vision --quota h100.gpu=48 --weight h100.gpu=high\n" +
			"  muster " + n.Word + " update vision --parent research --priority 200\n  muster " + n.Word + " update vision --limit h100.gpu=none --forget-pool a100",
		Args: session.OneName(n.Word),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := p.patch(cmd)
			if err != nil {
				return err
			}
			if len(patch) == 0 {
				return session.UsageError("there is nothing to change", "muster "+n.Word+" update --help lists the flags; muster "+n.Word+" describe shows what holds")
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			done, err := c.Of(n.Records).Change(cmd.Context(), args[0], patch)
			if err != nil {
				return err
			}
			return projectDone(s, n, done)
		},
		ValidArgsFunction: s.CompleteRecords(n),
	}
	p.register(cmd)
	return cmd
}
