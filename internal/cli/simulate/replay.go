package simulate

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/simulate/replay"
	records "github.com/musterhq/muster/internal/simulate/trace"
	"github.com/musterhq/muster/internal/simulate/workload"
)

type replayOptions struct {
	out                      outFlag
	trace, workload          string
	fromServer, dropLarger   bool
	nodes, perNode, load     int
	quota, policies          []string
	patience, again, quantum string
	minRuntime               string
	checkpoint, placement    string
	moves                    int
	reclaim                  bool
	seed                     uint64
}

// coreName is the program's own scheduler among the policies.
const coreName = "default"

// replayPolicies are all that a trace can be replayed by.
func replayPolicies() []string { return append([]string{coreName}, replay.Names()...) }

func newSimulateReplay(s *session.Session) *cobra.Command {
	o := &replayOptions{}
	cmd := &cobra.Command{
		Use: "replay", Short: "Replay recorded work on a cluster of any size, by one policy or several",
		Long: `Replays work that was once submitted, in virtual time, and reports how long it
waits: over all, by size, by project and over time. The work is a CSV file, plain
or gzip, with the columns submit, duration (seconds), gpus and project; or what
has ended on the server, with --from-server.

The policy "default" is the program's own scheduler. It does not know
how long work will run, and learns from what has ended. The others are for comparison; those called perfect do know.

--quota, --nodes, --load and the other flags change what is replayed: what if
this project had more, what if there were fewer nodes?`,
		Example: `  muster simulate replay --trace jobs.csv --nodes 64 --gpus-per-node 8
  muster simulate replay --trace jobs.csv --nodes 64 --gpus-per-node 8 --policy default,fifo,easy-learnt --out report.html
  muster simulate replay --trace jobs.csv --nodes 48 --gpus-per-node 8 --quota vision=128 --quota speech=64 --load 120
  muster simulate replay --from-server --nodes 2 --gpus-per-node 8`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return replayAs(cmd.Context(), s, o) },
	}
	o.out.register(cmd)
	o.register(cmd)
	return cmd
}

// replayAs replays a trace after the format of the report has been checked.
func replayAs(ctx context.Context, s *session.Session, o *replayOptions) error {
	if err := o.out.resolve(s, "table", "json", "yaml", "jsonl", pageFormat); err != nil {
		return err
	}
	return runReplay(ctx, s, o)
}

func (o *replayOptions) register(cmd *cobra.Command) {
	own, usual := replay.CoreDefaults(), schedule.NewPolicy()
	f := cmd.Flags()
	f.StringVar(&o.trace, "trace", "", "the work: a CSV file, plain or .gz")
	f.StringVar(&o.workload, "workload", "", "the work: one that is made up, with its cluster: "+strings.Join(workload.Names(), ", "))
	f.BoolVar(&o.fromServer, "from-server", false, "the work: what has ended on the server, with its nodes and quotas where no flag says otherwise")
	f.IntVar(&o.nodes, "nodes", 0, "how many nodes there are; of a trace 64 where nothing is said")
	f.IntVar(&o.perNode, "gpus-per-node", 0, "how many GPUs each has; of a trace 8 where nothing is said")
	f.BoolVar(&o.dropLarger, "drop-larger", false, "leave out what is larger than all nodes together")
	f.StringSliceVar(&o.quota, "quota", nil, "GPUs that a project is entitled to, as PROJECT=GPUS; may be repeated")
	f.IntVar(&o.load, "load", 100, "percent of the recorded durations")
	f.StringSliceVar(&o.policies, "policy", []string{coreName}, "who decides; several by comma: "+strings.Join(replayPolicies(), ", "))
	f.StringVar(&o.patience, "patience", durationText(usual.First), "default: how long work waits before it displaces what has had the most")
	f.StringVar(&o.again, "again", durationText(usual.Again), "default: the same for work that was displaced")
	f.StringVar(&o.quantum, "quantum", durationText(time.Duration(usual.Quantum)*time.Millisecond), "default: how long everyone runs at least before that; 0: nobody is displaced for others' patience")
	f.StringVar(&o.minRuntime, "min-runtime", durationText(usual.MinRuntime), "default: how long nobody is displaced after a start, whoever asks")
	f.IntVar(&o.moves, "moves", usual.MaxMoves, "default: how many running tasks may be moved at once for one that then fits")
	f.StringVar(&o.checkpoint, "checkpoint", durationText(time.Duration(own.Checkpoint)*time.Second), "default: how much work is lost at most by who is displaced; none: all of it")
	f.BoolVar(&o.reclaim, "reclaim", true, "default: projects take back what others have beyond their due")
	f.StringVar(&o.placement, "placement", placements[own.Placement], "default: fill, binpack or spread")
	f.Uint64Var(&o.seed, "seed", 42, "easy-user: draws the users' estimates")
	_ = cmd.MarkFlagFilename("trace", "csv", "gz")
	_ = cmd.RegisterFlagCompletionFunc("policy", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return replayPolicies(), cobra.ShellCompDirectiveNoFileComp
	})
}

