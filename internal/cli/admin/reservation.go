package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/spec"
)

// NewReservation makes the command reservation.
func NewReservation(s *session.Session) *cobra.Command {
	cmd := session.Group("reservation", "Reservations, which keep nodes for a time: list, describe, create, update, delete", "reservations", "resv")
	cmd.Long = `A reservation keeps nodes for work of some projects and users, or, with
--maintenance, for nobody, for a time that is told in advance.

Before it begins nothing starts on its nodes that would run into it: what is not
preemptible needs a maxDuration that ends before. What is preemptible may use the
nodes until then, and is told to leave when it begins. While it lasts only those
start there for whom it is, and name it (muster run --reservation NAME); with
--magnetic they need not. What they run may go on after its end.`
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List reservations", Example: "  muster reservation list",
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return getReservations(cmd.Context(), s, c, t)
		},
	}
	t.Register(list)
	var dt session.TableFlags
	describe := &cobra.Command{
		Use: "describe RESERVATION", Aliases: []string{"show"}, Short: "Show a reservation: its time, its nodes, and for whom it is", Example: "  muster reservation describe demo",
		Args: session.OneName("reservation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Reservations.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return describeReservation(s, r, s.Moments(dt))
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return CompleteReservations(s, a0, a1, a2)
		},
	}
	dt.Register(describe)
	create := reservationVerb(s, "create", "Keep nodes for a time",
		"muster reservation create demo --start 2026-12-24T09:00:00Z --duration 4h --pool h100 --gpus 16 --for-project vision\n"+
			"  muster reservation create fans --start 2h --duration 1h --node gpu-07 --maintenance --dry-run",
		func(ctx context.Context, c *client.Client, name string, patch map[string]any, dry bool) (*api.Reservation, error) {
			data, err := json.Marshal(patch)
			if err != nil {
				return nil, err
			}
			in := api.NewReservation{Name: name}
			if err := json.Unmarshal(data, &in.ReservationSpec); err != nil {
				return nil, err
			}
			return c.Reservations.Create(ctx, in, dry)
		})
	update := reservationVerb(s, "update", "Change what flags name of a reservation", "muster reservation update demo --duration 6h",
		func(ctx context.Context, c *client.Client, name string, patch map[string]any, dry bool) (*api.Reservation, error) {
			if len(patch) == 0 {
				return nil, session.UsageError("there is nothing to change", "muster reservation update --help lists the flags")
			}
			return c.Reservations.Change(ctx, name, patch, dry)
		})
	update.ValidArgsFunction = func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
		return CompleteReservations(s, a0, a1, a2)
	}
	var yes bool
	drop := &cobra.Command{
		Use: "delete RESERVATION", Aliases: []string{"rm"}, Short: "Delete a reservation that nobody waits for; its nodes are everybody's again", Example: "  muster reservation delete demo --yes",
		Args: session.OneName("reservation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), "reservation", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Reservations.Delete(ctx, args[0]) })
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return CompleteReservations(s, a0, a1, a2)
		},
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, describe, create, update, drop)
	return cmd
}

