package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/systemd"
)

func newServer(s *session.Session, hooks Hooks) *cobra.Command {
	flags := serverFlags{}
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the server, ask about it, stop or install it",
		Long: `Runs a server in the foreground on the data directory until Ctrl-C or SIGTERM.
What it started goes on without it; the next server takes it over.`,
		Example: `  muster server --fake-gpus 8                try things out without GPUs
  muster server --listen 127.0.0.1:8080
  muster server status -o json
  muster server stop
  muster server install                      have systemd run it`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.read(); err != nil {
				return err
			}
			return serve(cmd.Context(), s, hooks.RunServer, flags.o)
		},
	}
	flags.register(cmd.Flags())
	status := &cobra.Command{
		Use: "status", Short: "Process, address and data directory of the server", Args: session.NoArgs, Example: "  muster server status -o json",
		RunE: func(cmd *cobra.Command, _ []string) error { return serverStatus(cmd.Context(), s) },
	}
	stop := &cobra.Command{
		Use: "stop", Short: "End the local server; what it runs goes on", Args: session.NoArgs, Example: "  muster server stop",
		RunE: func(cmd *cobra.Command, _ []string) error { return serverStop(cmd.Context(), s) },
	}
	cmd.AddCommand(status, stop, newInstall(s, hooks), newUninstall(s), newSalvage(s, hooks.Salvage), newMove(s, hooks.Move))
	return cmd
}

func serve(ctx context.Context, s *session.Session, run func(context.Context, ServerOptions) error, o ServerOptions) error {
	if run == nil {
		return session.UsageError("this program is a client and cannot be a server", session.ClientOnly)
	}
	if err := checkServer(&o); err != nil {
		return err
	}
	var err error
	if o.DataDir, err = s.Dir(); err != nil {
		return err
	}
	return run(ctx, o)
}

// checkServer refuses options that contradict one another.
func checkServer(o *ServerOptions) error {
	if o.FakeCPUs < 0 || o.FakeCPUs > 65536 {
		return session.UsageError(fmt.Sprintf("--fake-cpus: %d is outside 0 to 65536", o.FakeCPUs), "0 takes what the machine has")
	}
	if o.FakeGPUs < 0 || o.FakeGPUs > 1024 {
		return session.UsageError(fmt.Sprintf("--fake-gpus: %d is outside 0 to 1024", o.FakeGPUs), "0 looks for real ones")
	}
	if err := checkBackends(o); err != nil {
		return err
	}
	if o.AsSubmitter && (len(o.Backends) != 1 || o.Backends[0] != "local" || len(o.Clusters) > 0) {
		return session.UsageError("--tasks-as submitter is about this machine alone, and another backend is named", "in a cluster its own rules say as whom pods run: use a server each")
	}
	if o.AsSubmitter && !filepath.IsAbs(o.Socket) {
		return session.UsageError(fmt.Sprintf("--socket: %q is not an absolute path", o.Socket), "like "+systemd.SystemSocket)
	}
	for _, at := range o.Listen {
		if err := checkAddress(at, o.TokenFile != "" || o.TLSCert != "" || len(o.ACME.Domains) > 0); err != nil {
			return err
		}
	}
	if a := o.ACME; len(a.Domains) == 0 && a.Contact+a.Directory+a.CAFile != "" {
		return session.UsageError("--acme-contact, --acme-directory and --acme-ca say nothing without --acme-domain", "add --acme-domain NAME")
	} else if len(a.Domains) > 0 && len(o.Listen) == 0 {
		return session.UsageError("--acme-domain is given without --listen, which it encrypts", "add --listen :443, or the address that port 443 of the name leads to")
	} else if len(a.Domains) > 0 && o.TLSCert+o.TLSKey != "" {
		return session.UsageError("--acme-domain and --tls-cert contradict each other", "name one of them")
	}
	if o.AwaitMove && len(o.Listen) == 0 {
		return session.UsageError("--await-move is given without --listen, where the other machine reaches this one", "add --listen HOST:PORT")
	}
	if u, err := url.Parse(o.Advertise); o.Advertise != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return session.UsageError(fmt.Sprintf("--advertise: %q is not a URL", o.Advertise), "like http://muster.example:8080")
	}
	return nil
}

// checkBackends refuses backends that there are not, and makes this machine one
// where no other is named.
func checkBackends(o *ServerOptions) error {
	if len(o.Backends)+len(o.Clusters) == 0 {
		o.Backends = []string{"local"}
	}
	for _, p := range o.Backends {
		if p != "local" && p != "kube" {
			return session.UsageError(fmt.Sprintf("--backend: %q is not a backend", p), "local, kube, or local,kube; further clusters with --cluster NAME=KUBECONFIG")
		}
	}
	if o.Kubeconfig != "" && !slices.Contains(o.Backends, "kube") {
		return session.UsageError("--kubeconfig is given without --backend kube", "add --backend kube, or name the cluster with --cluster NAME=KUBECONFIG")
	}
	if o.KubeContext != "" && !slices.Contains(o.Backends, "kube") {
		return session.UsageError("--kube-context is given without --backend kube", "add --backend kube; a file of --cluster NAME=KUBECONFIG is used with its current context")
	}
	if o.FakeCPUs > 0 && !slices.Contains(o.Backends, "local") {
		return session.UsageError("--fake-cpus is about this machine, which is none of the backends", "leave it out, or add --backend local")
	}
	if o.FakeGPUs > 0 && !slices.Contains(o.Backends, "local") {
		return session.UsageError("--fake-gpus is about this machine, which is none of the backends", "leave it out, or add --backend local")
	}
	names := map[string]bool{"local": true, "kube": true}
	for _, c := range o.Clusters {
		name, file, ok := strings.Cut(c, "=")
		if !ok || file == "" || !spec.Named(name) || names[name] {
			return session.UsageError(fmt.Sprintf("--cluster: %q is not NAME=KUBECONFIG with a name of its own", c), "NAME is of lower-case letters, digits and '-', and neither local nor kube")
		}
		names[name] = true
	}
	for _, name := range o.TakeOver {
		if name == "local" || !names[name] || name == "kube" && !slices.Contains(o.Backends, "kube") {
			return session.UsageError(fmt.Sprintf("--take-over: %q is no cluster of this server", name), "kube for that of --backend kube, or a NAME of --cluster")
		}
	}
	return nil
}

