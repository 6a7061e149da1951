package submit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/logs"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// actOptions are what stop, restart and delete have in common.
type actOptions struct {
	scope   session.Scope
	yes     bool
	wait    bool
	follow  bool
	message string
	grace   string
}

// NewStop makes the command stop.
func NewStop(s *session.Session) *cobra.Command {
	o := &actOptions{}
	var tasks []int
	cmd := &cobra.Command{
		Use:     "stop [WORKLOAD…]",
		Aliases: []string{"cancel"},
		Short:   "End workloads; their definition and logs stay",
		Example: `  muster stop train-moons
  muster stop 'sweep-*' --yes            those of one project that have not ended
  muster stop train-moons --grace-period 5s --message "wrong data"
  muster stop sweep --task 3 --task 7    only these tasks of an array`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return each(cmd.Context(), s, o, session.DropNoun(args), verb{name: "stop", done: "stopping", ask: len(args) == 0, live: true, run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
				return c.Stop(ctx, w.Project, w.ID, api.StopOptions{Message: o.message, GracePeriod: o.grace, Tasks: tasks})
			}})
		},
	}
	o.register(s, cmd)
	taskFlag(cmd, &tasks)
	cmd.Flags().StringVar(&o.grace, "grace-period", "", "time between the polite signal and the end by force, like 5s")
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "why; kept in the history")
	return cmd
}

// NewRestart makes the command restart.
func NewRestart(s *session.Session) *cobra.Command {
	o := &actOptions{}
	var tasks []int
	cmd := &cobra.Command{
		Use:     "restart WORKLOAD…",
		Aliases: []string{"rerun"},
		Short:   "Run ended workloads again, as a new attempt",
		Long:    "Run ended workloads again, as a new attempt.\n\nTasks of an array that have ended run again by themselves with --task: in the same attempt\nwhile the array goes on, or, once all of its others have succeeded, in a new one.",
		Example: "  muster restart train-moons --follow\n  muster restart sweep --task 3          only this task of an array",
		RunE: func(cmd *cobra.Command, args []string) error {
			v := again(tasks)
			v.ask = len(args) == 0
			return each(cmd.Context(), s, o, session.DropNoun(args), v)
		},
	}
	o.register(s, cmd)
	taskFlag(cmd, &tasks)
	cmd.Flags().BoolVar(&o.follow, "follow", false, "show its phases and output until it ends, and exit as it did")
	return cmd
}

// taskFlag adds the flag that names some tasks of an array.
func taskFlag(cmd *cobra.Command, tasks *[]int) {
	cmd.Flags().IntSliceVar(tasks, "task", nil, "only this task of an array, by its index; repeat for several")
}

// again runs an ended workload once more, or some tasks of it.
func again(tasks []int) verb {
	return verb{name: "restart", done: "restarted", run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
		return c.Restart(ctx, w.Project, w.ID, api.RestartOptions{Tasks: tasks})
	}}
}

// NewDelete makes the command delete.
func NewDelete(s *session.Session) *cobra.Command {
	o, prefix := &actOptions{}, false
	cmd := &cobra.Command{
		Use:     "delete WORKLOAD…",
		Aliases: []string{"rm"},
		Short:   "End workloads and remove them with their logs",
		Example: "  muster delete train-moons --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return each(cmd.Context(), s, o, session.DropNoun(args), verb{name: "delete", done: "deleting", ask: true, whole: !prefix, run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
				return c.Delete(ctx, w.Project, w.ID)
			}})
		},
	}
	o.register(s, cmd)
	cmd.Flags().BoolVar(&prefix, "prefix", false, "the beginning of a name is enough, where it is only one's")
	return cmd
}

func (o *actOptions) register(s *session.Session, cmd *cobra.Command) {
	o.registerPlain(s, cmd)
	cmd.Flags().BoolVar(&o.wait, "wait", false, "return once it has ended")
}

// registerPlain registers the flags of verbs after which workloads go on.
func (o *actOptions) registerPlain(s *session.Session, cmd *cobra.Command) {
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

// verb is what is done to each workload.
type verb struct {
	name, done string
	ask        bool // first, unless --yes; of globs always
	whole      bool // only whole names, or globs: a mistyped one must not mean another workload
	live       bool // a glob means only what has not ended
	run        func(context.Context, *client.Client, *api.Workload) (*api.Workload, error)
	line       func(*api.Workload) string // what is said of the result; nil: done and where it stands
}

// wholeNames refuses workloads that were named by the beginning of their name.
func wholeNames(names []string, ws []*api.Workload) error {
	for _, w := range ws {
		given := slices.ContainsFunc(names, func(n string) bool {
			_, last, in := strings.Cut(n, "/")
			return n == "" || n[0] == '@' || session.IsGlob(n) || n == w.Name || n == w.ID || n == strconv.FormatInt(w.Number, 10) || in && last == w.Name
		})
		if !given {
			return session.UsageError(fmt.Sprintf("%q is not the whole name of %s", strings.Join(names, " "), w.Name), "write "+w.Name+", or say --prefix")
		}
	}
	return nil
}

// each does v to every workload named. All names are resolved first, so that a
// wrong one changes nothing; after that one that fails does not keep the
// others from being done.
func each(ctx context.Context, s *session.Session, o *actOptions, names []string, v verb) error {
	v.ask = v.ask || slices.ContainsFunc(names, session.IsGlob)
	if v.ask && !o.yes && !s.IO.InTerminal {
		return session.NeedsFlagError("muster "+v.name, "--yes")
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{""}
	}
	ws, err := s.ResolveAll(ctx, c, o.scope, names, v.live)
	if err != nil {
		return err
	}
	if v.whole {
		if err := wholeNames(names, ws); err != nil {
			return err
		}
	}
	if v.ask && !o.yes {
		if ok, err := Confirm(s, v.name, ws); !ok {
			return err
		}
	}
	var failed error
	for _, w := range ws {
		if err := act(ctx, s, c, o, w, v); err != nil {
			if failed != nil {
				s.Report(ctx, failed)
			}
			failed = err
		}
	}
	return failed
}

func act(ctx context.Context, s *session.Session, c *client.Client, o *actOptions, w *api.Workload, v verb) error {
	done, err := v.run(ctx, c, w)
	if err != nil {
		return err
	}
	if o.follow {
		f := logs.NewFollower(s, c, done)
		f.History = false
		s.Say("%s %s", v.done, done.Name)
		return f.Follow(ctx)
	}
	if o.wait {
		if done, err = inspect.UntilEnd(ctx, s, c, done); err != nil {
			return err
		}
	}
	if shown, err := s.Brief(done, done.Name); shown {
		return err
	}
	switch {
	case done.Restarts:
		s.Say("%s is being ended, and then starts again", done.Name)
	case v.line != nil:
		s.Say("%s", v.line(done))
	case printers.Ended(done):
		s.Say("%s is %s", done.Name, done.Phase)
	default:
		s.Say("%s %s: %s", v.done, done.Name, printers.Situation(done, s.Moments(session.TableFlags{})))
	}
	return nil
}

// Confirm lists what is about to be done and asks.
func Confirm(s *session.Session, what string, ws []*api.Workload) (bool, error) {
	about := "About to " + what + ":"
	for _, w := range ws {
		about += fmt.Sprintf("\n  %s/%s  %s, %s GPU-seconds so far", w.Project, w.Name, w.Phase, printers.Number(w.GPUSeconds))
	}
	return s.Ask(about)
}
