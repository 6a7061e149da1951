// Package cli is the command line: it turns words into calls of the REST API
// and answers into tables, documents and exit codes. The commands lie in the
// packages below it, by what a person does; here is the tree that they make up,
// the command that runs a server, and what command lines of other tools use.
//
// Standard output carries data, standard error everything else. On anything
// but a terminal there is no colour, no truncation, no spinner and no prompt.
// The package decides nothing about workloads, and runs a server only through
// the hooks that its caller gives it.
package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/doctor"
	"github.com/musterhq/muster/internal/handover"
)

// KubeAdmission is how the API server of the first cluster says whose the objects of
// workloads are.
type KubeAdmission struct {
	Listen string // HOST:PORT at which it asks; empty: whose they are is not known
	Name   string // of the MutatingWebhookConfiguration that has it ask
	Prefix string // with which names of people in the cluster begin, and which is left out here
}

// ServerOptions say how a server is to run.
type ServerOptions struct {
	DataDir string
	// AwaitMove has a server without records wait for those of another machine.
	AwaitMove bool
	Listen    []string // further addresses, host:port; the unix socket is always there
	// AsSubmitter has tasks run as who submits them; of root as RootTasksAs ("root": as
	// root). SetUIDPrograms lets set-uid programs gain rights in them. Socket is where
	// all users of the machine find the server then, unless systemd opens it.
	AsSubmitter    bool
	RootTasksAs    string
	SetUIDPrograms bool
	Socket         string
	FakeCPUs       int // pretend to have this many CPUs; 0: as many as there are
	FakeGPUs       int // pretend to have this many GPUs; 0: look for real ones
	// PastWeight is how much what projects have had lately counts against them
	// where what nobody is guaranteed is divided; 0: not at all. PastWindow is how
	// far back, PastHalfLife after how long something counts half (0: always whole).
	PastWeight               float64
	PastWindow, PastHalfLife time.Duration
	LogLevel                 slog.Level
	Registry                 string // where built images and published models go: HOST or HOST/PATH
	Cache                    int64  // how much the cache of images may hold, in bytes; 0: no limit
	// Backends are where work runs: local, this machine, and kube, the cluster of
	// Kubeconfig (empty: the one this runs in, else the user's own). Clusters are
	// further ones, NAME=KUBECONFIG.
	Backends                 []string
	Kubeconfig, KubeContext  string
	Clusters                 []string
	TakeOver                 []string // names of clusters that another server drove
	KubeNamespaces           string   // what stands before a project's name in that of its namespace
	KubeProgram, KubeRuntime string   // image that has this program; runtime class of pods with GPUs
	KubeReservation          string   // image of the pods that hold shared GPUs
	KubeIsolateNetwork       bool     // pods of a project's namespace take connections from it alone
	KubeMirrorQuotas         bool     // namespaces that are made for projects bound what is in them by the projects' limits
	KubePodSecurity          string   // that namespaces enforce which are made for projects; empty: the cluster's default
	KubeTokenAudience        string   // tokens of service accounts for it let them in; empty: none does
	KubeAdmission            KubeAdmission
	KubeMirror               bool // workloads are objects of the first cluster, where it knows them
	// LeaderElect lets several servers stand ready, of which one works: which,
	// the lease LeaseName in LeaseNamespace of the cluster says, else the lock of
	// the data directory.
	LeaderElect               bool
	LeaseName, LeaseNamespace string
	TLSCert, TLSKey           string // files: what Listen is encrypted with; empty: it is not
	ACME                      ACMEOptions
	TokenFile                 string   // what whoever comes over TCP must show; empty: one of the server's own
	Advertise                 string   // URL at which tasks elsewhere reach this server to report; empty: they do not
	ShareLinks                bool     // show workloads to people without an account, by links
	Hosts                     []string // names by which browsers may call this server
	RequestRate               float64  // requests that each who asks may send by the second; 0: any number
	CheckKeys                 string   // directory, or vault:PATH, with keys that sign the questions of checks; empty: secrets do
	SSO                       string   // file with the settings of single sign-on; empty: there is none
	Probes                    string   // HOST:PORT of health and metrics, for anyone; empty: none
	// SMTPServer is the HOST:PORT that takes mail for notifications, from
	// SMTPFrom; empty: none is sent. SMTPPlain lets it go unencrypted.
	SMTPServer, SMTPFrom       string
	SMTPUser, SMTPPasswordFile string
	SMTPPlain                  bool
	// AuditSyslog and AuditWebhook are where the audit log is handed on to, as it is
	// written; requests to webhooks are signed with the keys in AuditSecretFile, and
	// certificates must come from those in AuditCA; empty: from the system's.
	AuditSyslog, AuditWebhook []string
	AuditSecretFile, AuditCA  string
	SecretsVault              string // file that says which vault keeps the keys of secrets; empty: a file does
	SecretsKeyFile            string // file with the keys of secrets, which others put there; empty: that of the data directory
	// AllowAddresses are called for others although they would be refused, and
	// RefuseAddresses are not although they would be called.
	AllowAddresses, RefuseAddresses []string
	// NodeGrace is for how long a node may be silent before its work is run again
	// elsewhere.
	NodeGrace time.Duration
	// MoveRest is for how long work that has started is not moved so that other
	// work fits: each move costs what it did since its last checkpoint.
	MoveRest time.Duration
	// InOrder keeps those of one project and priority in the order of their
	// submission, however long they probably take.
	InOrder bool
	Monitor MonitorOptions
}

