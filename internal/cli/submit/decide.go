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
	return withMessage(s, "preempt", "preempting", "Take the resources of workloads back; they are queued again",
		"Ends the present attempt of preemptible workloads as a more important workload would.\nThey go back to their queue and start again when it is their turn.", "node maintenance",
		func(ctx context.Context, c *client.Client, w *api.Workload, message string) (*api.Workload, error) {
			return c.Preempt(ctx, w.Project, w.ID, api.PreemptOptions{Message: message})
		})
}

// NewMove makes the command move.
func NewMove(s *session.Session) *cobra.Command {
	return withMessage(s, "move", "moving", "Start workloads again elsewhere; they keep their reservation",
		"Ends the present attempt of workloads and starts another, on other nodes where there are\nsome. They do not go back to their queue.", "node maintenance",
		func(ctx context.Context, c *client.Client, w *api.Workload, message string) (*api.Workload, error) {
			return c.Move(ctx, w.Project, w.ID, api.PreemptOptions{Message: message})
		})
}

// NewHold makes the command hold.
func NewHold(s *session.Session) *cobra.Command {
	return withMessage(s, "hold", "held", "Keep workloads that wait from being queued",
		"Keeps workloads that wait from being queued until muster release lets them go. What\nruns cannot be held: muster preempt takes its resources back.", "after the demonstration",
		func(ctx context.Context, c *client.Client, w *api.Workload, message string) (*api.Workload, error) {
			return c.Hold(ctx, w.Project, w.ID, api.HoldOptions{Message: message})
		})
}

// NewRelease makes the command release.
func NewRelease(s *session.Session) *cobra.Command {
	return withMessage(s, "release", "released", "Let workloads go that are held",
		"Lets workloads go that muster hold, --hold or hold of their document keeps from\nbeing queued.", "after the demonstration",
		func(ctx context.Context, c *client.Client, w *api.Workload, message string) (*api.Workload, error) {
			return c.Release(ctx, w.Project, w.ID, api.HoldOptions{Message: message})
		})
}

// withMessage is a command that does something to workloads and may say why.
func withMessage(s *session.Session, name, done, short, long, because string, do func(context.Context, *client.Client, *api.Workload, string) (*api.Workload, error)) *cobra.Command {
	o := &actOptions{}
	cmd := &cobra.Command{
		Use: name + " WORKLOAD…", Short: short, Long: long, Example: "  muster " + name + " train-moons --message '" + because + "'",
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := someNames(cmd, args)
			if err != nil {
				return err
			}
			return each(cmd.Context(), s, o, names, verb{name: name, done: done, live: true, run: func(ctx context.Context, c *client.Client, w *api.Workload) (*api.Workload, error) {
				return do(ctx, c, w, o.message)
			}})
		},
	}
	o.registerPlain(s, cmd)
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