// usualNodes and usualGPUs are the cluster where nothing is said of it: that of
// the published runs of the Philly trace.
const usualNodes, usualGPUs = 64, 8

// durationText writes a default as the flag is written.
func durationText(d time.Duration) string { return spec.Duration(d).String() }

// replayed is what is replayed, after all that the flags change.
type replayed struct {
	title   string
	notes   []string
	jobs    []records.Job
	cluster replay.Cluster
	quota   map[string]int
	shares  map[string]int // quotas where none are said
}

func runReplay(ctx context.Context, s *session.Session, o *replayOptions) error {
	core, err := o.core()
	if err != nil {
		return err
	}
	for _, p := range o.policies {
		if !slices.Contains(replayPolicies(), p) {
			return session.UsageError(fmt.Sprintf("--policy: %q is not known", p), "one of "+strings.Join(replayPolicies(), ", "))
		}
	}
	in, err := work(ctx, s, o)
	if err != nil {
		return err
	}
	if err := in.edit(o); err != nil {
		return err
	}
	core.Quota = in.quota
	report := replay.Report{Title: in.title, Notes: in.notes, Runs: make([]replay.Result, len(o.policies))}
	if err := runAll(ctx, s, o, in, core, report.Runs); err != nil {
		return err
	}
	return o.out.write(s, report, report.WriteText, report.WriteHTML)
}

// placements are the strategies, as the flag names them.
var placements = map[schedule.Strategy]string{schedule.Fill: "fill", schedule.BinPack: "binpack", schedule.Spread: "spread"}

// core reads the flags of the program's own scheduler.
func (o *replayOptions) core() (replay.CoreOptions, error) {
	c := replay.CoreOptions{Policy: []schedule.Option{schedule.MaxMoves(o.moves)}}
	if o.moves < 0 {
		return c, session.UsageError(fmt.Sprintf("--moves: %d", o.moves), "0 or more")
	}
	if !o.reclaim {
		c.Policy = append(c.Policy, schedule.KeepLent())
	}
	var first, again, quantum, least, checkpoint time.Duration
	for _, f := range []struct {
		name, text string
		to         *time.Duration
	}{{"patience", o.patience, &first}, {"again", o.again, &again}, {"quantum", o.quantum, &quantum}, {"min-runtime", o.minRuntime, &least}, {"checkpoint", o.checkpoint, &checkpoint}} {
		if f.name == "checkpoint" && f.text == "none" {
			checkpoint = -time.Second
			continue
		}
		d, err := spec.ParseDuration(f.text)
		if err != nil {
			return c, session.UsageError(fmt.Sprintf("--%s: %q is not a length of time", f.name, f.text), "like 60s, 12h or 4d")
		}
		*f.to = d.Std()
	}
	c.Checkpoint = int64(checkpoint.Seconds())
	c.Policy = append(c.Policy, schedule.MinRuntime(least), schedule.Patience(max(first, 1), max(again, 1), quantum))
	if quantum == 0 {
		c.Policy = append(c.Policy, schedule.NoPatience())
	}
	for p, name := range placements {
		if name == o.placement {
			c.Placement = p
			return c, nil
		}
	}
	return c, session.UsageError(fmt.Sprintf("--placement: %q is not known", o.placement), "one of fill, binpack, spread")
}

