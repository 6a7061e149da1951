package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

func newServer(s *session.Session, hooks Hooks) *cobra.Command {
	o := ServerOptions{}
	level, cache, window, half, silence, rest := "", "", "", "", "", ""
	monitor := monitorFlags{}
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run the server, ask about it, or stop it",
		Long: `Runs a server in the foreground on the data directory until Ctrl-C or SIGTERM.
What it started goes on without it; the next server takes it over.`,
		Example: `  muster server --fake-gpus 8                try things out without GPUs
  muster server --listen 127.0.0.1:8080
  muster server status -o json
  muster server stop`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.LogLevel.UnmarshalText([]byte(level)); err != nil {
				return session.UsageError(fmt.Sprintf("--log-level: %q is not a level", level), "one of debug, info, warn, error")
			}
			size, err := spec.ParseQuantity(cache)
			if err != nil || size < 0 {
				return session.UsageError(fmt.Sprintf("--image-cache: %q is not a size", cache), "like 50Gi; 0 is without a limit")
			}
			o.Cache = size.Units()
			if o.PastWeight < 0 {
				return session.UsageError(fmt.Sprintf("--past-weight: %v is less than 0", o.PastWeight), "0 is off, 1 counts past use as much as weights")
			}
			for flag, d := range map[string]*time.Duration{"past-window": &o.PastWindow, "past-half-life": &o.PastHalfLife, "node-grace": &o.NodeGrace, "move-rest": &o.MoveRest} {
				text := map[string]string{"past-window": window, "past-half-life": half, "node-grace": silence, "move-rest": rest}[flag]
				parsed, err := spec.ParseDuration(text)
				if err != nil {
					return session.UsageError(fmt.Sprintf("--%s: %v", flag, err), "like 7d or 12h")
				}
				*d = time.Duration(parsed)
			}
			if o.NodeGrace < time.Second {
				return session.UsageError(fmt.Sprintf("--node-grace: %v is less than 1s", o.NodeGrace), "5m is usual; what a node runs is run again elsewhere after it")
			}
			if err := monitor.read(&o.Monitor); err != nil {
				return err
			}
			return serve(s, cmd.Context(), hooks.RunServer, o)
		},
	}
	f := cmd.Flags()
	monitor.flags(f)
	f.StringVar(&o.Registry, "registry", os.Getenv("MUSTER_REGISTRY"), "where built images and published models go that name no target: HOST or HOST/PATH")
	f.StringVar(&cache, "image-cache", "50Gi", "how much the cache of container images may hold; 0: no limit")
	f.StringArrayVar(&o.Listen, "listen", nil, "also serve on this HOST:PORT; repeat for several")
	f.StringSliceVar(&o.Backends, "backend", nil, "where work runs: local (this machine, the default), kube (a Kubernetes cluster), or both")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "file that opens the cluster of --backend kube; by default the cluster that the server runs in, else $KUBECONFIG or ~/.kube/config")
	f.StringVar(&o.KubeContext, "kube-context", "", "context in the kubeconfig; by default its current one")
	f.StringArrayVar(&o.Clusters, "cluster", nil, "one more Kubernetes cluster, NAME=KUBECONFIG; its nodes are called NAME/NODE; repeat for several")
	f.StringArrayVar(&o.TakeOver, "take-over", nil, "drive the cluster of this NAME (kube: that of --backend kube) although another server did, which must be gone for good; its pods go on, and are only counted")
	f.StringVar(&o.KubeNamespaces, "kube-namespaces", "muster-", "a project's namespace is called this and the project's name, unless one has the label muster.dev/project=NAME")
	f.StringVar(&o.KubeProgram, "kube-program-image", "", "image with this program at /muster, from which mpi workloads in clusters have their agent")
	f.StringVar(&o.KubeRuntime, "kube-runtime-class", "", "runtime class of pods with GPUs; by default the cluster's own")
	f.StringVar(&o.KubeReservation, "kube-reservation-image", "", "image with /bin/sh for the pods that hold GPUs which tasks share; by default busybox of Docker Hub")
	f.BoolVar(&o.KubeMirror, "kube-mirror", true, "show workloads as objects in the cluster, and take those that are applied there; needs the resource definition in deploy/helm/muster/crds")
	f.BoolVar(&o.LeaderElect, "leader-elect", false, "stand by while another server leads, and end when the lead is lost; by a lease in the cluster of --backend kube, else by the data directory")
	f.StringVar(&o.LeaseName, "leader-elect-name", "muster", "name of the lease")
	f.StringVar(&o.LeaseNamespace, "leader-elect-namespace", "", "its namespace; by default the server's own, else that of the kubeconfig's context")
	f.StringVar(&o.TokenFile, "token-file", "", "file with the token that clients over TCP must show; with it --listen may name any address, whose connections are not encrypted")
	f.StringVar(&o.Advertise, "advertise", "", "URL at which tasks on other machines reach this server, to report progress and checkpoints: that of a --listen address, as they see it")
	f.StringArrayVar(&o.Hosts, "ui-host", nil, "a name by which browsers may call this server, such as that of a proxy; repeat for several")
	f.StringVar(&o.Probes, "probes", "", "serve /livez, /readyz and /metrics on this HOST:PORT to anyone, without a token")
	f.StringVar(&o.SMTPServer, "smtp-server", "", "HOST:PORT of the server that takes mail for notifications; by default none is sent")
	f.StringVar(&o.SMTPFrom, "smtp-from", "", "address that mail comes from")
	f.StringVar(&o.SMTPUser, "smtp-user", "", "user at the mail server, with --smtp-password-file")
	f.StringVar(&o.SMTPPasswordFile, "smtp-password-file", "", "file with the user's password")
	f.BoolVar(&o.SMTPPlain, "smtp-plain", false, "let mail go unencrypted where the mail server offers no STARTTLS")
	f.StringVar(&silence, "node-grace", "5m", "for how long a node may be silent before its work is run again elsewhere")
	f.StringVar(&rest, "move-rest", "10m", "for how long work that has started is not moved elsewhere so that other work fits")
	f.IntVar(&o.FakeGPUs, "fake-gpus", 0, "pretend to have this many GPUs")
	f.Float64Var(&o.PastWeight, "past-weight", 0, "how much past use counts where what nobody is guaranteed is divided; 0: not at all, 1: as much as weights")
	f.StringVar(&window, "past-window", "7d", "how far back use counts")
	f.StringVar(&half, "past-half-life", "0s", "use that is older by this counts half; 0s: whole until past-window")
	f.StringVar(&level, "log-level", strings.ToLower(slog.LevelInfo.String()), "debug, info, warn or error")
	status := &cobra.Command{
		Use: "status", Short: "Process, address and data directory of the server", Args: session.NoArgs, Example: "  muster server status -o json",
		RunE: func(cmd *cobra.Command, _ []string) error { return serverStatus(s, cmd.Context()) },
	}
	stop := &cobra.Command{
		Use: "stop", Short: "End the local server; what it runs goes on", Args: session.NoArgs, Example: "  muster server stop",
		RunE: func(cmd *cobra.Command, _ []string) error { return serverStop(s, cmd.Context()) },
	}
	cmd.AddCommand(status, stop, newSalvage(s, hooks.Salvage))
	return cmd
}