func reservationVerb(s *session.Session, verb, short, example string, run func(context.Context, *client.Client, string, map[string]any, bool) (*api.Reservation, error)) *cobra.Command {
	var in api.ReservationSpec
	var end string
	var dry bool
	cmd := &cobra.Command{
		Use: verb + " RESERVATION [flags]", Short: short, Example: "  " + example,
		Args: session.OneName("reservation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.Start == "now" {
				in.Start = "0s"
			}
			start := session.FromNow(in.Start, s.Clock())
			if cmd.Flags().Changed("end") {
				from, err1 := time.Parse(time.RFC3339, start)
				to, err2 := time.Parse(time.RFC3339, session.FromNow(end, s.Clock()))
				switch {
				case cmd.Flags().Changed("duration"):
					return session.UsageError("--end and --duration say the same", "give one of them")
				case err1 != nil || err2 != nil:
					return session.UsageError("--end needs --start, and both are instants", "like --start 2026-12-24T18:00:00Z --end 2026-12-24T20:00:00Z; or give --duration 2h")
				case !to.After(from):
					return session.UsageError("it ends before it begins", "give a later --end")
				}
				in.Duration = spec.Duration(to.Sub(from)).String()
			}
			patch := map[string]any{}
			for flag, f := range map[string]struct {
				field string
				value any
			}{
				"start": {"start", start}, "duration": {"duration", in.Duration}, "end": {"duration", in.Duration}, "repeat": {"repeat", in.Repeat}, "node": {"nodes", in.Nodes}, "selector": {"selector", in.Selector},
				"pool": {"pool", in.Pool}, "node-count": {"nodeCount", in.NodeCount}, "gpus": {"gpus", in.GPUs}, "maintenance": {"maintenance", in.Maintenance}, "for-project": {"projects", in.Projects},
				"for-user": {"users", in.Users}, "magnetic": {"magnetic", in.Magnetic}, "ignore-jobs": {"ignoreJobs", in.IgnoreJobs}, "note": {"note", in.Note},
			} {
				if cmd.Flags().Changed(flag) {
					patch[f.field] = f.value
				}
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := run(cmd.Context(), c, args[0], patch, dry)
			if err != nil {
				return err
			}
			s.Warn(r.Warnings)
			if shown, err := s.Brief(r, r.Name); shown {
				return err
			}
			word := ""
			if dry {
				word = " would be"
			}
			s.Say("reservation %s%s: %s", r.Name, word, reservationLine(r, s.Moments(session.TableFlags{})))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.Start, "start", "", "when it begins: an instant like 2026-12-24T18:00:00Z, 2h from now, or now")
	f.StringVar(&in.Duration, "duration", "", "for how long, like 2h")
	f.StringVar(&end, "end", "", "when it ends, instead of --duration")
	f.StringVar(&in.Repeat, "repeat", "", "daily (every 24 hours) or weekly")
	f.StringSliceVar(&in.Nodes, "node", nil, "the nodes that it keeps; repeat for several")
	f.StringVar(&in.Selector, "selector", "", "KEY=VALUE: all nodes that have this label")
	f.StringVar(&in.Pool, "pool", "", "all nodes of this pool, or as many as --node-count or --gpus say")
	f.IntVar(&in.NodeCount, "node-count", 0, "so many nodes of the pool")
	f.IntVar(&in.GPUs, "gpus", 0, "as many whole nodes of the pool as have so many GPUs")
	f.BoolVar(&in.Maintenance, "maintenance", false, "for nobody: the nodes are worked on")
	f.StringSliceVar(&in.Projects, "for-project", nil, "for work of these projects, or below these departments; repeat for several")
	f.StringSliceVar(&in.Users, "for-user", nil, "for work of these users; repeat for several")
	f.BoolVar(&in.Magnetic, "magnetic", false, "those for whom it is need not name it")
	f.BoolVar(&in.IgnoreJobs, "ignore-jobs", false, "what runs when it begins is left to its end, preemptible or not")
	f.StringVarP(&in.Note, "note", "m", "", "what it is for; shown to whoever waits")
	f.BoolVar(&dry, "dry-run", false, "say which nodes it would keep and what runs there, and change nothing")
	_ = cmd.RegisterFlagCompletionFunc("repeat", cobra.FixedCompletions([]string{"daily", "weekly"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("pool", func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
		return CompletePools(s, a0, a1, a2)
	})
	return cmd
}

func reservationLine(r *api.Reservation, m session.Moments) string {
	return fmt.Sprintf("%s, %s with %s GPUs, %s until %s%s", r.State, session.Plural(len(r.Keeps), "node"), amount.Thousandths(r.GPU), m.Instant(session.TimeOf(r.From)), m.Instant(session.TimeOf(r.Until)), andAgain(r.Repeat))
}

func andAgain(repeat string) string {
	if repeat == "" {
		return ""
	}
	return ", " + repeat
}

// forWhom describes the users and projects that may use a reservation.
func forWhom(r api.Reservation) string {
	if r.Maintenance {
		return "maintenance"
	}
	return strings.Join(append(append([]string{}, r.Projects...), r.Users...), ",")
}

func getReservations(ctx context.Context, s *session.Session, c *client.Client, t session.TableFlags) error {
	list, err := c.Reservations.List(ctx)
	if err != nil {
		return err
	}
	m := s.Moments(t)
	return session.Print(s, t, session.Table[api.Reservation]{Items: list.Items, Name: func(r api.Reservation) string { return r.Name }, Body: list, Columns: []session.Column[api.Reservation]{
		{Title: "NAME", Cell: func(r api.Reservation) string { return r.Name }},
		{Title: "STATE", Cell: func(r api.Reservation) string { return r.State }, Tone: func(r api.Reservation) session.Tone {
			switch r.State {
			case "active":
				return session.ToneGood
			case "over":
				return session.ToneDim
			default:
				return session.ToneWait
			}
		}},
		{Title: "FROM", Cell: func(r api.Reservation) string { return m.Instant(session.TimeOf(r.From)) }},
		{Title: "UNTIL", Cell: func(r api.Reservation) string { return m.Instant(session.TimeOf(r.Until)) }},
		{Title: "REPEAT", Cell: func(r api.Reservation) string { return printers.OrDash(r.Repeat) }},
		{Title: "NODES", Cell: func(r api.Reservation) string { return fmt.Sprint(len(r.Keeps)) }},
		{Title: "GPU", Cell: func(r api.Reservation) string { return amount.Thousandths(r.GPU) }},
		{Title: "FOR", Cell: forWhom},
		{Title: "NOTE", Cell: func(r api.Reservation) string { return printers.OrDash(r.Note) }},
	}})
}

func describeReservation(s *session.Session, r *api.Reservation, m session.Moments) error {
	if shown, err := s.Brief(r, r.Name); shown {
		return err
	}
	g := session.Grid{Whole: true}
	line := func(title, text string) {
		if text != "" {
			g.Line(title, text)
		}
	}
	line("Reservation", r.Name)
	line("State", r.State)
	line("Note", r.Note)
	line("From", m.Instant(session.TimeOf(r.From)))
	line("Until", m.Instant(session.TimeOf(r.Until)))
	line("Again", r.Repeat)
	line("For", forWhom(*r))
	line("Nodes", cmp.Or(strings.Join(r.Keeps, ", "), "none at present"))
	switch {
	case r.Selector != "":
		line("Chosen", "all with "+r.Selector)
	case r.NodeCount > 0:
		line("Chosen", session.Plural(r.NodeCount, "node")+" of pool "+r.Pool)
	case r.GPUs > 0:
		line("Chosen", session.Plural(r.GPUs, "GPU")+" of pool "+r.Pool)
	case r.Pool != "":
		line("Chosen", "all of pool "+r.Pool)
	}
	line("GPUs", amount.Thousandths(r.GPU))
	if r.Magnetic {
		line("Named", "it need not be")
	}
	if r.IgnoreJobs {
		line("Running", "is left to its end")
	}
	line("Used by", strings.Join(r.Using, ", "))
	return s.Grid(g)
}

// CompleteReservations offers the names of reservations.
func CompleteReservations(s *session.Session, cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Reservations.List(ctx)
		if err != nil {
			return nil
		}
		for _, r := range list.Items {
			names = append(names, r.Name)
		}
		return names
	})
}
