package admin

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewNotifications makes the command notifications.
func NewNotifications(s *session.Session) *cobra.Command {
	cmd := session.Group("notifications", "Be told of your workloads, by webhook, Slack or mail: add, list, remove, test, deliveries, redeliver", "notification")
	cmd.AddCommand(newNotificationAdd(s), newNotificationList(s), newNotificationRemove(s), newNotificationTest(s), newDeliveries(s), newRedeliver(s))
	return cmd
}

// receiverFlags say where a notification goes.
func receiverFlags(cmd *cobra.Command, r *api.Receiver) {
	f := cmd.Flags()
	f.StringVar(&r.Webhook, "webhook", "", "URL to which a CloudEvent is posted")
	f.StringVar(&r.Secret, "secret", "", "secret with the key that signs the webhook")
	f.StringVar(&r.Slack, "slack", "", "secret that holds the URL of Slack's incoming webhook, or the URL itself")
	f.StringVar(&r.Email, "email", "", "address to which a mail is sent")
}

func newNotificationAdd(s *session.Session) *cobra.Command {
	in := api.NewNotification{}
	cmd := &cobra.Command{
		Use: "add NAME [flags]", Aliases: []string{"create"}, Short: "Be told of your workloads",
		Long: `Has you told of statuses of your workloads. Without --on it is every end, and
DeadlineNear, which comes before a time limit ends something. Statuses are phases
(muster lifecycle) or words of other platforms, such as mcli:COMPLETED.

A single workload may name more receivers in its document (notifications).`,
		Example: `  muster notifications add mail --email ana@example.com
  muster notifications add slack --slack slack-url --on Running,Failed --label team=nlp
  muster notifications add team --email nlp@example.com --of-project nlp --everyone --on Failed
  muster notifications add hook --webhook https://ci.example.com/muster --secret hook-key`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError(fmt.Sprintf("muster notifications add takes a name, not %s", session.Plural(len(args), "word")), cmd.UseLine())
			}
			in.Name = args[0]
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			done, err := c.Notifications.Create(cmd.Context(), in)
			if err != nil {
				return err
			}
			if shown, err := s.Brief(done, done.Name); shown {
				return err
			}
			s.Say("you are told by %s; muster notifications test %s tries it", receiverText(done.Receiver), done.Name)
			return nil
		},
	}
	receiverFlags(cmd, &in.Receiver)
	f := cmd.Flags()
	f.StringSliceVar(&in.On, "on", nil, "statuses; by default every end, DeadlineNear, DeadlineAtRisk and DeadlineMissed")
	f.StringVar(&in.Project, "of-project", "", "only of workloads of this project")
	f.BoolVar(&in.Everyone, "everyone", false, "with --of-project: of every user's workloads in that project or department")
	f.StringToStringVar(&in.Labels, "label", nil, "only of workloads with this label, NAME=VALUE; repeat for several")
	return cmd
}

func receiverText(r api.Receiver) string {
	switch {
	case r.Webhook != "" && r.Secret == "":
		return "webhook " + r.Webhook + " (not signed)"
	case r.Webhook != "":
		return "webhook " + r.Webhook
	case strings.Contains(r.Slack, "://"):
		return "slack" // its URL is a secret
	case r.Slack != "":
		return "slack " + r.Slack
	}
	return "mail to " + r.Email
}

func newNotificationList(s *session.Session) *cobra.Command {
	var t session.TableFlags
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "Of what you are told, and how", Example: "  muster notifications list", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Notifications.List(cmd.Context())
			if err != nil {
				return err
			}
			m := s.Moments(t)
			err = session.Print(s, t, session.Table[api.Notification]{Items: list.Items, Body: list, Name: func(x api.Notification) string { return x.Name }, Columns: []session.Column[api.Notification]{
				{Title: "NAME", Cell: func(x api.Notification) string { return x.Name }},
				{Title: "ON", Cell: func(x api.Notification) string {
					return cmp.Or(strings.Join(x.On, ","), "every end, DeadlineNear")
				}},
				{Title: "BY", Cell: func(x api.Notification) string { return receiverText(x.Receiver) }},
				{Title: "PROJECT", Cell: func(x api.Notification) string { return cmp.Or(x.Project, "any") }},
				{Title: "OF", Cell: func(x api.Notification) string {
					if x.Everyone {
						return "everyone"
					}
					return "own"
				}},
				{Title: "LABELS", Cell: func(x api.Notification) string { return printers.OrDash(session.Pairs(x.Labels)) }},
				{Title: "AGE", Cell: func(x api.Notification) string { return m.Ago(session.TimeOf(x.CreatedAt)) }},
			}})
			if err == nil && len(list.Items) == 0 && !s.Machine() {
				s.Say("There are none. muster notifications add makes one")
			}
			return err
		},
	}
	t.Register(cmd)
	return cmd
}

func newNotificationRemove(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME…", Aliases: []string{"rm", "delete"}, Short: "Be told no more", Example: "  muster notifications remove mail",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return session.UsageError("muster notifications remove needs the name of a notification", cmd.UseLine())
			}
			return eachOf(cmd.Context(), s, args, func(c *client.Client, name string) error {
				if err := c.Notifications.Delete(cmd.Context(), name); err != nil {
					return err
				}
				s.Say("removed notification %s", name)
				return nil
			})
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return completeNotifications(s, a0, a1, a2)
		},
	}
}

