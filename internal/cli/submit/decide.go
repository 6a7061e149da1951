package submit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewApprove makes the command approve.
func NewApprove(s *session.Session) *cobra.Command {
	return decision(s, "approve", "approved", "Approve an admission check of workloads", (*client.Client).Approve)
}

// NewReject makes the command reject.
func NewReject(s *session.Session) *cobra.Command {
	return decision(s, "reject", "rejected", "Reject an admission check of workloads, which ends them", (*client.Client).Reject)
}

type decider func(*client.Client, context.Context, string, string, api.DecisionOptions) (*api.Workload, error)

func decision(s *session.Session, name, done, short string, decide decider) *cobra.Command {
	o := &actOptions{}
	check := ""
	cmd := &cobra.Command{
		Use: name + " WORKLOAD…", Short: short,
		Long: short + ".\n\nmuster describe shows the checks of a workload, and who may decide.",
		Example: "  muster " + name + " train-moons\n  muster " + name +
			" train-moons --check legal --message 'ticket 4711'",
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := someNames(cmd, args)
			if err != nil {
				return err
			}
			return each(cmd.Context(), s, o, names, verb{name: name, done: done, live: true, run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
				return decide(c, ctx, w.Project, w.ID, api.DecisionOptions{Check: check, Message: o.message})
			}})
		},
	}
	o.registerPlain(s, cmd)
	cmd.Flags().StringVar(&check, "check", "", "which check; needed where several wait for a person")
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "why; kept with the check")
	return cmd
}

// someNames are the workloads of a verb that does not guess which are meant.
func someNames(cmd *cobra.Command, args []string) ([]string, error) {
	if args = session.DropNoun(args); len(args) == 0 {
		return nil, session.UsageError(cmd.CommandPath()+" needs the name of a workload", cmd.UseLine())
	}
	return args, nil
}

// NewPreempt makes the command preempt.
func NewPreempt(s *session.Session) *cobra.Command {
	return withMessage(s, saying{
		name: "preempt", done: "preempting", short: "Take the resources of workloads back; they are queued again",
		long: "Ends the present attempt of preemptible workloads as a more important workload would.\nThey go back to their queue and start again when it is their turn. Tasks of an array that\nrun do so by themselves with --task, while the others go on.", because: "node maintenance", tasks: true,
		do: func(ctx context.Context, c *client.Client, w *api.Workload, message string, tasks []int) (*api.Workload, error) {
			return c.Preempt(ctx, w.Project, w.ID, api.PreemptOptions{Message: message, Tasks: tasks})
		},
	})
}

// NewMove makes the command move.
func NewMove(s *session.Session) *cobra.Command {
	return withMessage(s, saying{
		name: "move", done: "moving", short: "Start workloads again elsewhere; they keep their reservation",
		long: "Ends the present attempt of workloads and starts another, on other nodes where there are\nsome. They do not go back to their queue.", because: "node maintenance",
		do: func(ctx context.Context, c *client.Client, w *api.Workload, message string, _ []int) (*api.Workload, error) {
			return c.Move(ctx, w.Project, w.ID, api.PreemptOptions{Message: message})
		},
	})
}

// NewHold makes the command hold.
func NewHold(s *session.Session) *cobra.Command {
	return withMessage(s, saying{
		name: "hold", done: "held", short: "Keep workloads that wait from being queued",
		long: "Keeps workloads that wait from being queued until muster release lets them go. What\nruns cannot be held: muster preempt takes its resources back. Tasks of an array that\nwait are held by themselves with --task, while the others go on.", because: "after the demonstration", tasks: true,
		do: func(ctx context.Context, c *client.Client, w *api.Workload, message string, tasks []int) (*api.Workload, error) {
			return c.Hold(ctx, w.Project, w.ID, api.HoldOptions{Message: message, Tasks: tasks})
		},
	})
}

// NewRelease makes the command release.
func NewRelease(s *session.Session) *cobra.Command {
	return withMessage(s, saying{
		name: "release", done: "released", short: "Let workloads go that are held",
		long: "Lets workloads go that muster hold, --hold or hold of their document keeps from\nbeing queued, and the tasks of arrays that are held.", because: "after the demonstration", tasks: true,
		do: func(ctx context.Context, c *client.Client, w *api.Workload, message string, tasks []int) (*api.Workload, error) {
			return c.Release(ctx, w.Project, w.ID, api.HoldOptions{Message: message, Tasks: tasks})
		},
	})
}

// saying is a command that does something to workloads and may say why.
type saying struct {
	name, done, short, long, because string
	tasks                            bool // it may be of some tasks of an array
	do                               func(context.Context, *client.Client, *api.Workload, string, []int) (*api.Workload, error)
}

func withMessage(s *session.Session, y saying) *cobra.Command {
	o := &actOptions{}
	var tasks []int
	cmd := &cobra.Command{
		Use: y.name + " WORKLOAD…", Short: y.short, Long: y.long, Example: "  muster " + y.name + " train-moons --message '" + y.because + "'",
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := someNames(cmd, args)
			if err != nil {
				return err
			}
			return each(cmd.Context(), s, o, names, verb{name: y.name, done: y.done, live: true, run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
				return y.do(ctx, c, w, o.message, tasks)
			}})
		},
	}
	o.registerPlain(s, cmd)
	if y.tasks {
		taskFlag(cmd, &tasks)
	}
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "why; kept in the history")
	return cmd
}

// NewScale makes the command scale.
func NewScale(s *session.Session) *cobra.Command {
	o := &actOptions{}
	cmd := &cobra.Command{
		Use: "scale WORKLOAD N", Short: "Change how many replicas a service has",
		Example: "  muster scale chat 4",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args = dropNoun3(args); len(args) != 2 {
				return session.UsageError(fmt.Sprintf("muster scale takes a workload and a number, not %s", session.Plural(len(args), "word")), cmd.UseLine())
			}
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 0 || n > 1000 {
				return session.UsageError(fmt.Sprintf("%q is not a number of replicas", args[1]), "a number from 0 to 1000")
			}
			return each(cmd.Context(), s, o, args[:1], verb{name: "scale", line: replicaLine, run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
				return c.Scale(ctx, w.Project, w.ID, api.ScaleOptions{Replicas: n, Message: o.message})
			}})
		},
	}
	o.registerPlain(s, cmd)
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "why; kept in the history")
	return cmd
}

// dropNoun3 is dropNoun where a word follows the name.
func dropNoun3(args []string) []string {
	if len(args) == 3 {
		return session.DropNoun(args)
	}
	return args
}

// replicaLine says how many replicas a workload has and is to have.
func replicaLine(w *api.Workload) string {
	r := w.Replicas
	if r == nil {
		return w.Name + " is " + printers.PhaseWord(w)
	}
	return fmt.Sprintf("%s %s: %s wanted, %d ready", w.Name, printers.PhaseWord(w), session.Plural(r.Wanted, "replica"), r.Ready)
}