// work reads what is replayed, from a file or the server.
func work(ctx context.Context, s *session.Session, o *replayOptions) (*replayed, error) {
	switch {
	case o.fromServer && o.trace != "":
		return nil, session.UsageError("--trace and --from-server both say what is replayed", "leave one of them out")
	case o.fromServer:
		return history(ctx, s, o.nodes == 0 || o.perNode == 0)
	case o.workload != "" && o.trace != "":
		return nil, session.UsageError("--trace and --workload both say what is replayed", "leave one of them out")
	case o.workload != "":
		return madeUp(o.workload)
	case o.trace == "":
		return nil, session.UsageError("muster simulate replay needs work to replay", "add --trace FILE, or --from-server")
	}
	jobs, err := records.Open(o.trace)
	if err != nil {
		return nil, session.UsageError(err.Error(), "a CSV file with a line of titles: submit,duration,gpus,project")
	}
	return &replayed{title: filepath.Base(o.trace), jobs: jobs, quota: map[string]int{}}, nil
}

// madeUp is a workload by its name.
func madeUp(name string) (*replayed, error) {
	w, err := workload.New(name)
	if err != nil {
		return nil, session.UsageError("--workload: "+err.Error(), "see muster simulate replay --help")
	}
	jobs, err := w.Jobs()
	if err != nil {
		return nil, err
	}
	return &replayed{title: name, notes: []string{w.About + "."}, jobs: jobs, cluster: replay.Cluster{Nodes: w.Nodes, GPUsPerNode: w.GPUsPerNode}, quota: map[string]int{}}, nil
}

// edit changes what is replayed as the flags say, and notes what was changed.
func (in *replayed) edit(o *replayOptions) error {
	if o.nodes > 0 {
		in.cluster.Nodes = o.nodes
	}
	if o.perNode > 0 {
		in.cluster.GPUsPerNode = o.perNode
	}
	if o.nodes == 0 && o.perNode == 0 && in.cluster.GPUs() == 0 && !o.fromServer {
		in.cluster = replay.Cluster{Nodes: usualNodes, GPUsPerNode: usualGPUs}
	}
	if o.nodes < 0 || o.perNode < 0 || in.cluster.GPUs() == 0 {
		return session.UsageError(fmt.Sprintf("a cluster of %d nodes with %d GPUs each", in.cluster.Nodes, in.cluster.GPUsPerNode), "say how large it is: --nodes 64 --gpus-per-node 8")
	}
	if err := in.entitle(o.quota); err != nil {
		return err
	}
	if err := in.fit(o.dropLarger); err != nil {
		return err
	}
	if len(in.quota) == 0 {
		in.shares = replay.Shares(in.jobs, in.cluster.GPUs())
	}
	jobs, err := records.Scale(in.jobs, o.load)
	if err != nil {
		return session.UsageError(fmt.Sprintf("--load: %d percent", o.load), "1 to 10000")
	}
	in.jobs = jobs
	if len(in.quota) == 0 && slices.ContainsFunc(o.policies, func(p string) bool { return strings.HasPrefix(p, "quota-") }) {
		in.notes = append(in.notes, "The policies quota-… give each project the GPUs that its part of all GPU-time is worth; --quota says otherwise.")
	}
	in.title = fmt.Sprintf("%s: %s on %s of %s", in.title, session.Plural(len(jobs), "job"), session.Plural(in.cluster.Nodes, "node"), session.Plural(in.cluster.GPUsPerNode, "GPU"))
	if o.load != 100 {
		in.notes = append(in.notes, fmt.Sprintf("Everything runs %d %% as long as it did.", o.load))
	}
	if len(in.quota) > 0 {
		var parts []string
		for _, p := range slices.Sorted(maps.Keys(in.quota)) {
			parts = append(parts, fmt.Sprintf("%s %d", p, in.quota[p]))
		}
		in.notes = append(in.notes, "Quota in GPUs: "+strings.Join(parts, ", ")+".")
	}
	return nil
}

