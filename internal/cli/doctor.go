package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/doctor"
)

// ClusterQuestion is a cluster whose rights are asked for.
type ClusterQuestion struct {
	DataDir             string
	Kubeconfig, Context string
}

// diagnosis is what -o json prints.
type diagnosis struct {
	Checks []doctor.Check `json:"checks"`
	Failed int            `json:"failed"`
	Warned int            `json:"warned"`
}

func newDoctor(s *session.Session, ask func(context.Context, ClusterQuestion) ([]doctor.Check, error)) *cobra.Command {
	q, cluster := ClusterQuestion{}, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine, and a cluster, has for a server",
		Long: `Looks at the kernel, control groups, runc, GPUs and their driver, disk, clock, ports and
permissions, and says of each what does not work for want of it and how to mend it.
It changes nothing, and needs no server.

With --backend kube it also asks the cluster for every right that a server needs.

Exit code: 0, also with warnings; 1 where something keeps a server from working.`,
		Example: `  muster doctor
  muster doctor --backend kube --kubeconfig ~/.kube/config
  muster doctor -o json`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := s.Dir()
			if err != nil {
				return err
			}
			q.DataDir = dir
			if !cluster && (q.Kubeconfig != "" || q.Context != "") {
				return session.UsageError("--kubeconfig and --kube-context are about a cluster", "add --backend kube")
			}
			var checks []doctor.Check
			if cluster {
				if ask == nil {
					return session.UsageError("this program is a client and cannot ask a cluster", session.ClientOnly)
				}
				if checks, err = ask(cmd.Context(), q); err != nil {
					return err
				}
			}
			return diagnose(s, append(doctor.Here(dir).Examine(cmd.Context()), checks...))
		},
	}
	backends := []string{}
	cmd.Flags().StringSliceVar(&backends, "backend", []string{"local"}, "what work is to run on: local (this machine), kube (a cluster too)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, b := range backends {
			if err := session.OneOf("backend", b, "local", "kube"); err != nil {
				return err
			}
			cluster = cluster || b == "kube"
		}
		return nil
	}
	cmd.Flags().StringVar(&q.Kubeconfig, "kubeconfig", "", "file that opens the cluster; by default $KUBECONFIG or ~/.kube/config")
	cmd.Flags().StringVar(&q.Context, "kube-context", "", "context in the kubeconfig; by default its current one")
	return cmd
}

var doctorTones = map[doctor.Status]session.Tone{
	doctor.OK: session.ToneGood, doctor.Skip: session.ToneDim, doctor.Warn: session.ToneWait, doctor.Fail: session.ToneBad,
}

func diagnose(s *session.Session, checks []doctor.Check) error {
	d := diagnosis{Checks: checks, Failed: doctor.Count(checks, doctor.Fail), Warned: doctor.Count(checks, doctor.Warn)}
	if s.Machine() {
		if err := s.Document(d); err != nil {
			return err
		}
	} else if err := showDiagnosis(s, d); err != nil {
		return err
	}
	if d.Failed > 0 {
		return session.ExitCode(1)
	}
	return nil
}

func showDiagnosis(s *session.Session, d diagnosis) error {
	width := 0
	for _, c := range d.Checks {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, c := range d.Checks {
		fmt.Fprintf(&b, "%s  %-*s  %s\n", s.Paint(s.IO.OutTerminal, doctorTones[c.Status], fmt.Sprintf("%-4s", c.Status)), width, c.Name, session.Flat(c.Found))
		if c.Means != "" {
			fmt.Fprintf(&b, "      %*s  %s\n", width, "", session.Flat(c.Means))
		}
		if c.Fix != "" {
			fmt.Fprintf(&b, "      %*s  fix: %s\n", width, "", session.Flat(c.Fix))
		}
	}
	switch {
	case d.Failed > 0:
		fmt.Fprintf(&b, "\n%d of %d keep a server from working; %d more do not work as well as they could\n", d.Failed, len(d.Checks), d.Warned)
	case d.Warned > 0:
		fmt.Fprintf(&b, "\na server works here; %d of %d could be better\n", d.Warned, len(d.Checks))
	default:
		fmt.Fprintf(&b, "\na server works here\n")
	}
	_, err := fmt.Fprint(s.IO.Out, b.String())
	return err
}
