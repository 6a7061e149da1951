package cli

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/systemd"
)

// serverFlags are the flags of muster server, which install writes into a unit.
type serverFlags struct {
	o                                         ServerOptions
	tasksAs                                   string
	level, cache, window, half, silence, rest string
	monitor                                   monitorFlags
}

// register adds them to f.
func (x *serverFlags) register(f *pflag.FlagSet) {
	o := &x.o
	x.monitor.flags(f)
	f.StringVar(&o.Registry, "registry", os.Getenv("MUSTER_REGISTRY"), "where built images and published models go that name no target: HOST or HOST/PATH")
	f.StringVar(&x.cache, "image-cache", "50Gi", "how much the cache of container images may hold; 0: no limit")
	f.StringArrayVar(&o.Listen, "listen", nil, "also serve on this HOST:PORT; repeat for several")
	f.BoolVar(&o.AwaitMove, "await-move", false, "where there are no records yet, wait for those of another machine (muster server move), and begin with them")
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
	f.BoolVar(&o.KubeIsolateNetwork, "kube-isolate-network", false, "in namespaces that are made for projects pods take connections from pods of their own namespace alone, by a network policy, which the cluster's network plugin has to know; policies that you add allow more")
	f.BoolVar(&o.KubeMirrorQuotas, "kube-mirror-quotas", false, "in namespaces that are made for projects a ResourceQuota lets nobody take more than the limits of the project, so that what comes around Muster cannot either")
	f.StringVar(&o.KubePodSecurity, "kube-pod-security", "", "namespaces that are made for projects enforce this Pod Security Standard: privileged, baseline or restricted; by default the cluster's own")
	f.StringVar(&o.KubeTokenAudience, "kube-token-audience", "", "with access control, service accounts of the first cluster come in with tokens for this audience, such as muster")
	f.StringVar(&o.KubeAdmission.Listen, "kube-admission", "", "HOST:PORT at which the API server of the first cluster asks before an object of a workload is written, so that it is of whoever applies it; the chart's admission.enabled sets up all that belongs to it")
	f.StringVar(&o.KubeAdmission.Name, "kube-admission-name", "muster", "name of the MutatingWebhookConfiguration that has it ask there")
	f.StringVar(&o.KubeAdmission.Prefix, "kube-user-prefix", "", "with what names of people begin in the cluster, such as oidc:, which is left out here; who is called otherwise is nobody, but service accounts")
	f.BoolVar(&o.LeaderElect, "leader-elect", false, "stand by while another server leads, and end when the lead is lost; by a lease in the cluster of --backend kube, else by the data directory")
	f.StringVar(&o.LeaseName, "leader-elect-name", "muster", "name of the lease")
	f.StringVar(&o.LeaseNamespace, "leader-elect-namespace", "", "its namespace; by default the server's own, else that of the kubeconfig's context")
	f.StringVar(&o.TLSCert, "tls-cert", "", "file with the certificate (PEM, with those above it) by which --listen is encrypted; with --tls-key; read again when it changes")
	f.StringVar(&o.TLSKey, "tls-key", "", "file with the key of --tls-cert")
	f.StringArrayVar(&o.ACME.Domains, "acme-domain", nil, "get the certificate of --listen for this name of the server from an authority that speaks ACME, Let's Encrypt by default, whose terms of service are agreed to by this; port 443 of the name has to lead to a --listen; renewed by itself; repeat for several")
	f.StringVar(&o.ACME.Contact, "acme-contact", "", "mail address that the authority may write to")
	f.StringVar(&o.ACME.Directory, "acme-directory", "", "URL of another authority's directory, such as one of your own (step-ca, Vault)")
	f.StringVar(&o.ACME.CAFile, "acme-ca", "", "file with the certificates (PEM) that --acme-directory must come from; by default the system's")
	f.StringVar(&o.TokenFile, "token-file", "", "file with the token that clients over TCP must show; with it --listen may name any address, whose connections are not encrypted")
	f.StringVar(&o.Advertise, "advertise", "", "URL at which tasks on other machines reach this server, to report progress and checkpoints: that of a --listen address, as they see it")
	f.StringArrayVar(&o.Hosts, "ui-host", nil, "a name by which browsers may call this server, such as that of a proxy; repeat for several")
	f.BoolVar(&o.ShareLinks, "share-links", false, "let people make links that show one of their workloads, or one curve of it, without an account; they expire, can be revoked, and every opening is in the audit log")
	f.Float64Var(&o.RequestRate, "request-rate", 100, "requests that each token, user or address may send by the second, with as many as in 5 seconds at once; the server's owner at its socket may send any number; 0: so may everybody")
	f.StringVar(&o.CheckKeys, "check-keys", "", "directory of files with the keys that sign the questions of checks, each called SCOPE.CHECK (-.CHECK: of the system), one key a line; or vault:PATH, with a field for each; what a check's own secret would sign otherwise")
	f.StringVar(&o.SSO, "sso", "", "file with the settings of single sign-on, by which people sign in where access control is on")
	f.StringVar(&o.Probes, "probes", "", "serve /livez, /readyz and /metrics on this HOST:PORT to anyone, without a token")
	f.StringVar(&o.SMTPServer, "smtp-server", "", "HOST:PORT of the server that takes mail for notifications; by default none is sent")
	f.StringVar(&o.SMTPFrom, "smtp-from", "", "address that mail comes from")
	f.StringVar(&o.SMTPUser, "smtp-user", "", "user at the mail server, with --smtp-password-file")
	f.StringVar(&o.SMTPPasswordFile, "smtp-password-file", "", "file with the user's password")
	f.BoolVar(&o.SMTPPlain, "smtp-plain", false, "let mail go unencrypted where the mail server offers no STARTTLS")
	f.StringArrayVar(&o.AuditSyslog, "audit-syslog", nil, "hand the audit log on to syslog as it is written: unix:///dev/log, udp://HOST:514, tcp://HOST:601 or tls://HOST:6514; repeat for several")
	f.StringArrayVar(&o.AuditWebhook, "audit-webhook", nil, "hand the audit log on to this URL as it is written, as lines of JSON; repeat for several")
	f.StringVar(&o.AuditSecretFile, "audit-webhook-secret-file", "", "file with the keys that sign requests to --audit-webhook, one a line; or vault:PATH, whose field keys has them")
	f.StringVar(&o.AuditCA, "audit-ca", "", "file with the certificates (PEM) that tls:// and https:// of the former must come from; by default the system's")
	f.StringVar(&o.SecretsVault, "secrets-vault", "", "file that says which vault (HashiCorp Vault, OpenBao) keeps the keys that seal secrets; by default they are in secrets.key of the data directory")
	f.StringVar(&o.SecretsKeyFile, "secrets-key-file", "", "file with the keys that seal secrets, which somebody else puts there (Kubernetes, an agent, a KMS); it is read and never written")
	f.StringSliceVar(&o.AllowAddresses, "allow-addresses", nil, "an address, a range (10.1.0.0/16) or a name to which webhooks, checks and names of images may lead although it is refused otherwise, or one of the words private and loopback; with its port (HOST:PORT) or without; repeat for several")
	f.StringSliceVar(&o.RefuseAddresses, "refuse-addresses", nil, "an address or a range to which they may not lead, or one of the words private and loopback, beside what is always refused; repeat for several")
	f.StringVar(&x.tasksAs, "tasks-as", "server", "as whom of the machine tasks run: server, as the server does, or submitter, as who submits them; that takes root, and turns access control on")
	f.StringVar(&o.RootTasksAs, "root-tasks-as", "nobody", "account that tasks of root run as with --tasks-as submitter; root: as root")
	f.BoolVar(&o.SetUIDPrograms, "setuid-programs", false, "let set-uid programs (sudo, ping, fusermount) gain rights in tasks with --tasks-as submitter")
	f.StringVar(&o.Socket, "socket", systemd.SystemSocket, "where all users of the machine find the server with --tasks-as submitter")
	f.StringVar(&x.silence, "node-grace", "5m", "for how long a node may be silent before its work is run again elsewhere")
	f.StringVar(&x.rest, "move-rest", "10m", "for how long work that has started is not moved elsewhere so that other work fits; 0s only to repeat other schedulers' cases: work may then be moved to and fro")
	f.BoolVar(&o.InOrder, "in-order", false, "serve what waits in one project and priority in the order of submission, not the shorter before the longer")
	f.IntVar(&o.FakeCPUs, "fake-cpus", 0, "pretend to have this many CPUs, with 8 GiB of memory each")
	f.IntVar(&o.FakeGPUs, "fake-gpus", 0, "pretend to have this many GPUs")
	f.Float64Var(&o.PastWeight, "past-weight", 0, "how much past use counts where what nobody is guaranteed is divided; 0: not at all, 1: as much as weights")
	f.StringVar(&x.window, "past-window", "7d", "how far back use counts")
	f.StringVar(&x.half, "past-half-life", "0s", "use that is older by this counts half; 0s: whole until past-window")
	f.StringVar(&x.level, "log-level", strings.ToLower(slog.LevelInfo.String()), "debug, info, warn or error")
}

