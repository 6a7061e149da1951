package access

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// selectionFlags select entries of the audit log.
type selectionFlags struct {
	client.AuditSelection
	since, until string
}

func (f *selectionFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Actor, "actor", "", "only what this user or service account did; anonymous: whom nobody knew")
	cmd.Flags().StringVar(&f.Noun, "noun", "", "only what was about this, like workloads, trainings or nodes")
	cmd.Flags().StringVar(&f.Action, "action", "", "only this route of the API, like 'POST /v1/pools'")
	cmd.Flags().StringVar(&f.Result, "result", "", "only what was done, or refused")
	cmd.Flags().StringVar(&f.since, "since", "", "only from then on: an age like 2d, or an instant")
	cmd.Flags().StringVar(&f.until, "until", "", "only before then")
}

func (f *selectionFlags) of(s *session.Session) (client.AuditSelection, error) {
	out := f.AuditSelection
	if f.Result != "" {
		if err := session.OneOf("result", f.Result, "done", "refused"); err != nil {
			return out, err
		}
	}
	var err error
	if f.since != "" {
		if out.Since, err = session.ParseWhen("since", f.since, s.Now()); err != nil {
			return out, err
		}
	}
	if f.until != "" {
		out.Until, err = session.ParseWhen("until", f.until, s.Now())
	}
	return out, err
}

// NewAudit makes the command audit.
func NewAudit(s *session.Session) *cobra.Command {
	cmd := session.Group("audit", "The audit log of who did what, or was kept from it: list, verify, export")
	cmd.AddCommand(auditList(s), auditVerify(s), auditExport(s))
	return cmd
}

func auditList(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var f selectionFlags
	list := &cobra.Command{
		Use: "list [flags]", Aliases: []string{"ls", "get"}, Short: "List who did what, the newest first",
		Example: "  muster audit list --since 1d\n  muster audit list --actor ann --result refused", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := f.of(s)
			if err != nil {
				return err
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			page, err := c.Access.Audit(cmd.Context(), a)
			if err != nil {
				return err
			}
			m := s.Moments(t)
			return session.Print(s, t, session.Table[api.AuditEntry]{Items: page.Items, Name: func(e api.AuditEntry) string { return strconv.FormatInt(e.Seq, 10) }, Body: page, Columns: []session.Column[api.AuditEntry]{
				{Title: "SEQ", Cell: func(e api.AuditEntry) string { return strconv.FormatInt(e.Seq, 10) }},
				{Title: "AGE", Cell: func(e api.AuditEntry) string { return m.Ago(session.TimeOf(e.At)) }},
				{Title: "ACTOR", Cell: func(e api.AuditEntry) string { return strings.TrimPrefix(e.Actor, "user:") }},
				{Title: "RESULT", Cell: func(e api.AuditEntry) string { return e.Result }},
				{Title: "VERB", Cell: func(e api.AuditEntry) string { return printers.OrDash(e.Verb) }},
				{Title: "NOUN", Cell: func(e api.AuditEntry) string { return printers.OrDash(e.Noun) }},
				{Title: "WHAT", Cell: func(e api.AuditEntry) string { return printers.OrDash(subjectOf(e)) }},
				{Title: "FROM", Cell: func(e api.AuditEntry) string { return printers.OrDash(e.Address) }},
			}})
		},
	}
	t.Register(list)
	f.register(list)
	list.Flags().IntVar(&f.Limit, "limit", 100, "at most so many")
	return list
}

// subjectOf is what an entry is about: what was changed, or what was named.
func subjectOf(e api.AuditEntry) string {
	if len(e.Changes) == 0 {
		return cmp.Or(e.Message, e.Object)
	}
	what := e.Changes[0].Object
	if n := len(e.Changes); n > 1 {
		what += fmt.Sprintf(" and %d more", n-1)
	}
	return what
}

func auditVerify(s *session.Session) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use: "verify [flags]", Short: "Prove that the audit log is as it was written; ends with 1 where it is not",
		Long: `Follows the chain of the audit log: the hash of each entry covers the entry and the
hash before it, so that a change, a gap or a cut shows, at the first entry that is
not as it was written. It prints SEQ:HASH of the last entry. Note that down elsewhere
and give it with --head later: then even who can write the whole database anew is
found out.`,
		Example: "  muster audit verify\n  muster audit verify --head 1042:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			v, err := c.Access.VerifyAudit(cmd.Context(), head)
			if err != nil {
				return err
			}
			word := "intact"
			if !v.Intact {
				word = "broken"
			}
			shown, err := s.Brief(v, word)
			if err != nil {
				return err
			}
			if !shown {
				if v.Intact {
					entries := "entries"
					if v.Entries == 1 {
						entries = "entry"
					}
					fmt.Fprintf(s.IO.Out, "intact: %d %s, the last %s\n", v.Entries, entries, printers.OrDash(v.Head))
				} else {
					fmt.Fprintf(s.IO.Out, "broken at entry %d: %s\n", v.Broken.Seq, v.Broken.Problem)
				}
			}
			if !v.Intact {
				return session.ExitCode(session.ExitInternal)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "SEQ:HASH that a verification has printed before: that entry has to be there")
	return cmd
}

func auditExport(s *session.Session) *cobra.Command {
	var f selectionFlags
	var format, file string
	cmd := &cobra.Command{
		Use: "export [flags]", Short: "Write the audit log as a file, the oldest entry first", Example: "  muster audit export --format csv --since 30d --to audit.csv", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := session.OneOf("format", format, "jsonl", "json", "csv"); err != nil {
				return err
			}
			a, err := f.of(s)
			if err != nil {
				return err
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			body, err := c.Access.ExportAudit(cmd.Context(), format, a)
			if err != nil {
				return err
			}
			defer body.Close()
			if file == "" {
				_, err = io.Copy(s.IO.Out, body)
				return err
			}
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return session.UsageError(err.Error(), "name a file that is not there")
			}
			n, err := io.Copy(out, body)
			if closing := out.Close(); err == nil {
				err = closing
			}
			if err == nil {
				s.Say("%d bytes are written to %s", n, file)
			}
			return err
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl (a JSON object to a line), json (one list) or csv")
	cmd.Flags().StringVar(&file, "to", "", "file, which must not be there; by default standard output")
	return cmd
}