func serve(s *session.Session, ctx context.Context, run func(context.Context, ServerOptions) error, o ServerOptions) error {
	if run == nil {
		return session.UsageError("this program is a client and cannot be a server", session.ClientOnly)
	}
	if o.FakeGPUs < 0 || o.FakeGPUs > 1024 {
		return session.UsageError(fmt.Sprintf("--fake-gpus: %d is outside 0 to 1024", o.FakeGPUs), "0 looks for real ones")
	}
	if err := checkBackends(&o); err != nil {
		return err
	}
	if u, err := url.Parse(o.Advertise); o.Advertise != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return session.UsageError(fmt.Sprintf("--advertise: %q is not a URL", o.Advertise), "like http://muster.example:8080")
	}
	var err error
	if o.DataDir, err = s.Dir(); err != nil {
		return err
	}
	return run(ctx, o)
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

func serverStatus(s *session.Session, ctx context.Context) error {
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
	if st.FakeGPUs > 0 {
		g.Rows = append(g.Rows, []session.Cell{{Text: "Fake GPUs", Tone: session.ToneTitle}, {Text: fmt.Sprint(st.FakeGPUs), Tone: session.ToneWait}})
	}
	return s.Grid(g)
}

// stopLimit is how long a server may take to end.
const stopLimit = 60 * time.Second

// serverStop ends the server of this machine and waits until it is gone. It
// asks the server itself for its process: a number in a file may be anyone's.
func serverStop(s *session.Session, ctx context.Context) error {
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
		RunE: func(cmd *cobra.Command, _ []string) error { return version(s, cmd.Context(), only) },
	}
	cmd.Flags().BoolVar(&only, "client", false, "do not ask the server")
	return cmd
}

// versions is what -o json prints.
type versions struct {
	Client api.Version  `json:"client"`
	Server *api.Version `json:"server,omitempty"`
}

func version(s *session.Session, ctx context.Context, only bool) error {
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