// ACMEOptions say from whom the certificates of --listen come, where no files have them.
type ACMEOptions struct {
	Domains                    []string // names of this server; none: nobody is asked
	Contact, Directory, CAFile string
}

// Hooks are what the command line needs of the program around it.
type Hooks struct {
	session.Program
	// RunServer runs a server in this process until ctx is done or it fails.
	RunServer func(ctx context.Context, o ServerOptions) error
	// Salvage finds what of the database in dataDir cannot be read and, with
	// take, takes it out.
	Salvage func(ctx context.Context, dataDir string, take bool) (Salvaged, error)
	// Move takes what is in a data directory to another server.
	Move func(context.Context, MoveOptions) (handover.Report, error)
	// Examine asks a cluster for what a server needs there.
	Examine func(context.Context, ClusterQuestion) ([]doctor.Check, error)
	// Commands are further commands, which work with what Tool offers.
	Commands func(*Tool) []*cobra.Command
}

// Main runs one command line (without the program's name) and returns its exit
// code.
func Main(args []string, streams terminal.Streams, hooks Hooks) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, session.NewSession(streams, hooks.Program), hooks, args)
}

func execute(ctx context.Context, s *session.Session, hooks Hooks, args []string) int {
	if s.IO.Width <= 0 {
		s.IO.Width = 80
	}
	s.IO = s.IO.Wary()
	root := newRoot(s, hooks, args)
	root.SetArgs(args)
	root.SetIn(s.IO.In)
	root.SetOut(s.IO.Out)
	root.SetErr(s.IO.Err)
	err := root.ExecuteContext(ctx)
	s.Close()
	if err == nil {
		return session.ExitOK
	}
	if errors.Is(err, syscall.EPIPE) {
		return session.ExitOK // whoever read us has read enough
	}
	return s.Report(ctx, err)
}

// newRoot makes the tree of commands for a command line: of those below it only the
// one that is meant, as all of them together take longer to make than most take to
// do what they are for. Where none is meant for certain, all of them are there.
func newRoot(s *session.Session, hooks Hooks, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "muster",
		Short: "Run AI workloads on one machine or many",
		Long: `Muster runs AI workloads: training, gangs of ranks, workspaces, services.

  muster run -f train.yaml --follow      submit a document and see it through
  muster run --gpus 1 -- python3 t.py    the same for a command
  muster get                             what is mine and active
  muster logs -f                         output of the latest
  muster why                             why it still waits

Without a server configured it uses the one of this machine's user, and starts
it when there is none.`,
		SilenceUsage: true, SilenceErrors: true,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return s.Begin(cmd)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return session.UnknownFlag(cmd, err)
	})
	f := root.PersistentFlags()
	f.StringVar(&s.Server, "server", "", "address of the server: unix:///path, http://host:port (MUSTER_SERVER)")
	f.StringVar(&s.DataDir, "data-dir", "", "where the local server keeps its state (MUSTER_DATA_DIR)")
	f.BoolVar(&s.NoAutostart, "no-autostart", false, "do not start a local server (MUSTER_NO_AUTOSTART)")
	f.BoolVar(&s.NoColor, "no-color", false, "no colours (NO_COLOR)")
	f.StringVarP(&s.Output, "output", "o", "", "format: "+strings.Join(session.Formats, "|"))
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddGroup(groupsOfCommands...)
	defer session.Named(root, s.Program.Name)
	word := commandOf(args)
	for _, c := range commands(hooks) {
		if word == "" || slices.Contains(strings.Fields(c.names), word) {
			made := c.make(s)
			made.GroupID = c.group
			root.AddCommand(made)
		}
	}
	if hooks.Commands != nil && word == "" {
		for _, c := range hooks.Commands(&Tool{s: s, hooks: hooks}) {
			c.GroupID = "run"
			root.AddCommand(c)
		}
	}
	if completing(args) {
		completeFlags(s, root)
	}
	return root
}

// groupsOfCommands order what --help lists.
var groupsOfCommands = []*cobra.Group{
	{ID: "submit", Title: "Submit and end work:"},
	{ID: "look", Title: "See what it does:"},
	{ID: "enter", Title: "Reach into what runs:"},
	{ID: "decide", Title: "Decide about others' work:"},
	{ID: "run", Title: "Run the place:"},
	{ID: "access", Title: "Say who may do what:"},
}