// read checks them and completes the options.
func (x *serverFlags) read() error {
	if err := x.o.LogLevel.UnmarshalText([]byte(x.level)); err != nil {
		return session.UsageError(fmt.Sprintf("--log-level: %q is not a level", x.level), "one of debug, info, warn, error")
	}
	switch x.tasksAs {
	case "server", "submitter":
		x.o.AsSubmitter = x.tasksAs == "submitter"
	default:
		return session.UsageError(fmt.Sprintf("--tasks-as: %q is neither server nor submitter", x.tasksAs), "submitter runs tasks as who submits them")
	}
	size, err := spec.ParseQuantity(x.cache)
	if err != nil || size < 0 {
		return session.UsageError(fmt.Sprintf("--image-cache: %q is not a size", x.cache), "like 50Gi; 0 is without a limit")
	}
	x.o.Cache = size.Units()
	if x.o.PastWeight < 0 {
		return session.UsageError(fmt.Sprintf("--past-weight: %v is less than 0", x.o.PastWeight), "0 is off, 1 counts past use as much as weights")
	}
	for flag, d := range map[string]*time.Duration{"past-window": &x.o.PastWindow, "past-half-life": &x.o.PastHalfLife, "node-grace": &x.o.NodeGrace, "move-rest": &x.o.MoveRest} {
		text := map[string]string{"past-window": x.window, "past-half-life": x.half, "node-grace": x.silence, "move-rest": x.rest}[flag]
		parsed, err := spec.ParseDuration(text)
		if err != nil {
			return session.UsageError(fmt.Sprintf("--%s: %v", flag, err), "like 7d or 12h")
		}
		*d = time.Duration(parsed)
	}
	if !(x.o.RequestRate >= 0 && x.o.RequestRate <= 1e6) || x.o.RequestRate > 0 && x.o.RequestRate < 1 {
		return session.UsageError(fmt.Sprintf("--request-rate: %v is not a number of requests a second", x.o.RequestRate), "100 is usual; 0 is no bound")
	}
	if x.o.NodeGrace < time.Second {
		return session.UsageError(fmt.Sprintf("--node-grace: %v is less than 1s", x.o.NodeGrace), "5m is usual; what a node runs is run again elsewhere after it")
	}
	return x.monitor.read(&x.o.Monitor)
}