// eachOf does one thing with each name, the rest too where one fails.
func eachOf(ctx context.Context, s *session.Session, names []string, do func(*client.Client, string) error) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		if err := do(c, name); err != nil {
			if failed != nil {
				s.Report(ctx, failed)
			}
			failed = err
		}
	}
	return failed
}

// testLimit is how long a test may wait for its first try.
const testLimit = time.Minute

func newNotificationTest(s *session.Session) *cobra.Command {
	in := api.NotificationTest{}
	cmd := &cobra.Command{
		Use: "test [NAME]", Short: "Send a test, and say what became of it",
		Example: `  muster notifications test mail
  muster notifications test --webhook http://127.0.0.1:9000/hook`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && in.Receiver != (api.Receiver{}) {
				return session.UsageError("muster notifications test takes one name, or a receiver", cmd.UseLine())
			}
			if len(args) == 1 {
				in.Name = args[0]
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			sent, err := c.Notifications.Test(cmd.Context(), in)
			if err != nil {
				return err
			}
			d, err := tried(cmd.Context(), c, sent)
			if err != nil {
				return err
			}
			if shown, err := s.Brief(d, d.ID); shown {
				return err
			}
			if d.State != "delivered" {
				return &session.Failure{Code: session.ExitUnreachable, Problem: &api.Problem{
					Title: "Not delivered", Code: "unavailable", Detail: cmp.Or(d.Problem, "it has not been tried yet"), Hint: "muster notifications deliveries shows what becomes of it",
				}}
			}
			s.Say("delivered by %s", receiverText(d.Receiver))
			return nil
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return completeNotifications(s, a0, a1, a2)
		},
	}
	receiverFlags(cmd, &in.Receiver)
	return cmd
}

// tried waits until a delivery has been tried once.
func tried(ctx context.Context, c *client.Client, d *api.Delivery) (*api.Delivery, error) {
	limit := time.After(testLimit)
	for {
		list, err := c.Notifications.Deliveries(ctx, "", 0)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if x := &list.Items[i]; x.ID == d.ID {
				d = x
			}
		}
		if d.Tries > 0 {
			return d, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-limit:
			return d, nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func newDeliveries(s *session.Session) *cobra.Command {
	var t session.TableFlags
	state, limit := "", 100
	cmd := &cobra.Command{
		Use: "deliveries", Short: "What was sent to you in the last 7 days, or waits to be", Example: "  muster notifications deliveries --state failed", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Notifications.Deliveries(cmd.Context(), state, limit)
			if err != nil {
				return err
			}
			m := s.Moments(t)
			return session.Print(s, t, session.Table[api.Delivery]{Items: list.Items, Body: list, Name: func(x api.Delivery) string { return x.ID }, Columns: []session.Column[api.Delivery]{
				{Title: "ID", Cell: func(x api.Delivery) string { return x.ID }},
				{Title: "WORKLOAD", Cell: func(x api.Delivery) string { return printers.OrDash(x.Name) }},
				{Title: "ON", Cell: func(x api.Delivery) string { return x.On }},
				{Title: "BY", Cell: func(x api.Delivery) string { return receiverText(x.Receiver) }},
				{Title: "STATE", Cell: func(x api.Delivery) string { return x.State }},
				{Title: "TRIES", Cell: func(x api.Delivery) string { return fmt.Sprint(x.Tries) }},
				{Title: "AGE", Cell: func(x api.Delivery) string { return m.Ago(session.TimeOf(x.At)) }},
				{Title: "PROBLEM", Cell: func(x api.Delivery) string { return printers.OrDash(x.Problem) }},
			}})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only waiting, delivered or failed ones")
	cmd.Flags().IntVar(&limit, "limit", limit, "at most so many, the newest")
	t.Register(cmd)
	return cmd
}

func newRedeliver(s *session.Session) *cobra.Command {
	failed := false
	cmd := &cobra.Command{
		Use: "redeliver [ID…]", Short: "Try deliveries again", Example: "  muster notifications redeliver --failed",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if failed == (len(ids) > 0) {
				return session.UsageError("muster notifications redeliver needs the ids of deliveries, or --failed", "muster notifications deliveries lists them")
			}
			if failed {
				c, err := s.Connect(cmd.Context())
				if err != nil {
					return err
				}
				list, err := c.Notifications.Deliveries(cmd.Context(), "failed", 1000)
				if err != nil {
					return err
				}
				for _, d := range list.Items {
					ids = append(ids, d.ID)
				}
			}
			return eachOf(cmd.Context(), s, ids, func(c *client.Client, id string) error {
				if _, err := c.Notifications.Redeliver(cmd.Context(), id); err != nil {
					return err
				}
				s.Say("%s is tried again", id)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "all that were given up, at most 1000")
	return cmd
}

func completeNotifications(s *session.Session, cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Notifications.List(ctx)
		if err != nil {
			return nil
		}
		for _, x := range list.Items {
			names = append(names, x.Name+"\t"+receiverText(x.Receiver))
		}
		return names
	})
}