func serverStatus(ctx context.Context, s *session.Session) error {
	c, err := s.ConnectOnly(ctx)
	if err != nil {
		return err
	}
	st, err := c.Server(ctx)
	if err != nil {
		return err
	}
	if s.Machine() {
		return s.Document(st)
	}
	g := session.Grid{Rows: [][]session.Cell{
		{{Text: "Process", Tone: session.ToneTitle}, {Text: fmt.Sprint(st.PID)}},
		{{Text: "Address", Tone: session.ToneTitle}, {Text: st.Address}},
		{{Text: "Data", Tone: session.ToneTitle}, {Text: st.DataDir}},
		{{Text: "Version", Tone: session.ToneTitle}, {Text: st.Version}},
		{{Text: "Up", Tone: session.ToneTitle}, {Text: session.Age(s.Clock().Sub(session.TimeOf(st.StartedAt)))}},
	}}
	if st.Moved != nil {
		g.Rows = append(g.Rows, []session.Cell{{Text: "Moved here", Tone: session.ToneTitle}, {Text: fmt.Sprintf("from %s, at %s", st.Moved.From, session.TimeOf(st.Moved.At).Local().Format(time.DateTime))}})
	}
	if st.FakeGPUs > 0 {
		g.Rows = append(g.Rows, []session.Cell{{Text: "Fake GPUs", Tone: session.ToneTitle}, {Text: fmt.Sprint(st.FakeGPUs), Tone: session.ToneWait}})
	}
	return s.Grid(g)
}

// stopLimit is how long a server may take to end.
const stopLimit = 60 * time.Second

// serverStop ends the server of this machine and waits until it is gone. It
// asks the server itself for its process: a number in a file may be anyone's.
func serverStop(ctx context.Context, s *session.Session) error {
	c, err := s.ConnectOnly(ctx)
	if err != nil {
		return err
	}
	if _, local := client.SocketPath(c.Address()); !local {
		return session.UsageError("only a server of this machine can be stopped from here, not "+c.Address(), "stop it where it runs")
	}
	st, err := c.Server(ctx)
	if err != nil {
		return err
	}
	p, err := os.FindProcess(st.PID)
	if err == nil {
		err = p.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return &session.Failure{Code: session.ExitAuth, Problem: &api.Problem{
			Title: "Not stopped", Code: "forbidden", Detail: fmt.Sprintf("the server (process %d) cannot be told to end: %v", st.PID, err), Hint: "stop it as the user that runs it",
		}}
	}
	limit := time.After(stopLimit)
	for !gone(st.PID) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return &session.Failure{Code: session.ExitUnreachable, Problem: &api.Problem{
				Title: "Still running", Code: "unavailable", Detail: fmt.Sprintf("the server (process %d) has not ended after %s", st.PID, stopLimit), Hint: "see " + st.DataDir + "/" + session.LogName,
			}}
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.Say("muster: the server on %s has ended; its workloads go on", st.DataDir)
	return nil
}

func newVersion(s *session.Session) *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use: "version", Short: "Versions of this program and of the server", Args: session.NoArgs, Example: "  muster version -o json",
		RunE: func(cmd *cobra.Command, _ []string) error { return version(cmd.Context(), s, only) },
	}
	cmd.Flags().BoolVar(&only, "client", false, "do not ask the server")
	return cmd
}

// versions is what -o json prints.
type versions struct {
	Client api.Version  `json:"client"`
	Server *api.Version `json:"server,omitempty"`
}

func version(ctx context.Context, s *session.Session, only bool) error {
	v := versions{Client: s.Program.Version}
	if !only {
		if c, err := s.ConnectOnly(ctx); err == nil {
			v.Server, _ = c.Version(ctx) // none runs: then there is nothing to tell
		}
	}
	if s.Machine() {
		return s.Document(v)
	}
	line := func(who string, v api.Version) string {
		out := who + " " + v.Version
		if v.Commit != "" {
			out += " (" + v.Commit + ")"
		}
		return out + " " + v.Go + "\n"
	}
	out := line("muster", v.Client)
	if v.Server != nil {
		out += line("server", *v.Server)
	}
	_, err := fmt.Fprint(s.IO.Out, out)
	return err
}

// checkAddress is of --listen: this machine alone, unless whoever runs the server
// has given the token, or a certificate, and so decided who may come from elsewhere.
func checkAddress(at string, elsewhere bool) error {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return session.UsageError(fmt.Sprintf("--listen: %q is not HOST:PORT", at), "like 127.0.0.1:8080")
	}
	if ip := net.ParseIP(host); !elsewhere && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return session.UsageError(fmt.Sprintf("--listen: %s can be reached from elsewhere, which takes --token-file, --tls-cert or --acme-domain, since the connection is not encrypted otherwise", at),
			"use 127.0.0.1 and a tunnel, give a certificate, or give the token in a file where the network is trusted")
	}
	return nil
}