// entitle reads --quota.
func (in *replayed) entitle(flags []string) error {
	known := map[string]bool{}
	for _, j := range in.jobs {
		known[j.Project] = true
	}
	for _, text := range flags {
		i := strings.LastIndex(text, "=") // a project's name in a trace may have one too
		gpus, err := strconv.Atoi(text[i+1:])
		if i <= 0 || err != nil || gpus < 0 || gpus > 10_000_000 {
			return session.UsageError(fmt.Sprintf("--quota %s: is not PROJECT=GPUS", text), "like --quota vision=64, in whole GPUs")
		}
		name := text[:i]
		if !known[name] {
			hint := "the projects are " + strings.Join(firstOf(slices.Sorted(maps.Keys(known)), 20), ", ")
			if near := nearest.Words(name, slices.Sorted(maps.Keys(known))); len(near) > 0 {
				hint = "did you mean " + near[0] + "?"
			}
			return session.UsageError(fmt.Sprintf("--quota %s: no work of project %q is replayed", text, name), hint)
		}
		in.quota[name] = gpus
	}
	return nil
}

func firstOf(names []string, n int) []string {
	if len(names) > n {
		return append(names[:n:n], "…")
	}
	return names
}

// fit sees to it that everything can run at all.
func (in *replayed) fit(drop bool) error {
	var jobs []records.Job
	large := 0
	for _, j := range in.jobs {
		if j.GPUs > in.cluster.GPUs() {
			large = max(large, j.GPUs)
			continue
		}
		j.ID = len(jobs)
		jobs = append(jobs, j)
	}
	if left := len(in.jobs) - len(jobs); left > 0 {
		if !drop || len(jobs) == 0 {
			return session.UsageError(fmt.Sprintf("%s for more than the %d GPUs there are, up to %d", countOf(left, "job asks", "jobs ask"), in.cluster.GPUs(), large), "take more nodes, or leave such work out with --drop-larger")
		}
		in.notes = append(in.notes, fmt.Sprintf("Left out: %s for more GPUs than there are.", countOf(left, "job asks", "jobs ask")))
	}
	in.jobs = jobs
	return nil
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// runAll replays by each policy, as many at once as there are processors.
func runAll(ctx context.Context, s *session.Session, o *replayOptions, in *replayed, core replay.CoreOptions, into []replay.Result) error {
	_, err := apart(ctx, func() (struct{}, error) {
		var all sync.WaitGroup
		errs := make([]error, len(into))
		slots := make(chan struct{}, runtime.GOMAXPROCS(0))
		for i, name := range o.policies {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if ctx.Err() == nil {
					into[i], errs[i] = o.run(name, in, core)
				}
			})
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, ctx.Err()
	})
	return err
}

func (o *replayOptions) run(name string, in *replayed, core replay.CoreOptions) (replay.Result, error) {
	var p replay.Policy
	title := name
	if name == coreName {
		p = replay.NewCore(core)
		if !o.reclaim {
			title += ", no reclaim"
		}
	} else {
		var err error
		if p, err = replay.New(name, replay.Options{Seed: o.seed, Quota: in.entitled(), Checkpoint: core.Checkpoint}); err != nil {
			return replay.Result{}, err
		}
	}
	var r replay.Recorder
	if err := replay.Run(in.jobs, in.cluster, p, &r); err != nil {
		return replay.Result{}, fmt.Errorf("policy %s: %w", name, err)
	}
	return r.Result(replay.Measure{Name: title, Cluster: in.cluster, Weights: in.weights()})
}

// entitled are the quotas of the policies that need some.
func (in *replayed) entitled() map[string]int {
	if len(in.quota) > 0 {
		return in.quota
	}
	return in.shares
}

// weights are the projects' parts when GPUs are short; nobody's where nobody
// has a quota.
func (in *replayed) weights() map[string]int {
	if len(in.quota) == 0 {
		return nil
	}
	return in.quota
}
